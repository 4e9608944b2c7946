package svm

import (
	"context"

	"hashgrove/internal/par"
	"hashgrove/internal/vectors"
)

// Products of the matrix X, whose rows are x_i = (bins / 255, 1), with vectors, for a list of rows. X is never built:
// four columns of bytes are read at a time. Every entry of a result is one sum, in the order of columns or rows.

// rowBlock is the number of rows in one turn.
const rowBlock = 1024

const unit = 1.0 / (vectors.Bins - 1)

type products struct {
	x       *vectors.Columns
	threads int
}

// multiply sets out[k] = x_i . v for the k-th row i.
func (p products) multiply(ctx context.Context, rows []uint32, v, out []float64) error {
	dim := p.x.Dim()
	return par.Blocks(ctx, p.threads, len(rows), rowBlock, func(_, lo, hi int) {
		rows, out := rows[lo:hi], out[lo:hi]
		out = out[:len(rows)] // spares a bounds check
		for k := range out {
			out[k] = v[dim]
		}
		for j := 0; j < dim; j += 4 {
			c0, c1, c2, c3 := p.fourColumns(j)
			var f [4]float64
			for i := range min(4, dim-j) {
				f[i] = v[j+i] * unit
			}
			f0, f1, f2, f3 := f[0], f[1], f[2], f[3]
			for k, r := range rows {
				a := float64(f0*float64(c0[r])) + float64(f1*float64(c1[r]))
				b := float64(f2*float64(c2[r])) + float64(f3*float64(c3[r]))
				out[k] += a + b
			}
		}
	})
}

// combine sets out to the sum of v[k] x_i over the k-th row i, and squares, unless nil, to that of x_i^2, entry by
// entry.
func (p products) combine(ctx context.Context, rows []uint32, v, out, squares []float64) error {
	v = v[:len(rows)]
	dim := p.x.Dim()
	out[dim] = 0
	for _, a := range v {
		out[dim] += a
	}
	if squares != nil {
		squares[dim] = float64(len(rows))
	}
	return par.Blocks(ctx, p.threads, dim, 4, func(_, lo, hi int) {
		c0, c1, c2, c3 := p.fourColumns(lo)
		var s0, s1, s2, s3 float64
		for k, r := range rows {
			a := v[k]
			s0 += float64(a * float64(c0[r]))
			s1 += float64(a * float64(c1[r]))
			s2 += float64(a * float64(c2[r]))
			s3 += float64(a * float64(c3[r]))
		}
		s := [4]float64{s0, s1, s2, s3}
		for j := lo; j < hi; j++ {
			out[j] = s[j-lo] * unit
		}
		if squares == nil {
			return
		}
		var q0, q1, q2, q3 uint64
		for _, r := range rows {
			b0, b1, b2, b3 := uint64(c0[r]), uint64(c1[r]), uint64(c2[r]), uint64(c3[r])
			q0 += b0 * b0
			q1 += b1 * b1
			q2 += b2 * b2
			q3 += b3 * b3
		}
		q := [4]uint64{q0, q1, q2, q3}
		for j := lo; j < hi; j++ {
			squares[j] = float64(q[j-lo]) * (unit * unit)
		}
	})
}

// fourColumns returns column j and the next three. The last stands in for missing ones: its factor is 0, or its sum
// unused.
func (p products) fourColumns(j int) (c0, c1, c2, c3 []uint8) {
	last := p.x.Dim() - 1
	c0, c1, c2, c3 = p.x.Column(j), p.x.Column(min(j+1, last)), p.x.Column(min(j+2, last)), p.x.Column(min(j+3, last))
	// Equal lengths save three of four bounds checks.
	return c0, c1[:len(c0)], c2[:len(c0)], c3[:len(c0)]
}

// The conjugate gradients take hundreds of products with H per bit, and a direction need not be exact. So they use a
// row-by-row copy of the bins, and single precision: a product is one pass over the rows of I, as fast as bytes convert
// to floats. Sums of sums are in double precision. Results do not depend on the number of threads.

// packed holds the bins row by row.
type packed struct {
	dim, width int // width is dim, padded with zeros
	data       []uint8
	threads    int

	v    []float32
	sums []float32 // copies of the single-precision sums, for each block of columns
}

// Columns of a block, and rows that are summed in single precision before double takes over.
const (
	columnBlock = 1024
	sumRows     = 256
)

func pack(ctx context.Context, x *vectors.Columns, threads int) (*packed, error) {
	dim := x.Dim()
	width := (dim + turn - 1) / turn * turn
	p := &packed{dim: dim, width: width, threads: threads, data: make([]uint8, x.Rows*width), v: make([]float32, width),
		sums: make([]float32, width)}
	// The rows of a block stay in the cache while the columns go by.
	return p, par.Blocks(ctx, threads, x.Rows, 64, func(_, lo, hi int) {
		for j := range dim {
			at := lo*width + j
			for _, bin := range x.Column(j)[lo:hi] {
				p.data[at] = bin
				at += width
			}
		}
	})
}

func (p *packed) row(i uint32) []uint8 { return p.data[int(i)*p.width:][:p.width] }

// multiply approximates out[k] = x_i . v for the k-th row i.
func (p *packed) multiply(ctx context.Context, rows []uint32, v, out []float64) error {
	for j, a := range v[:p.dim] {
		p.v[j] = float32(a * unit)
	}
	return par.Blocks(ctx, p.threads, len(rows), 64, func(_, lo, hi int) {
		var sum [turn]float32
		for k := lo; k < hi; k++ {
			dotBytes(&sum, p.row(rows[k]), p.v)
			total := v[p.dim]
			for _, s := range sum {
				total += float64(s)
			}
			out[k] = total
		}
	})
}

// combine approximates the sum of v[k] x_i over the k-th row i.
func (p *packed) combine(ctx context.Context, rows []uint32, v, out []float64) error {
	out[p.dim] = 0
	for _, a := range v[:len(rows)] {
		out[p.dim] += a
	}
	clear(out[:p.dim])
	return par.Blocks(ctx, p.threads, p.width, columnBlock, func(_, lo, hi int) {
		sums, to := p.sums[lo:hi], out[lo:min(hi, p.dim)]
		for first := 0; first < len(rows); first += sumRows {
			clear(sums)
			last := min(first+sumRows, len(rows))
			for k := first; k < last; k += 4 {
				var a [4]float32
				var x [4][]uint8
				for r := range 4 { // past the end nothing of the last row is added
					x[r] = p.row(rows[min(k+r, last-1)])[lo:hi]
					if k+r < last {
						a[r] = float32(v[k+r] * unit)
					}
				}
				addBytes(sums, &a, x[0], x[1], x[2], x[3])
			}
			for j := range to {
				to[j] += float64(sums[j])
			}
		}
	})
}
