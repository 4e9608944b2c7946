// Logistic regression with an L2 penalty over quantised columns; tuning.go chooses the penalty.
//
// With x_i the scaled bins of row i, s_i = W x_i + b its scores, y_i its targets (one class, or any tags),
//
//	f(W, b) = 1/n Σ_i loss(y_i, s_i) + λ/2 |W|²
//	classes   loss = log Σ_c exp(s_ic) - s_i,y_i               residue r_ic = p_ic - [c = y_i],   p softmax of s
//	tags      loss = Σ_c log(1 + exp(s_ic)) - Σ_c∈y_i s_ic     residue r_ic = p_ic - [c ∈ y_i],   p = 1 / (1 + exp(-s))
//	∂f/∂W     = 1/n Σ_i r_i x_i' + λW,   ∂f/∂b = 1/n Σ_i r_i
//
//	scores      X W'      a block of rows per turn       O(n · dim · classes)
//	residues    R         row by row                     O(n · classes)
//	gradient    R' X      a block of columns per turn    O(n · dim · classes)
//
// The columns stay bytes: 50,000 x 11,200 values take 560 MB. Each turn standardises a few of them; the
// sums of single-precision products over 256 terms are added up in double precision, in a fixed order.

package solve

import (
	"context"
	"math"

	"hashgrove/internal/model"
	"hashgrove/internal/numeric/gemm"
	"hashgrove/internal/numeric/linalg"
	"hashgrove/internal/numeric/portable"
	"hashgrove/internal/par"
	"hashgrove/internal/vectors"
)

// logistic is f for the columns x.
type logistic struct {
	x       *vectors.Columns
	y       Targets
	penalty float64 // λ
	threads int

	out  []bool  // rows held out: they have a loss but no residue; nil for none
	kept int     // rows that are not held out
	held float64 // loss of those that are, at the place moved to last

	mean, spread []float64 // of the bins of every column
	scale        []float64 // x_ij = (bin - mean_j) scale_j; 0 where a column is constant
	mean32       []float32
	scale32      []float32
	w            []float64 // the place: classes rows of dim weights, then the classes values of b
	score        []float32 // n x classes; the residues after residues
}

const (
	logisticSide  = 96  // rows of a turn of scores, columns of a turn of gradient: whole tiles of the kernel
	logisticDepth = 256 // terms of a sum in single precision
)

func newLogistic(ctx context.Context, x *vectors.Columns, y Targets, penalty float64, threads int) (*logistic, error) {
	f := &logistic{
		x: x, y: y, penalty: penalty, threads: threads,
		kept: x.Rows, mean: make([]float64, x.Dim()), spread: make([]float64, x.Dim()),
		score: make([]float32, x.Rows*y.Classes),
	}
	err := par.For(ctx, threads, x.Dim(), func(j int) {
		var sum, squares uint64
		for _, b := range x.Column(j) {
			sum += uint64(b)
			squares += uint64(b) * uint64(b)
		}
		n := float64(x.Rows)
		f.mean[j] = float64(sum) / n
		if v := float64(squares)/n - float64(f.mean[j]*f.mean[j]); v > 1e-9 {
			f.spread[j] = math.Sqrt(v)
		}
	})
	f.mean32 = linalg.Float32s(f.mean)
	f.rescale(ScaleEach)
	return f, err
}

// rescale scales each column to variance 1, or all by one factor to a mean variance of 1. It returns false if that
// is impossible: no column varies, or values are near the limits of float32.
func (f *logistic) rescale(s Scaling) bool {
	f.scale = make([]float64, len(f.spread))
	sum, used := 0.0, 0.0
	for j, v := range f.spread {
		if v > 0 {
			size := v * f.width(j)
			sum += float64(size * size)
			used++
		}
	}
	for j, v := range f.spread {
		switch {
		case v == 0:
		case s == ScaleAlike:
			f.scale[j] = f.width(j) * math.Sqrt(used/sum)
		default:
			f.scale[j] = 1 / v
		}
	}
	f.scale32 = linalg.Float32s(f.scale)
	return s != ScaleAlike || sum > 0 && !math.IsInf(sum, 0)
}

// width returns the width of a bin of column j in the units of its values.
func (f *logistic) width(j int) float64 {
	return (float64(f.x.Hi[j]) - float64(f.x.Lo[j])) / (vectors.Bins - 1)
}

// variables returns the number of entries of W and b.
func (f *logistic) variables() int { return (f.x.Dim() + 1) * f.y.Classes }

// value implements smooth.
func (f *logistic) value(ctx context.Context, w []float64) (float64, error) {
	f.w = append(f.w[:0], w...)
	if err := f.scores(ctx); err != nil {
		return 0, err
	}
	loss, err := f.residues(ctx)
	if err != nil {
		return 0, err
	}
	weights := w[:f.x.Dim()*f.y.Classes]
	return loss/float64(f.kept) + float64(f.penalty/2*linalg.Dot(weights, weights)), nil
}

// scores sets score = X W' + b.
func (f *logistic) scores(ctx context.Context) error {
	n, dim, classes := f.x.Rows, f.x.Dim(), f.y.Classes
	factor := parts(gemm.RowMajor(classes, dim, linalg.Float32s(f.w[:dim*classes])).T())
	return par.Blocks(ctx, f.threads, n, logisticSide, func(_, lo, hi int) {
		var column [logisticDepth][]uint8
		rows, sum := make([]float32, (hi-lo)*logisticDepth), make([]float64, 0, (hi-lo)*classes)
		for range hi - lo {
			sum = append(sum, f.w[dim*classes:]...)
		}
		for p, right := range factor {
			first := p * logisticDepth
			k := min(logisticDepth, dim-first)
			for j := range k {
				column[j] = f.x.Column(first + j)[lo:hi]
			}
			mean, scale := f.mean32[first:first+k], f.scale32[first:first+k]
			for i := range hi - lo {
				row := rows[i*k : (i+1)*k]
				for j, m := range mean {
					row[j] = (float32(column[j][i]) - m) * scale[j]
				}
			}
			addProduct(sum, gemm.RowMajor(hi-lo, k, rows), right)
		}
		for i, v := range sum {
			f.score[lo*classes+i] = float32(v)
		}
	})
}

// parts lays out a right factor in parts of logisticDepth rows.
func parts(v gemm.View) (list []*gemm.Right) {
	for lo := 0; lo < v.Rows; lo += logisticDepth {
		part := v
		part.Rows, part.Data = min(logisticDepth, v.Rows-lo), v.Data[lo*v.RowStep:]
		list = append(list, gemm.PackRight(part))
	}
	return list
}

// addProduct adds the product of some rows and a part of the right factor to sum.
func addProduct(sum []float64, rows gemm.View, right *gemm.Right) {
	product := gemm.RowMajor(rows.Rows, len(sum)/rows.Rows, make([]float32, len(sum)))
	// With one thread and a background context there is no error.
	_ = gemm.MulRight(context.Background(), 1, product, rows, right)
	for i, v := range product.Data {
		sum[i] += float64(v)
	}
}

// residues turns scores into residues and returns the sum of the losses of the rows that are not held out.
func (f *logistic) residues(ctx context.Context) (float64, error) {
	const block = 1024
	classes := f.y.Classes
	loss := make([]float64, (f.x.Rows+block-1)/block)
	held := make([]float64, len(loss))
	err := par.Blocks(ctx, f.threads, f.x.Rows, block, func(b, lo, hi int) {
		for i := lo; i < hi; i++ {
			s := f.score[i*classes : (i+1)*classes]
			own := 0.0
			for _, c := range f.y.Row(i) {
				own -= float64(s[c])
			}
			if f.y.Several {
				own += sigmoids(s)
			} else {
				own += softmax(s)
			}
			if f.out != nil && f.out[i] {
				held[b] += own
				clear(s)
				continue
			}
			loss[b] += own
			for _, c := range f.y.Row(i) {
				s[c]--
			}
		}
	})
	sum := 0.0
	f.held = 0
	for b, v := range loss {
		sum += v
		f.held += held[b]
	}
	return sum, err
}

// softmax turns scores into probabilities and returns the logarithm of the sum of their exponentials.
func softmax(s []float32) float64 {
	top := s[0]
	for _, v := range s {
		top = max(top, v)
	}
	sum := 0.0
	for c, v := range s {
		e := portable.ExpBelowZero(float64(v - top))
		sum += e
		s[c] = float32(e)
	}
	for c, e := range s {
		s[c] = float32(float64(e) / sum)
	}
	return float64(top) + portable.PreciseLn(sum)
}

// sigmoids turns each score into a probability and returns the sum of log(1 + exp(s)).
func sigmoids(s []float32) float64 {
	sum, product := 0.0, 1.0
	for c, v := range s {
		e := portable.ExpBelowZero(-math.Abs(float64(v)))
		sum += max(0, float64(v))
		if product *= 1 + e; product > 1e100 { // one logarithm for many factors of at most 2
			sum += portable.PreciseLn(product)
			product = 1
		}
		if v < 0 {
			s[c] = float32(e / (1 + e))
		} else {
			s[c] = float32(1 / (1 + e))
		}
	}
	return sum + portable.PreciseLn(product)
}

// gradient implements smooth.
func (f *logistic) gradient(ctx context.Context, g []float64) error {
	n, dim, classes := f.x.Rows, f.x.Dim(), f.y.Classes
	factor := parts(gemm.RowMajor(n, classes, f.score))
	err := par.Blocks(ctx, f.threads, dim, logisticSide, func(_, lo, hi int) {
		rows, sum := make([]float32, (hi-lo)*logisticDepth), make([]float64, (hi-lo)*classes)
		for p, right := range factor {
			first := p * logisticDepth
			k := min(logisticDepth, n-first)
			for j := lo; j < hi; j++ {
				m, s, row := f.mean32[j], f.scale32[j], rows[(j-lo)*k:][:k]
				for i, b := range f.x.Column(j)[first : first+k] {
					row[i] = (float32(b) - m) * s
				}
			}
			addProduct(sum, gemm.RowMajor(hi-lo, k, rows), right)
		}
		for j := lo; j < hi; j++ {
			for c := range classes {
				g[c*dim+j] = sum[(j-lo)*classes+c]/float64(f.kept) + float64(f.penalty*f.w[c*dim+j])
			}
		}
	})
	bias := g[dim*classes:]
	clear(bias)
	for i, r := range f.score {
		bias[i%classes] += float64(r) / float64(f.kept)
	}
	return err
}

// affine returns the scores at w as a map of raw values: a bin is nearly (x - lo) · perUnit, so (bin - mean) scale =
// (x - (lo + mean / perUnit)) · perUnit · scale.
func (f *logistic) affine(w []float64) *model.Affine {
	dim, classes := f.x.Dim(), f.y.Classes
	a := &model.Affine{
		Weight: vectors.Matrix{Rows: classes, Cols: dim, Data: make([]float32, classes*dim)},
		Mean:   make([]float32, dim), Scale: make([]float32, dim), Bias: linalg.Float32s(w[dim*classes:]),
	}
	for j := range dim {
		perUnit := 1 / f.width(j)
		a.Mean[j] = float32(float64(f.x.Lo[j]) + f.mean[j]/perUnit)
		a.Scale[j] = float32(min(perUnit*f.scale[j], math.MaxFloat32))
	}
	copy(a.Weight.Data, linalg.Float32s(w[:dim*classes]))
	return a
}
