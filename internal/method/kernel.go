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
//	features   one pass through the kernel, over the training rows

package method

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"

	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/numeric/linalg"
	"hashgrove/internal/par"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// checkAnchors rejects projections of anchor similarities that are too large.
func checkAnchors(bits, anchors int) error {
	if anchors < 1 || anchors > maxWeights {
		return message.New("wrong-count", "%d anchors: give a positive number up to %d", anchors, maxWeights)
	}
	return checkSize(bits, anchors)
}

// gaussianKernel makes a centred kernel of Options.Anchors random rows, or all rows if there are no more, from a source
// of the given number of rows. A width of 0 means twice the mean squared distance.
func gaussianKernel(
	ctx context.Context, x vectors.Source, rows int, width float64, o Options,
) (*model.Gaussian, error) {
	a, err := drawRows(ctx, x, rows, o.Anchors, rand.New(rand.NewPCG(o.Seed, 'A')))
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
	k := &model.Gaussian{Anchors: a, Width: float32(width)}
	if err := k.Check(); err != nil {
		return nil, err
	}
	sum := make([]float64, a.Rows)
	err = eachThrough(ctx, x, o.Threads, k, func(y vectors.Matrix) {
		for i := range y.Rows {
			for q, v := range y.Row(i) {
				sum[q] += float64(v) / float64(rows)
			}
		}
	})
	return &model.Gaussian{Anchors: a, Width: k.Width, Mean: linalg.Float32s(sum)}, err
}

// kernelFeatures makes a centred kernel from all the data, and the features of the training rows.
func kernelFeatures(
	ctx context.Context, all, rows *supervision.Data, width float64, o Options,
) (*model.Gaussian, features, error) {
	kernel, err := gaussianKernel(ctx, all.Source, all.Rows, width, o)
	if err != nil {
		return nil, features{}, err
	}
	k, err := readThrough(ctx, rows.Source, rows.Rows, o.Threads, kernel)
	return kernel, features{k, o.Threads}, err
}

// meanDistance returns the mean squared distance between rows of x and rows of a.
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
		d += float64((m - ma[j]) * (m - ma[j]))
	}
	return d, nil
}

// features is K, with multi-threaded products.
type features struct {
	K       vectors.Matrix
	Threads int
}

// forwardRows is the number of rows per turn. The sums of backward depend on it, so it is fixed.
const forwardRows = 128

// Times sets y = K a.
func (f features) Times(ctx context.Context, a, y []float64) error {
	single := linalg.Float32s(a)
	return par.Blocks(ctx, f.Threads, f.K.Rows, forwardRows, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			y[i] = linalg.Dot32(f.K.Row(i), single)
		}
	})
}

// transposeTimes sets a = K' y.
func (f features) transposeTimes(ctx context.Context, y, a []float64) error {
	single := linalg.Float32s(y)
	parts := make([][]float32, (f.K.Rows+forwardRows-1)/forwardRows)
	err := par.Blocks(ctx, f.Threads, f.K.Rows, forwardRows, func(b, lo, hi int) {
		parts[b] = make([]float32, f.K.Cols)
		for i := lo; i < hi; i++ {
			linalg.Axpy32(single[i], f.K.Row(i), parts[b])
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

// ridgeFactor factorises K'K with a ridge on its diagonal: the given share of the mean diagonal value, raised
// tenfold until single precision suffices.
func (f features) ridgeFactor(ctx context.Context, share float64) (*linalg.Cholesky, error) {
	m := f.K.Cols
	for {
		gram, err := linalg.TransposeProduct(ctx, f.Threads, f.K, f.K)
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
		c, err := linalg.NewCholesky(ctx, gram, m, share*trace/float64(m), f.Threads)
		if !errors.Is(err, linalg.ErrNotPositive) || share > 1 {
			return c, err
		}
		share *= 10
	}
}
