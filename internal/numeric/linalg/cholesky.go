// The Cholesky factor of a symmetric positive definite matrix, A = L L', by blocks of columns, so that all cores take
// part and a factorisation of thousands of rows can be interrupted.
//
//	for each block of columns
//		diagonal   L_kk of A_kk                     one core, O(side³)
//		panel      L_ik = A_ik L_kk'^-1             a row per turn
//		rest       A_ij -= L_ik L_jk'               a block of rows per turn; nearly all of the n³/6 products

package linalg

import (
	"context"
	"errors"
	"math"

	"hashgrove/internal/par"
)

// Cholesky holds L row by row; values above the diagonal are not used.
type Cholesky struct {
	n       int
	l       []float64
	threads int
}

const choleskySide = 64

// ErrNotPositive reports a matrix without a Cholesky factor.
var ErrNotPositive = errors.New("a matrix is not positive definite: are columns copies of each other? " +
	"a greater penalty helps")

// NewCholesky factorises the n x n matrix a with a ridge added to its diagonal. It reads the lower half of a and
// takes over its memory.
func NewCholesky(ctx context.Context, a []float64, n int, ridge float64, threads int) (*Cholesky, error) {
	if len(a) != n*n {
		panic("linalg: a matrix that is not square")
	}
	for i := range n {
		a[i*n+i] += ridge
	}
	c := &Cholesky{n, a, threads}
	for lo := 0; lo < n; lo += choleskySide {
		hi := min(lo+choleskySide, n)
		for i := lo; i < hi; i++ {
			row := c.Row(i)
			for j := lo; j < i; j++ {
				row[j] = (row[j] - Dot(row[lo:j], c.Row(j)[lo:j])) / c.Row(j)[j]
			}
			pivot := row[i] - Dot(row[lo:i], row[lo:i])
			if !(pivot > 0) || math.IsInf(pivot, 0) {
				return nil, ErrNotPositive
			}
			row[i] = math.Sqrt(pivot)
		}
		err := par.Blocks(ctx, threads, n-hi, 16, func(_, from, to int) {
			for i := hi + from; i < hi+to; i++ {
				row := c.Row(i)
				for j := lo; j < hi; j++ {
					row[j] = (row[j] - Dot(row[lo:j], c.Row(j)[lo:j])) / c.Row(j)[j]
				}
			}
		})
		if err != nil {
			return nil, err
		}
		err = par.Blocks(ctx, threads, n-hi, choleskySide, func(_, from, to int) {
			from, to = hi+from, hi+to
			for at := hi; at < to; at += choleskySide { // rows that stay in the cache
				for i := from; i < to; i++ {
					row := c.Row(i)
					for j := at; j < min(at+choleskySide, i+1); j++ {
						row[j] -= Dot(row[lo:hi], c.Row(j)[lo:hi])
					}
				}
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Row returns row i of L; values beyond the diagonal are not used.
func (c *Cholesky) Row(i int) []float64 { return c.l[i*c.n : (i+1)*c.n] }

// Forward replaces x by L^-1 x.
func (c *Cholesky) Forward(x []float64) {
	for i := range x {
		row := c.Row(i)
		x[i] = (x[i] - Dot(row[:i], x[:i])) / row[i]
	}
}

// Backward replaces x by L'^-1 x.
func (c *Cholesky) Backward(x []float64) {
	for i := len(x) - 1; i >= 0; i-- {
		row := c.Row(i)
		x[i] /= row[i]
		Axpy(-x[i], row[:i], x[:i])
	}
}

// Solve replaces the columns of b, which has n rows of cols values, by those of A^-1 b.
func (c *Cholesky) Solve(ctx context.Context, b []float64, cols int) error {
	return par.For(ctx, c.threads, cols, func(k int) {
		x := make([]float64, c.n)
		for i := range x {
			x[i] = b[i*cols+k]
		}
		c.Forward(x)
		c.Backward(x)
		for i, v := range x {
			b[i*cols+k] = v
		}
	})
}
