// Limited-memory BFGS (Nocedal, 1980; Liu and Nocedal, 1989) for smooth convex functions of many variables.
//
// With g the gradient, s the last few steps and y the changes of g along them, the direction is -H g, where H is built
// from (s, y) by the two-loop recursion and never stored.
//
//	repeat until |g| is small
//		direction   two loops over the pairs kept              O(kept · variables)
//		line        halve the step until f falls enough        one value each, usually one in all
//		gradient    at the new point
//
// For a convex function s·y is never negative, so halving is enough and no slope condition is needed.

package solve

import (
	"context"

	"hashgrove/internal/numeric/linalg"
)

// smooth is a convex function to minimise. value moves to w and returns f there; gradient writes the gradient at the
// point last moved to.
type smooth interface {
	value(ctx context.Context, w []float64) (float64, error)
	gradient(ctx context.Context, g []float64) error
}

const keptSteps = 5 // pairs of the recursion: two vectors of the size of w each

// descendTo minimises f from w, which it overwrites, until |g| is at most the value that enough returns for the initial
// |g|. It returns f and the number of steps.
func descendTo(
	ctx context.Context, f smooth, w []float64, enough func(first float64) float64, steps int,
) (float64, int, error) {
	n := len(w)
	g, next, slope, d := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	var pairs []stepPair
	at, err := f.value(ctx, w)
	if err == nil {
		err = f.gradient(ctx, g)
	}
	if err != nil {
		return 0, 0, err
	}
	least := enough(linalg.Norm(g))
	for step := range steps {
		length := linalg.Norm(g)
		if length <= least {
			return at, step, nil
		}
		setDirection(d, g, pairs)
		promise := linalg.Dot(d, g)
		size := 1.0
		if len(pairs) == 0 {
			size = 1 / length // the scale is still unknown
		}
		var value float64
		for ; ; size /= 2 {
			if size < 1e-12 {
				return at, step, nil // no better point at this precision
			}
			for i := range next {
				next[i] = w[i] + float64(size*d[i])
			}
			if value, err = f.value(ctx, next); err != nil {
				return 0, 0, err
			}
			if value <= at+float64(1e-4*size*promise) {
				break
			}
		}
		if err := f.gradient(ctx, slope); err != nil {
			return 0, 0, err
		}
		var p stepPair
		if len(pairs) < keptSteps {
			p = stepPair{s: make([]float64, n), y: make([]float64, n)}
		} else {
			p, pairs = pairs[0], pairs[1:]
		}
		for i := range w {
			p.s[i], p.y[i] = next[i]-w[i], slope[i]-g[i]
		}
		p.sy = linalg.Dot(p.s, p.y)
		if p.sy > 1e-12*linalg.Dot(p.y, p.y) { // otherwise the curvature is lost to rounding
			pairs = append(pairs, p)
		}
		at = value
		copy(w, next)
		g, slope = slope, g
	}
	return at, steps, nil
}

// stepPair is a step, the change of the gradient along it, and their product.
type stepPair struct {
	s, y []float64
	sy   float64
}

// setDirection sets d = -H g.
func setDirection(d, g []float64, pairs []stepPair) {
	for i, v := range g {
		d[i] = -v
	}
	var a [keptSteps]float64
	for k := len(pairs) - 1; k >= 0; k-- {
		p := pairs[k]
		a[k] = linalg.Dot(p.s, d) / p.sy
		linalg.Axpy(-a[k], p.y, d)
	}
	if last := len(pairs) - 1; last >= 0 {
		scale := pairs[last].sy / linalg.Dot(pairs[last].y, pairs[last].y)
		for i := range d {
			d[i] *= scale
		}
	}
	for k, p := range pairs {
		linalg.Axpy(a[k]-linalg.Dot(p.y, d)/p.sy, p.s, d)
	}
}
