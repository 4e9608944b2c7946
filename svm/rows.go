package svm

import (
	"context"

	"hashgrove/internal/par"
	"hashgrove/vectors"
)

// The conjugate gradients take hundreds of products with H for a bit, and a direction need not be exact. So they have a
// copy of the bins row by row, and single precision: a product is one pass over the rows of I that runs as fast as
// bytes become floats. Sums of sums are in double precision. Results do not depend on the number of threads.

// packed is the bins, row by row.
type packed struct {
	dim, width int // width is dim, filled up with zeros
	data       []uint8
	threads    int

	v    []float32
	sums []float32 // a copy of the part of the sums that is in single precision, for each block of columns
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

// multiply sets out[k] = x_i . v for the k-th row i, about.
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

// combine sets out to the sum of v[k] x_i over the k-th row i, about.
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
