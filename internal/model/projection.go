package model

import (
	"fmt"
	"slices"
	"sync"

	"hashgrove/internal/hamming"
	"hashgrove/internal/vectors"
)

// Projection is an encoder of hyperplanes over raw values, as learned by LSH, ITQ and others.
//
//	bit b = [sum over j of w_bj (x_j - mean_j) >= threshold_b]
//
// The sum is taken in float64 in the order of j, and no product is fused with a sum, so every machine computes the same
// bit. No sum can overflow: 2^24 products of values below 2^128 stay far below 2^1023.
type Projection struct {
	Mean      []float32 // nil for none
	Weight    []float32 // one row of the length of a vector per bit
	Threshold []float32 // one per bit

	prints chain
	once   sync.Once
	mean   []float64
	axes   []int // the columns whose signs are the bits; nil if bits depend on more
}

// Kind implements Encoder.
func (e *Projection) Kind() string { return kindProjection }

// Dim implements Encoder.
func (e *Projection) Dim() int {
	if len(e.Threshold) == 0 {
		return len(e.Mean)
	}
	return len(e.Weight) / len(e.Threshold)
}

// Bits implements Encoder.
func (e *Projection) Bits() int { return len(e.Threshold) }

// Check implements Encoder.
func (e *Projection) Check() error {
	if err := checkSize(e); err != nil {
		return err
	}
	if len(e.Weight) != e.Bits()*e.Dim() || e.Mean != nil && len(e.Mean) != e.Dim() {
		return fmt.Errorf("%d bits with %d weights and a mean of %d values", e.Bits(), len(e.Weight), len(e.Mean))
	}
	if j := notFinite(e.Mean); j >= 0 {
		return fmt.Errorf("mean of column %d is %v", j, e.Mean[j])
	}
	if k := notFinite(e.Threshold); k >= 0 {
		return fmt.Errorf("bit %d has the threshold %v", k, e.Threshold[k])
	}
	if i := notFinite(e.Weight); i >= 0 {
		return fmt.Errorf("bit %d has the weight %v for column %d", i/e.Dim(), e.Weight[i], i%e.Dim())
	}
	return nil
}

// Fingerprint implements Encoder.
func (e *Projection) Fingerprint(bits int) hamming.Fingerprint { return e.prints.fingerprint(e, bits) }

func (e *Projection) prefix(bits int) Encoder {
	return &Projection{Mean: e.Mean, Weight: e.Weight[:bits*e.Dim()], Threshold: e.Threshold[:bits]}
}

func (e *Projection) base(c *codec, dim int) {
	values(c, e.Mean != nil || c.reading && len(c.b) > 0, &e.Mean, int64(dim))
}

func (e *Projection) bit(c *codec, dim, k int) {
	var threshold float32
	var weight []float32
	if !c.reading {
		threshold, weight = e.Threshold[k], e.Weight[k*dim:(k+1)*dim]
	}
	c.number(&threshold)
	if values(c, true, &weight, int64(dim)); c.reading {
		e.Threshold, e.Weight = append(e.Threshold, threshold), append(e.Weight, weight...)
	}
}

func (e *Projection) run(to output, x vectors.Matrix) bool {
	e.once.Do(func() {
		e.mean = make([]float64, e.Dim())
		for j, m := range e.Mean {
			e.mean[j] = float64(m)
		}
		e.axes = axesOf(e.Weight, e.Dim())
	})
	if e.axes != nil {
		for r := range x.Rows {
			row := x.Row(r)
			for k, j := range e.axes {
				e.put(&to, r, k, 0+(float64(row[j])-e.mean[j])) // the sum of this and zeros
			}
		}
		return finite(x.Data)
	}
	// Four rows at a time, whose sums do not wait for each other. Rows beyond the last are zeros.
	const few = 4
	d := x.Cols
	row := make([]float64, few*d)
	for lo := 0; lo < x.Rows; lo += few {
		n := min(few, x.Rows-lo)
		for r := range n {
			for j, v := range x.Row(lo + r) {
				row[r*d+j] = float64(v) - e.mean[j]
			}
		}
		a, b, c, f := row[:d], row[d:2*d], row[2*d:3*d], row[3*d:4*d]
		for k := range e.Threshold {
			var s [few]float64
			for j, w := range e.Weight[k*d : (k+1)*d] {
				w := float64(w)
				s[0] += float64(w * a[j])
				s[1] += float64(w * b[j])
				s[2] += float64(w * c[j])
				s[3] += float64(w * f[j])
			}
			for r := range n {
				e.put(&to, lo+r, k, s[r])
			}
		}
	}
	return finite(x.Data)
}

// put takes the product of row r with the weights of bit k.
func (e *Projection) put(to *output, r, k int, score float64) {
	to.put(r, k, settle(score-float64(e.Threshold[k])))
}

// axesOf returns the column of each row of weights that are one there and zero elsewhere, or nil if some are not.
func axesOf(weight []float32, dim int) []int {
	var axes []int
	for row := range slices.Chunk(weight, dim) {
		at := slices.Index(row, 1)
		if at < 0 || slices.ContainsFunc(row[:at], isNotZero) || slices.ContainsFunc(row[at+1:], isNotZero) {
			return nil
		}
		axes = append(axes, at)
	}
	return axes
}

func isNotZero(v float32) bool { return v != 0 }

// notFinite returns the place of the first NaN or infinity, or -1.
func notFinite(v []float32) int {
	if finite(v) {
		return -1
	}
	return slices.IndexFunc(v, func(x float32) bool { return !finiteGo([]float32{x}) })
}
