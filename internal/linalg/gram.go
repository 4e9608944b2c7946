package linalg

import (
	"context"

	"hashgrove/internal/gemm"
	"hashgrove/internal/par"
	"hashgrove/vectors"
)

// Gram sums X'X in the lower triangle of a matrix in single precision, by panels of columns, so that the other half of
// the work is spared. With few hundred rows at a time the sums of the products are short, and so is their error.
type Gram struct {
	sum     vectors.Matrix
	threads int
	part    []float32
}

const (
	gramPanel = 1024
	GramRows  = 1024 // to add at a time
)

// NewGram is the sum of no products yet, of the given number of columns.
func NewGram(side, threads int) *Gram {
	return &Gram{sum: vectors.Matrix{Rows: side, Cols: side, Data: make([]float32, side*side)}, threads: threads}
}

// Add adds x'x.
func (g *Gram) Add(ctx context.Context, x gemm.View) error {
	n := g.sum.Cols
	for lo := 0; lo < n; lo += gramPanel {
		hi := min(lo+gramPanel, n)
		if need := (n - lo) * (hi - lo); len(g.part) < need {
			g.part = make([]float32, need)
		}
		panel := gemm.View{Rows: x.Rows, Cols: hi - lo, RowStep: x.RowStep, ColStep: x.ColStep, Data: x.Data[lo*x.ColStep:]}
		left := gemm.View{Rows: n - lo, Cols: x.Rows, RowStep: x.ColStep, ColStep: x.RowStep, Data: x.Data[lo*x.ColStep:]}
		if err := gemm.Mul(ctx, g.threads, gemm.RowMajor(n-lo, hi-lo, g.part), left, panel); err != nil {
			return err
		}
		err := par.Blocks(ctx, g.threads, n-lo, 64, func(_, from, to int) {
			for i := from; i < to; i++ {
				row := g.sum.Row(lo + i)[lo:hi]
				for j, v := range g.part[i*(hi-lo):][:hi-lo] {
					row[j] += v
				}
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Solve overwrites b by (share G + ridge I)^-1 b, and G by anything.
func (g *Gram) Solve(ctx context.Context, share, lambda float64, b vectors.Matrix) error {
	for i := range g.sum.Data {
		g.sum.Data[i] = float32(float64(g.sum.Data[i]) * share)
	}
	g.part = nil
	r, _, err := newRidge(ctx, g.threads, g.sum, lambda)
	if err != nil {
		return err
	}
	return r.solve(ctx, b)
}
