package inference

// The spectral method of TSH (Lin et al., ICCV 2013) for one bit: relax z to real vectors of a fixed length.
//
//	minimise x'Wx over |x| = 1        the eigenvector of the smallest eigenvalue of W, by Lanczos
//	z = sign(x)
//	minimise x'Wx over the box        projected gradient from z, at most 30 steps with exact line search
//	z = sign(x)                       if that is better
//
// Vectors are constant over the rows of a group: on a vector that sums to 0 within a group W is positive, and its
// smallest eigenvalue is negative because its trace is 0. With x scaled by the roots of the masses the operator stays
// symmetric. Floats decide signs here, so every sum has a fixed order and no product is fused with a sum.
//
// Cost: 60 products with W for each round of Lanczos, and at most 5 rounds: eigenvalues close to the smallest make it
// slow, but then their vectors are as good.

import (
	"context"
	"math"
	"math/rand/v2"

	"hashgrove/internal/numeric/linalg"
)

func spectral(ctx context.Context, p problem, w weights, rng *rand.Rand) error {
	if err := p.reset(ctx); err != nil {
		return err
	}
	mass, z := p.mass(), p.signs()
	n := len(mass)
	root, scaled := make([]float64, n), make([]float64, n)
	for i, m := range mass {
		root[i] = math.Sqrt(float64(m))
	}
	x, top, err := linalg.TopEigenvector(ctx, n, rng, 1e-6, func(x, y []float64) error {
		for i, v := range x {
			scaled[i] = v / root[i]
		}
		if err := p.product(ctx, w, scaled, y); err != nil {
			return err
		}
		for i := range y {
			y[i] *= -root[i]
		}
		return nil
	})
	if err != nil {
		return err
	}
	if x[0] < 0 { // x and -x are equally good
		linalg.Scale(-1, x)
	}
	signs(x, z)
	energy, err := refine(ctx, p, w, z, -top, x)
	if err != nil {
		return err
	}
	better := make([]int8, n)
	signs(x, better)
	y := make([]float64, n)
	for i, s := range better {
		x[i] = float64(s)
	}
	if err := p.product(ctx, w, x, y); err != nil {
		return err
	}
	if weightedDot(mass, x, y) < energy {
		copy(z, better)
	}
	return nil
}

// signs writes +1 where x is not negative, else -1.
func signs(x []float64, z []int8) {
	for i, v := range x {
		z[i] = 1
		if v < 0 {
			z[i] = -1
		}
	}
}

// weightedDot returns the sum of m x y.
func weightedDot(mass []int64, x, y []float64) float64 {
	sum := 0.0
	for i, m := range mass {
		sum += float64(float64(m) * float64(x[i]*y[i]))
	}
	return sum
}

// refine descends from the signs z within the box [-1, 1] and leaves the point it reaches in x. low is the smallest
// eigenvalue, the scale of the gradient. It returns the energy of z.
func refine(ctx context.Context, p problem, w weights, z []int8, low float64, x []float64) (float64, error) {
	mass := p.mass()
	n := len(z)
	g, d, wd := make([]float64, n), make([]float64, n), make([]float64, n)
	for i, s := range z {
		x[i] = float64(s)
	}
	if err := p.product(ctx, w, x, g); err != nil {
		return 0, err
	}
	energy := weightedDot(mass, x, g)
	if !(low < 0) { // no pair has a weight
		return energy, nil
	}
	step := -1 / low
	for range 30 {
		for i, v := range x {
			d[i] = min(1, max(-1, v-float64(step*g[i]))) - v
		}
		slope := weightedDot(mass, d, g)
		if !(slope < 0) {
			break
		}
		if err := p.product(ctx, w, d, wd); err != nil {
			return 0, err
		}
		a := 1.0
		if bend := weightedDot(mass, d, wd); bend > 0 {
			a = min(1, -slope/bend)
		}
		for i := range x {
			x[i] += float64(a * d[i])
			g[i] += float64(a * wd[i])
		}
	}
	return energy, nil
}
