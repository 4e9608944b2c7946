// Products with a matrix of features in single precision, on several cores.

package method

import (
	"context"
	"errors"

	"gonum.org/v1/gonum/blas/blas32"

	"hashgrove/internal/linalg"
	"hashgrove/internal/par"
	"hashgrove/vectors"
)

// features is K, with products on several cores.
type Features struct {
	K       vectors.Matrix
	Threads int
}

// forwardRows is the number of rows of one turn. The sums of backward depend on it, so it is fixed.
const forwardRows = 128

// forward sets y = K a.
func (f Features) Times(ctx context.Context, a, y []float64) error {
	single := Float32s(a)
	return par.Blocks(ctx, f.Threads, f.K.Rows, forwardRows, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			y[i] = blas32.DDot(vector32(f.K.Row(i)), vector32(single))
		}
	})
}

// backward sets a = K' y.
func (f Features) TransposeTimes(ctx context.Context, y, a []float64) error {
	single := Float32s(y)
	parts := make([][]float32, (f.K.Rows+forwardRows-1)/forwardRows)
	err := par.Blocks(ctx, f.Threads, f.K.Rows, forwardRows, func(b, lo, hi int) {
		parts[b] = make([]float32, f.K.Cols)
		for i := lo; i < hi; i++ {
			blas32.Axpy(single[i], vector32(f.K.Row(i)), vector32(parts[b]))
		}
	})
	clear(a)
	for _, p := range parts {
		for j, v := range p {
			a[j] += float64(v)
		}
	}
	return err
}

// ridgeFactor factorises K'K with a ridge on its diagonal: the given share of the mean diagonal value, or ten times as much
// until single precision allows it.
func (f Features) RidgeFactor(ctx context.Context, share float64) (*linalg.Cholesky, error) {
	m := f.K.Cols
	for {
		gram, err := Cross(ctx, f.Threads, f.K, f.K)
		if err != nil {
			return nil, err
		}
		trace := 0.0
		for q := range m {
			trace += gram[q*m+q]
		}
		if !(trace > 0) {
			return nil, errors.New("all rows to learn from have the same features")
		}
		for q := range m {
			gram[q*m+q] += share * trace / float64(m)
		}
		c, err := linalg.NewCholesky(ctx, gram, m, f.Threads)
		if !errors.Is(err, linalg.ErrNotPositive) || share > 1 {
			return c, err
		}
		share *= 10
	}
}
