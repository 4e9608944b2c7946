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
// Cost: 30 products with W for each round of Lanczos, and at most 10 rounds: eigenvalues close to the smallest make it
// slow, but then their vectors are as good.

import (
	"context"
	"math"
	"math/rand/v2"

	"hashgrove/internal/numeric/portable"
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
	x, low, err := smallestEigenvector(n, rng, func(x, y []float64) error {
		for i, v := range x {
			scaled[i] = v / root[i]
		}
		if err := p.product(ctx, w, scaled, y); err != nil {
			return err
		}
		for i := range y {
			y[i] *= root[i]
		}
		return nil
	})
	if err != nil {
		return err
	}
	signs(x, z)
	energy, err := refine(ctx, p, w, z, low, x)
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

// smallestEigenvector finds the smallest eigenvalue of a symmetric operator and its eigenvector, by Lanczos with full
// orthogonalisation, restarted from the best vector so far.
func smallestEigenvector(n int, rng *rand.Rand,
	apply func(x, y []float64) error) (x []float64, low float64, err error) {
	const steps, rounds, tolerance = 30, 10, 1e-6
	x = make([]float64, n)
	for i := range x {
		x[i] = float64(rng.Float64()) - 0.5
	}
	scaleBy(x, 1/math.Sqrt(portable.Dot(x, x)))
	basis := make([][]float64, 0, steps)
	for range rounds {
		basis = append(basis[:0], x)
		var diagonal, beside []float64
		for {
			v := basis[len(basis)-1]
			y := make([]float64, n)
			if err := apply(v, y); err != nil {
				return nil, 0, err
			}
			diagonal = append(diagonal, portable.Dot(v, y))
			for range 2 { // twice, because of rounding
				for _, b := range basis {
					subtractScaled(y, b, portable.Dot(b, y))
				}
			}
			norm := math.Sqrt(portable.Dot(y, y))
			beside = append(beside, norm)
			if len(basis) == min(steps, n) || norm <= tolerance*math.Abs(diagonal[0]) {
				break
			}
			scaleBy(y, 1/norm)
			basis = append(basis, y)
		}
		var s []float64
		low, s = tridiagonal(diagonal, beside)
		x = make([]float64, n)
		for k, b := range basis {
			subtractScaled(x, b, -s[k])
		}
		scaleBy(x, 1/math.Sqrt(portable.Dot(x, x)))
		if beside[len(beside)-1]*math.Abs(s[len(s)-1]) <= tolerance*math.Abs(low) {
			break
		}
	}
	if x[0] < 0 { // x and -x are equally good
		scaleBy(x, -1)
	}
	return x, low, nil
}

// tridiagonal finds the smallest eigenvalue and its eigenvector of the symmetric matrix with the given diagonal and
// off-diagonal (whose last entry is not used), by Jacobi rotations.
func tridiagonal(diagonal, beside []float64) (low float64, vector []float64) {
	n := len(diagonal)
	a, v := make([][]float64, n), make([][]float64, n)
	for i := range n {
		a[i], v[i] = make([]float64, n), make([]float64, n)
		v[i][i], a[i][i] = 1, diagonal[i]
	}
	for i := range n - 1 {
		a[i][i+1], a[i+1][i] = beside[i], beside[i]
	}
	for range 30 {
		off, on := 0.0, 0.0
		for i := range n {
			on += float64(a[i][i] * a[i][i])
			for j := range i {
				off += float64(a[i][j] * a[i][j])
			}
		}
		if off <= 1e-30*on {
			break
		}
		for i := range n {
			for j := range i {
				rotate(a, v, i, j)
			}
		}
	}
	best := 0
	for i := range n {
		if a[i][i] < a[best][best] {
			best = i
		}
	}
	vector = make([]float64, n)
	for i := range n {
		vector[i] = v[i][best]
	}
	return a[best][best], vector
}

// rotate makes a[i][j] zero.
func rotate(a, v [][]float64, i, j int) {
	if a[i][j] == 0 {
		return
	}
	// tan of the angle: the smaller root of t² + 2 r t = 1.
	r := (a[j][j] - a[i][i]) / (2 * a[i][j])
	t := 1 / (math.Abs(r) + math.Sqrt(float64(r*r)+1))
	if r < 0 {
		t = -t
	}
	c := 1 / math.Sqrt(float64(t*t)+1)
	s := t * c
	for k := range a {
		x, y := a[k][i], a[k][j]
		a[k][i], a[k][j] = float64(c*x)-float64(s*y), float64(s*x)+float64(c*y)
		x, y = v[k][i], v[k][j]
		v[k][i], v[k][j] = float64(c*x)-float64(s*y), float64(s*x)+float64(c*y)
	}
	for k := range a {
		x, y := a[i][k], a[j][k]
		a[i][k], a[j][k] = float64(c*x)-float64(s*y), float64(s*x)+float64(c*y)
	}
}

func scaleBy(x []float64, by float64) {
	for i := range x {
		x[i] *= by
	}
}

// subtractScaled subtracts by times b from x.
func subtractScaled(x, b []float64, by float64) {
	for i, v := range b {
		x[i] -= float64(by * v)
	}
}
