// Gaussian features: similarities with anchors, the vectors that KSH, SDH, FSDH and kernel TSH learn from.
//
//	k_q(x) = exp(-|x - a_q|² / width) - mean_q,   q = 1..m
//
// The anchors a are rows drawn at random; the width is twice the mean squared distance of a row from an anchor (KSH's
// rule) unless given; the means are over all rows, so that features are centred.
//
//	anchors    one pass, m rows kept
//	width      one pass; the mean over all n·m pairs follows from means and squares:
//	           E|x - a|² = E|x - E x|² + E|a - E a|² + |E x - E a|²
//	means      one pass through the kernel                  O(n · m · dim)
//	features   one pass through the kernel, of the rows to learn from

package method

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"hashgrove/internal/gemm"
	"hashgrove/internal/linalg"
	"hashgrove/internal/par"
	"hashgrove/model"
	"hashgrove/vectors"
)

// checkAnchors reports a projection of similarities with anchors that cannot be made.
func checkAnchors(bits, anchors int) error {
	if anchors < 1 || anchors > maxWeights {
		return fmt.Errorf("%d anchors: give a positive number up to %d", anchors, maxWeights)
	}
	return checkSize(bits, anchors)
}

// rbfKernel makes a centred kernel from a source of the given number of rows. A width of 0 means KSH's rule.
func rbfKernel(ctx context.Context, x vectors.Source, rows, anchors int, width float64, seed uint64, threads int) (*model.Kernel, error) {
	if math.IsNaN(width) || width < 0 || width > math.MaxFloat32 {
		return nil, fmt.Errorf("a kernel of width %v: give a positive number, or 0 for twice the mean squared distance", width)
	}
	keep := make([]bool, rows)
	for _, i := range draw(rows, anchors, rand.New(rand.NewPCG(seed, 'A'))) {
		keep[i] = true
	}
	a, err := rowsOf(ctx, vectors.Select(x, keep), min(anchors, rows))
	if err != nil {
		return nil, err
	}
	if width == 0 {
		mean, err := meanDistance(ctx, x, a)
		if err != nil {
			return nil, err
		}
		width = max(2*mean, math.SmallestNonzeroFloat32) // 0 when all rows are equal
	}
	k := &model.Kernel{Anchors: a, Width: float32(width)}
	if err := k.Check(); err != nil {
		return nil, err
	}
	sum := make([]float64, a.Rows)
	err = eachThrough(ctx, x, threads, k, func(_ int, y vectors.Matrix) {
		for i := range y.Rows {
			for q, v := range y.Row(i) {
				sum[q] += float64(v) / float64(rows)
			}
		}
	})
	return &model.Kernel{Anchors: a, Width: k.Width, Mean: singles(sum)}, err
}

// meanDistance is the mean squared distance of a row of x from a row of a.
func meanDistance(ctx context.Context, x vectors.Source, a vectors.Matrix) (float64, error) {
	mx, vx, err := spread(ctx, x)
	if err != nil {
		return 0, err
	}
	ma, va, err := spread(ctx, a)
	if err != nil {
		return 0, err
	}
	d := vx + va
	for j, m := range mx {
		d += (m - ma[j]) * (m - ma[j])
	}
	return d, nil
}

// spread returns the mean of the rows and their mean squared distance from it.
func spread(ctx context.Context, x vectors.Source) (mean []float64, square float64, err error) {
	mean, variance, err := moments(ctx, x)
	for _, v := range variance {
		square += v
	}
	return mean, square, err
}

// moments returns the mean and the variance of every column.
func moments(ctx context.Context, x vectors.Source) (mean, variance []float64, err error) {
	mean = make([]float64, x.Dim())
	first, squares := make([]float64, x.Dim()), make([]float64, x.Dim()) // from the first row: less is lost
	rows := 0
	for c, err := range x.Chunks(ctx) {
		if err != nil {
			return nil, nil, err
		}
		for i := range c.X.Rows {
			for j, v := range c.X.Row(i) {
				if rows == 0 && i == 0 {
					first[j] = float64(v)
				}
				d := float64(v) - first[j]
				mean[j] += d
				squares[j] += d * d
			}
		}
		rows += c.X.Rows
	}
	for j := range mean {
		mean[j] /= float64(max(rows, 1))
		squares[j] = max(0, squares[j]/float64(max(rows, 1))-mean[j]*mean[j])
		mean[j] += first[j]
	}
	return mean, squares, nil
}

// eachThrough takes the rows of a source through a map, many at a time: chunks of wide vectors have too few rows for all cores.
func eachThrough(ctx context.Context, x vectors.Source, threads int, m model.Map, f func(first int, y vectors.Matrix)) error {
	for b, err := range linalg.Blocks(ctx, x, 1024) {
		if err != nil {
			return err
		}
		y, err := model.Transform(ctx, threads, b.X, m)
		if err != nil {
			return err
		}
		f(b.First, y)
	}
	return nil
}

// featuresOf reads a source of the given number of rows through a map.
func featuresOf(ctx context.Context, x vectors.Source, rows, threads int, m model.Map) (vectors.Matrix, error) {
	if rows > maxValues/m.Out() {
		return vectors.Matrix{}, fmt.Errorf("%d features of %d rows do not fit into memory: learn from fewer rows or with fewer anchors", m.Out(), rows)
	}
	out := vectors.Matrix{Rows: rows, Cols: m.Out(), Data: make([]float32, rows*m.Out())}
	n := 0
	err := eachThrough(ctx, x, threads, m, func(first int, y vectors.Matrix) {
		if n = first + y.Rows; n <= rows {
			copy(out.Data[first*out.Cols:], y.Data)
		}
	})
	if err == nil && n != rows {
		err = fmt.Errorf("the data have %d rows, not the %d seen before: did a file change while it was read?", n, rows)
	}
	return out, err
}

// crossRows is the number of rows whose products are summed in single precision. Longer sums would lose what the ridge
// of a kernel method stands on: with 3,000 anchors 128 rows are too many.
const crossRows = 32

// cross returns X'Y in double precision, row after row, for matrices with equally many rows.
func cross(ctx context.Context, threads int, x, y vectors.Matrix) ([]float64, error) {
	if x.Rows != y.Rows {
		panic("method: the product of matrices with different numbers of rows")
	}
	const side = 60 // rows of the result in one turn, which stay in the cache
	sum := make([]float64, x.Cols*y.Cols)
	err := par.Blocks(ctx, threads, x.Cols, side, func(_, from, to int) {
		part := gemm.Of(to-from, y.Cols, make([]float32, (to-from)*y.Cols))
		sum := sum[from*y.Cols : to*y.Cols]
		for lo := 0; lo < x.Rows && ctx.Err() == nil; lo += crossRows {
			hi := min(lo+crossRows, x.Rows)
			left := gemm.View{Rows: to - from, Cols: hi - lo, RowStep: 1, ColStep: x.Cols, Data: x.Data[lo*x.Cols+from:]}
			// One thread, and a context that never ends: no error.
			_ = gemm.Mul(context.Background(), 1, part, left, viewOf(y.Slice(lo, hi)))
			for i, v := range part.Data {
				sum[i] += float64(v)
			}
		}
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return sum, err
}

// ridgeFactor factorises K'K with a ridge on its diagonal: the given share of the mean diagonal value, or ten times as much
// until single precision allows it.
func (f features) ridgeFactor(ctx context.Context, share float64) (*linalg.Cholesky, error) {
	m := f.k.Cols
	for {
		gram, err := cross(ctx, f.threads, f.k, f.k)
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
		c, err := linalg.NewCholesky(ctx, gram, m, f.threads)
		if !errors.Is(err, linalg.ErrNotPositive) || share > 1 {
			return c, err
		}
		share *= 10
	}
}
