// Package svm learns one bit as a hyperplane over quantised columns, for the comparison with TSH (two-step hashing with
// linear support vector machines). It returns a model.Linear.
package svm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"hashgrove/internal/model"
	"hashgrove/internal/numeric/portable"
	"hashgrove/internal/par"
	"hashgrove/internal/vectors"
)

// L2-regularised L2-loss linear SVM in the primal (Keerthi and DeCoste, 2005; Lin, Weng and Keerthi, 2008; what
// liblinear does with -s 2 -B 1). With x_i = (bins / 255, 1),
//
//	f(w) = w.w/2 + C sum over i of max(0, 1 - z_i w.x_i)^2.
//
// With I the rows that have a loss, f has the gradient g and the generalised Hessian H,
//
//	g = w + 2C sum over I of (w.x_i - z_i) x_i,    H d = d + 2C sum over I of (d.x_i) x_i.
//
//	repeat until |g| is small
//		direction     H s = -g roughly, by conjugate gradients           two passes over the rows of I each
//		line          halve the step until f falls enough                one pass over all rows in all
//
// No matrix of floats is made: gradient and line read the columns as they are, the conjugate gradients a copy row by
// row (products.go). Each product sums in a fixed order, so the number of threads does not matter.

// Options say how to learn. A zero field means its default.
type Options struct {
	C          float64 `json:"c"`          // cost of a loss against the length of w; 1e6 / rows
	Tolerance  float64 `json:"tolerance"`  // share of |g| to stop at, times the share of the rarer sign; 0.01
	Iterations int     `json:"iterations"` // maximum number of Newton steps; 50
}

// withDefaults fills in the defaults for the given number of rows and validates the options.
func (o Options) withDefaults(rows int) (Options, error) {
	o.C = cmp.Or(o.C, 1e6/float64(max(rows, 1)))
	o.Tolerance = cmp.Or(o.Tolerance, 0.01)
	o.Iterations = cmp.Or(o.Iterations, 50)
	switch {
	case !(o.C > 0 && o.C <= 1e12):
		return o, fmt.Errorf("cost C of %v: give a positive number up to 1e12", o.C)
	case !(o.Tolerance > 0 && o.Tolerance < 1):
		return o, fmt.Errorf("tolerance of %v: give a number between 0 and 1", o.Tolerance)
	case o.Iterations < 1:
		return o, fmt.Errorf("%d Newton steps: give a positive number", o.Iterations)
	}
	return o, nil
}

// conjugateSteps bounds the conjugate gradient steps of one direction. A direction that is cut short is still downhill.
const conjugateSteps = 100

// Trainer learns bits from the same columns, in sequence, reusing its memory. It is not safe for concurrent
// use.
type Trainer struct {
	products
	rows *packed // made by the first Fit
	o    Options
	z    []float64

	w, g          []float64 // the last entry belongs to the constant 1, here and in all vectors of this length
	s, r, d, hd   []float64 // direction; residual, direction and its product in the conjugate gradients
	diagonal      []float64 // of H
	margin, slope []float64 // w.x_i and s.x_i of all rows
	active        []uint32  // I
	loss          []float64 // a value of each row in I
	every         []uint32  // all rows
}

// New prepares to learn from x, which it keeps but never changes.
func New(x *vectors.Columns, o Options, threads int) (*Trainer, error) {
	o, err := o.withDefaults(x.Rows)
	if err != nil {
		return nil, err
	}
	n, dim := x.Rows, x.Dim()
	if n < 1 || dim < 1 || n > math.MaxInt32 {
		return nil, fmt.Errorf("cannot learn from %d rows of %d columns", n, dim)
	}
	t := &Trainer{
		products: products{x, par.Threads(threads)}, o: o, z: make([]float64, n),
		margin: make([]float64, n), slope: make([]float64, n), active: make([]uint32, 0, n), loss: make([]float64, n),
		every: make([]uint32, n),
	}
	for _, v := range []*[]float64{&t.w, &t.g, &t.s, &t.r, &t.d, &t.hd, &t.diagonal} {
		*v = make([]float64, dim+1)
	}
	for i := range t.every {
		t.every[i] = uint32(i)
	}
	return t, nil
}

// Fit learns the bit z, -1 or +1 for each row.
func (t *Trainer) Fit(ctx context.Context, z []int8) (*model.Linear, error) {
	if len(z) != len(t.z) {
		panic("svm: Fit needs one sign for each row")
	}
	plus := 0
	for i, v := range z {
		if v != 1 && v != -1 {
			panic("svm: Fit with a sign that is neither -1 nor +1")
		}
		t.z[i] = float64(v)
		plus += int(v+1) / 2
	}
	if t.rows == nil {
		var err error
		if t.rows, err = pack(ctx, t.x, t.threads); err != nil {
			t.rows = nil
			return nil, err
		}
	}
	clear(t.w)
	clear(t.margin)
	f := t.objective(0)
	enough := 0.0
	for step := range t.o.Iterations {
		if err := t.gradient(ctx); err != nil {
			return nil, fmt.Errorf("step %d of Newton's method: %w", step+1, err)
		}
		g := math.Sqrt(portable.Dot(t.g, t.g))
		if step == 0 {
			enough = t.o.Tolerance * g * float64(max(min(plus, len(z)-plus), 1)) / float64(len(z))
		}
		if g <= enough {
			break
		}
		err := t.direction(ctx)
		if err == nil {
			err = t.multiply(ctx, t.every, t.s, t.slope)
		}
		if err != nil {
			return nil, fmt.Errorf("step %d of Newton's method: %w", step+1, err)
		}
		next, ok := t.lineSearch(f)
		if !ok { // floats cannot find a better point
			break
		}
		f = next
	}
	return roundedPlane(t.w)
}

// objective returns f at w + a s, from the margins.
func (t *Trainer) objective(a float64) float64 {
	sum := 0.0
	for i, m := range t.margin {
		if l := 1 - float64(t.z[i]*(m+float64(a*t.slope[i]))); l > 0 {
			sum += float64(l * l)
		}
	}
	ww := portable.Dot(t.w, t.w) + float64(2*a*portable.Dot(t.w, t.s)) + float64(a*a*portable.Dot(t.s, t.s))
	return float64(ww/2) + float64(t.o.C*sum)
}

// gradient sets I, g and the diagonal of H.
func (t *Trainer) gradient(ctx context.Context) error {
	t.active = t.active[:0]
	for i, m := range t.margin {
		if t.z[i]*m < 1 {
			t.loss[len(t.active)] = m - t.z[i]
			t.active = append(t.active, uint32(i))
		}
	}
	if err := t.combine(ctx, t.active, t.loss, t.g, t.diagonal); err != nil {
		return err
	}
	for j, w := range t.w {
		t.g[j] = w + float64(2*t.o.C*t.g[j])
		t.diagonal[j] = 1 + float64(2*t.o.C*t.diagonal[j])
	}
	return nil
}

// direction sets s to nearly the solution of H s = -g, by conjugate gradients with the diagonal of H as preconditioner.
func (t *Trainer) direction(ctx context.Context) error {
	clear(t.s)
	for j, g := range t.g {
		t.r[j] = -g
		t.d[j] = -g / t.diagonal[j]
	}
	rho := portable.Dot(t.r, t.d)
	// Rho is a squared length: the residual must fall to a tenth, as in liblinear.
	for enough, k := 0.01*rho, 0; k < conjugateSteps && rho > enough; k++ {
		if err := t.rows.multiply(ctx, t.active, t.d, t.loss); err != nil {
			return err
		}
		if err := t.rows.combine(ctx, t.active, t.loss, t.hd); err != nil {
			return err
		}
		for j, d := range t.d {
			t.hd[j] = d + float64(2*t.o.C*t.hd[j])
		}
		a := rho / portable.Dot(t.d, t.hd)
		last := rho
		rho = 0
		for j := range t.s {
			t.s[j] += float64(a * t.d[j])
			t.r[j] -= float64(a * t.hd[j])
			rho += float64(t.r[j] * t.r[j] / t.diagonal[j])
		}
		for j := range t.d {
			t.d[j] = t.r[j]/t.diagonal[j] + float64(rho/last*t.d[j])
		}
	}
	return nil
}

// lineSearch halves the step from w along s until f falls by a hundredth of what the slope promises.
func (t *Trainer) lineSearch(f float64) (float64, bool) {
	promise := portable.Dot(t.g, t.s)
	for a := 1.0; a > 1e-10; a /= 2 {
		next := t.objective(a)
		if !(next < f) || next > f+float64(0.01*a*promise) {
			continue
		}
		for j, s := range t.s {
			t.w[j] += float64(a * s)
		}
		for i, s := range t.slope {
			t.margin[i] += float64(a * s)
		}
		return next, true
	}
	return f, false
}

// roundedPlane scales w to integers over bins: weights below 2^30, a bias below 2^60.
func roundedPlane(w []float64) (*model.Linear, error) {
	dim := len(w) - 1
	top := 0.0
	for _, v := range w[:dim] {
		top = max(top, math.Abs(v)/(vectors.Bins-1))
	}
	bias := math.Abs(w[dim])
	if sum := top + bias; math.IsNaN(sum) || math.IsInf(sum, 0) {
		return nil, errors.New("the hyperplane has no finite weights: give a smaller cost C")
	}
	scale := math.MaxFloat64
	if top > 0 {
		scale = min(scale, (1<<30-1)/top)
	}
	if bias > 0 {
		scale = min(scale, (1<<60)/bias)
	}
	h := &model.Linear{Weight: make([]int32, dim)}
	for j, v := range w[:dim] {
		h.Weight[j] = int32(math.RoundToEven(v / (vectors.Bins - 1) * scale))
	}
	h.Bias = int64(math.RoundToEven(w[dim] * scale))
	return h, nil
}
