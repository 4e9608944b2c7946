// Ridge systems, (A + λI) Z = B, for a symmetric A in single precision that may be large: 11,200 columns are 500 MB.
// Cholesky by panels of columns makes nearly all work matrix products:
//
//	for each panel J of columns, from the left
//		A_J -= L_left L_left'     rows from J on       product by product over 512 columns, which keeps sums short;
//		                                               for all panels to come as soon as 512 are there
//		L_JJ                      the small factor     in double precision
//		L_J  = A_J L_JJ'^-1       rows below J
//
// A ridge below the error of single precision can lead to a pivot that is not positive. Then the ridge is raised
// tenfold and everything starts again from a copy of A in the other triangle, as it does for another ridge.

package linalg

import (
	"context"
	"errors"
	"math"
	"slices"

	"hashgrove/internal/numeric/gemm"
	"hashgrove/internal/par"
	"hashgrove/internal/vectors"
)

const (
	ridgePanel = 96  // few enough that gemm does not divide them; wider ones leave more to the small factor
	ridgeDepth = 512 // columns of one product
)

// ridge is the factor L of A + λI = L L'.
type ridge struct {
	a        vectors.Matrix // L below the diagonal blocks, A above the diagonal
	diagonal []float32      // of A
	inverse  []float32      // of the diagonal blocks of L, ridgePanel² values each
	small    smallFactor
	threads  int
}

// newRidge factorises A + λI and returns the λ it used. The lower triangle of A must be filled in. It takes over A
// and overwrites it.
func newRidge(ctx context.Context, threads int, a vectors.Matrix, lambda float64) (*ridge, float64, error) {
	n := a.Rows
	panels := (n + ridgePanel - 1) / ridgePanel
	r := &ridge{a: a, inverse: make([]float32, panels*ridgePanel*ridgePanel), threads: threads}
	for i := range n {
		r.diagonal = append(r.diagonal, a.Data[i*n+i])
	}
	if err := r.mirror(ctx, true); err != nil {
		return nil, 0, err
	}
	lambda, err := r.raise(ctx, lambda)
	return r, lambda, err
}

// again factorises A + λI for another λ and returns the one it used.
func (r *ridge) again(ctx context.Context, lambda float64) (float64, error) {
	if err := r.mirror(ctx, false); err != nil {
		return 0, err
	}
	return r.raise(ctx, lambda)
}

// raise factorises A + λI, with a greater λ if necessary. The lower triangle must be that of A.
func (r *ridge) raise(ctx context.Context, lambda float64) (float64, error) {
	n := r.a.Rows
	for {
		for i, v := range r.diagonal {
			r.a.Data[i*n+i] = float32(float64(v) + lambda)
		}
		ok, err := r.factor(ctx)
		if ok || err != nil {
			return lambda, err
		}
		top := max(float64(slices.Max(r.diagonal)), 0)
		if lambda = max(10*lambda, 1e-7*top); !(lambda < math.MaxFloat32/32) {
			return 0, errors.New("the covariances of the columns are too great: scale the vectors")
		}
		if err := r.mirror(ctx, false); err != nil {
			return 0, err
		}
	}
}

// mirror copies the lower triangle to the upper, or back.
func (r *ridge) mirror(ctx context.Context, up bool) error {
	const side = 64 // of the squares in which it is done
	n, a := r.a.Rows, r.a.Data
	return par.Blocks(ctx, r.threads, n, side, func(_, lo, hi int) {
		for left := 0; left < hi; left += side {
			for i := lo; i < hi; i++ {
				for j := left; j < min(left+side, i); j++ {
					if up {
						a[j*n+i] = a[i*n+j]
					} else {
						a[i*n+j] = a[j*n+i]
					}
				}
			}
		}
	})
}

// view returns rows lo to hi and columns left to right of the matrix.
func (r *ridge) view(lo, hi, left, right int) gemm.View {
	n := r.a.Rows
	return gemm.View{Rows: hi - lo, Cols: right - left, RowStep: n, ColStep: 1, Data: r.a.Data[lo*n+left:]}
}

// factor overwrites the lower triangle with L. ok is false if a pivot is not positive.
func (r *ridge) factor(ctx context.Context) (ok bool, err error) {
	n := r.a.Rows
	for lo := 0; lo < n; lo += ridgePanel {
		hi := min(lo+ridgePanel, n)
		k := lo / ridgeDepth * ridgeDepth
		if k > 0 && k > lo-ridgePanel {
			whole := r.view(lo, n, k-ridgeDepth, k)
			if err := r.subtract(ctx, r.view(lo, n, lo, n), whole, whole.T(), true); err != nil {
				return false, err
			}
		}
		if lo > k {
			b := r.view(lo, hi, k, lo).T()
			if err := r.subtract(ctx, r.view(lo, n, lo, hi), r.view(lo, n, k, lo), b, true); err != nil {
				return false, err
			}
		}
		inverse := r.inverseBlock(lo)
		if !r.small.factor(r.a, lo, hi-lo) {
			return false, ctx.Err()
		}
		r.small.invert(inverse)
		if hi == n {
			break
		}
		err := gemm.MulEach(ctx, r.threads, r.view(hi, n, lo, hi), inverse.T(), false, func(i, j int, values []float32) {
			copy(r.a.Row(hi + i)[lo+j:], values)
		})
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// inverseBlock returns the inverse of the diagonal block that starts at row lo.
func (r *ridge) inverseBlock(lo int) gemm.View {
	w := min(ridgePanel, r.a.Rows-lo)
	return gemm.RowMajor(w, w, r.inverse[lo*ridgePanel:])
}

// subtract sets c -= a b, or only its lower triangle.
func (r *ridge) subtract(ctx context.Context, c, a, b gemm.View, lower bool) error {
	return gemm.MulEach(ctx, r.threads, a, b, lower, func(i, j int, values []float32) {
		Axpy32(-1, values, c.Data[i*c.RowStep+j:][:len(values)])
	})
}

// solve overwrites B with Z.
func (r *ridge) solve(ctx context.Context, b vectors.Matrix) error {
	n := r.a.Rows
	rows := func(lo, hi int) gemm.View { return MatrixView(b.Slice(lo, hi)) }
	apply := func(lo, hi int, inverse gemm.View) error {
		copied := append([]float32(nil), b.Slice(lo, hi).Data...)
		return gemm.Mul(ctx, r.threads, rows(lo, hi), inverse, gemm.RowMajor(hi-lo, b.Cols, copied))
	}
	for lo := 0; lo < n; lo += ridgePanel {
		hi := min(lo+ridgePanel, n)
		for k := 0; k < lo; k += ridgeDepth {
			to := min(k+ridgeDepth, lo)
			if err := r.subtract(ctx, rows(lo, hi), r.view(lo, hi, k, to), rows(k, to), false); err != nil {
				return err
			}
		}
		if err := apply(lo, hi, r.inverseBlock(lo)); err != nil {
			return err
		}
	}
	for lo := (n - 1) / ridgePanel * ridgePanel; lo >= 0; lo -= ridgePanel {
		hi := min(lo+ridgePanel, n)
		for k := hi; k < n; k += ridgeDepth {
			to := min(k+ridgeDepth, n)
			if err := r.subtract(ctx, rows(lo, hi), r.view(k, to, lo, hi).T(), rows(k, to), false); err != nil {
				return err
			}
		}
		if err := apply(lo, hi, r.inverseBlock(lo).T()); err != nil {
			return err
		}
	}
	return nil
}

// Gram sums X'X in the lower triangle of a matrix in single precision; the other is zero. Adding a few hundred rows
// at a time keeps the sums of products short, and so their error small.
type Gram struct {
	sum     vectors.Matrix
	threads int
}

// GramRows is the number of rows to add to a Gram at a time.
const GramRows = 1024

// NewGram returns an empty sum with the given number of columns.
func NewGram(side, threads int) *Gram {
	return &Gram{sum: vectors.Matrix{Rows: side, Cols: side, Data: make([]float32, side*side)}, threads: threads}
}

// Add adds x'x.
func (g *Gram) Add(ctx context.Context, x gemm.View) error {
	return gemm.MulEach(ctx, g.threads, x.T(), x, true, func(i, j int, values []float32) {
		Axpy32(1, values, g.sum.Row(i)[j:j+len(values)])
	})
}

// Lower returns the sum, without copying: its lower triangle, and zeros.
func (g *Gram) Lower() vectors.Matrix { return g.sum }

// Solve overwrites b with (share G + ridge I)^-1 b, and destroys G.
func (g *Gram) Solve(ctx context.Context, share, lambda float64, b vectors.Matrix) error {
	for i := range g.sum.Data {
		g.sum.Data[i] = float32(float64(g.sum.Data[i]) * share)
	}
	return SolveRidge(ctx, g.threads, g.sum, lambda, b)
}

// SolveRidge overwrites b with (a + ridge I)^-1 b, and destroys a, whose lower triangle must be filled in.
func SolveRidge(ctx context.Context, threads int, a vectors.Matrix, lambda float64, b vectors.Matrix) error {
	r, _, err := newRidge(ctx, threads, a, lambda)
	if err != nil {
		return err
	}
	return r.solve(ctx, b)
}
