// Cross-fitted ridge regression with more rows than columns: all sums are kept by fold, so that any choice of folds can
// be fitted, and the error of a fit in any fold computed, without another pass over the rows:
//
//	|y - W'z - bias|² over a fold = Σ|y|² - 2 Σ y(W'z + bias) + Σ|W'z + bias|²   in terms of Σzz', Σzy', Σz, Σy
//
// The sums of the folds of a system are added up once for all penalties.

package linalg

import (
	"context"
	"math"

	"hashgrove/internal/numeric/gemm"
	"hashgrove/internal/par"
	"hashgrove/internal/vectors"
)

// foldSums holds the sums over the rows of each fold.
type foldSums struct {
	dim, targets, threads int

	parts []foldSum
}

// foldSum holds the sums over the rows of one fold.
type foldSum struct {
	rows  float64 // what they count
	gram  *Gram
	sum   []float64 // Σz
	cross []float64 // Σzy', a row for each target
	count []float64 // Σy
	wait  waiting
}

// waiting holds rows that are not yet in the sums.
type waiting struct {
	z       vectors.Matrix
	weight  []float64
	targets []int32 // of all rows, back to back
	ends    []int   // where those of each row end
}

// newFoldSums returns empty sums.
func newFoldSums(folds, dim, targets, threads int) *foldSums {
	f := &foldSums{dim: dim, targets: targets, threads: threads, parts: make([]foldSum, folds)}
	for k := range f.parts {
		f.parts[k] = foldSum{
			gram: NewGram(dim, threads), sum: make([]float64, dim), cross: make([]float64, targets*dim),
			count: make([]float64, targets),
			wait:  waiting{z: vectors.Matrix{Cols: dim, Data: make([]float32, 0, GramRows*dim)}},
		}
	}
	return f
}

// add adds a row.
func (f *foldSums) add(ctx context.Context, r foldRow) error {
	p := &f.parts[r.fold]
	p.rows += r.weight
	for _, t := range r.targets {
		p.count[t] += r.weight
	}
	w := &p.wait
	w.z.Rows, w.z.Data, w.weight = w.z.Rows+1, append(w.z.Data, r.z...), append(w.weight, r.weight)
	w.targets = append(w.targets, r.targets...)
	w.ends = append(w.ends, len(w.targets))
	if len(w.weight) == GramRows {
		return p.flush(ctx, f.threads)
	}
	return nil
}

// sumColumns is the number of columns whose sums one thread takes, row after row.
const sumColumns = 32

// flush adds the waiting rows to the sums.
func (p *foldSum) flush(ctx context.Context, threads int) error {
	w, d := &p.wait, p.wait.z.Cols
	err := par.Blocks(ctx, threads, d, sumColumns, func(_, lo, hi int) {
		sum, first := p.sum[lo:hi], 0
		for i, weight := range w.weight {
			z := w.z.Row(i)[lo:hi]
			addWeighted(sum, weight, z)
			for _, t := range w.targets[first:w.ends[i]] {
				addWeighted(p.cross[int(t)*d+lo:][:hi-lo], weight, z)
			}
			first = w.ends[i]
			if root := float32(math.Sqrt(weight)); root != 1 {
				for j := range z {
					z[j] *= root
				}
			}
		}
	})
	if err == nil && w.z.Rows > 0 {
		err = p.gram.Add(ctx, MatrixView(w.z))
	}
	*w = waiting{vectors.Matrix{Cols: d, Data: w.z.Data[:0]}, w.weight[:0], w.targets[:0], w.ends[:0]}
	return err
}

// addWeighted adds a row to a sum.
func addWeighted(sum []float64, weight float64, z []float32) {
	sum = sum[:len(z)]
	for j, v := range z {
		sum[j] += float64(weight * float64(v))
	}
}

// finish flushes all folds.
func (f *foldSums) finish(ctx context.Context) error {
	for k := range f.parts {
		if err := f.parts[k].flush(ctx, f.threads); err != nil {
			return err
		}
	}
	return nil
}

// foldSystem is the ridge system of some folds, for any penalty.
type foldSystem struct {
	a, b       vectors.Matrix
	mean, rate []float64
	variance   float64 // mean of a column
	factor     *ridge  // nil before the first penalty
}

// system adds up the sums.
func (f *foldSums) system(ctx context.Context, threads, without, and int) (ridgeSystem, error) {
	d, c, n := f.dim, f.targets, 0.0
	s := &foldSystem{mean: make([]float64, d), rate: make([]float64, c),
		a: vectors.Matrix{Rows: d, Cols: d, Data: make([]float32, d*d)},
		b: vectors.Matrix{Rows: d, Cols: c, Data: make([]float32, d*c)}}
	cross := make([]float64, c*d)
	var grams []vectors.Matrix
	for k := range f.parts {
		if k == without || k == and {
			continue
		}
		p := &f.parts[k]
		n += p.rows
		add(s.mean, p.sum)
		add(s.rate, p.count)
		add(cross, p.cross)
		grams = append(grams, p.gram.Lower())
	}
	share := 1 / n
	scale(s.mean, share)
	scale(s.rate, share)
	const some = 32 // rows that are worth a turn
	err := par.Blocks(ctx, threads, d, some, func(_, lo, hi int) {
		sum := make([]float64, hi)
		for i := lo; i < hi; i++ {
			sum := sum[:i+1]
			clear(sum)
			for _, g := range grams {
				for j, v := range g.Row(i)[:len(sum)] {
					sum[j] += float64(v)
				}
			}
			row, m := s.a.Row(i), s.mean[i]
			for j, v := range sum {
				row[j] = float32(float64(v*share) - float64(m*s.mean[j]))
			}
		}
	})
	trace := 0.0
	for i := range d {
		trace += float64(s.a.Row(i)[i])
	}
	s.variance = trace / float64(d)
	for t := range c {
		for j, v := range cross[t*d : (t+1)*d] {
			s.b.Data[j*c+t] = float32(float64(v*share) - float64(s.mean[j]*s.rate[t]))
		}
	}
	return s, err
}

// factorFor returns the factor of a matrix with a penalty added, reusing the memory of before, if any.
func factorFor(ctx context.Context, threads int, a vectors.Matrix, lambda float64, before *ridge) (*ridge, error) {
	lambda = max(lambda, 1e-30)
	if before != nil {
		_, err := before.again(ctx, lambda)
		return before, err
	}
	r, _, err := newRidge(ctx, threads, a, lambda)
	return r, err
}

func copied(x vectors.Matrix) vectors.Matrix {
	x.Data = append([]float32(nil), x.Data...)
	return x
}

func (s *foldSystem) solve(ctx context.Context, threads int, penalty float64) (r Regression, err error) {
	if s.factor, err = factorFor(ctx, threads, s.a, penalty*s.variance, s.factor); err != nil {
		return r, err
	}
	b := copied(s.b)
	if err := s.factor.solve(ctx, b); err != nil {
		return r, err
	}
	c, d := b.Cols, b.Rows
	r = Regression{Weight: vectors.Matrix{Rows: c, Cols: d, Data: make([]float32, c*d)}, Ridge: penalty,
		Bias: append([]float64(nil), s.rate...)}
	for t := range c {
		row := r.Weight.Row(t)
		for j := range row {
			row[j] = b.Data[j*c+t]
			r.Bias[t] -= float64(float64(row[j]) * s.mean[j])
		}
	}
	return r, nil
}

func (f *foldSums) weigh(_ context.Context, _ int, r Regression) (Regression, error) { return r, nil }

func (f *foldSums) error(ctx context.Context, threads int, r Regression, fold int) (float64, error) {
	p := &f.parts[fold]
	c, d := r.Weight.Rows, r.Weight.Cols
	g := p.gram.Lower()
	// Only the lower triangle of the symmetric G is stored: w'Gw = 2 w'Lw - Σ w_j² G_jj.
	product := make([]float32, d*c)
	const some = 240 // rows, whose values beyond the diagonal are left out
	err := par.Blocks(ctx, threads, d, some, func(_, lo, hi int) {
		left := gemm.View{Rows: hi - lo, Cols: hi, RowStep: d, ColStep: 1, Data: g.Data[lo*d:]}
		right := gemm.View{Rows: hi, Cols: c, RowStep: 1, ColStep: d, Data: r.Weight.Data}
		// With one thread and a background context there is no error.
		_ = gemm.Mul(context.Background(), 1, gemm.RowMajor(hi-lo, c, product[lo*c:]), left, right)
	})
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for t := range c {
		w, bias := r.Weight.Row(t), r.Bias[t]
		square, along, with := 0.0, 0.0, 0.0
		for j, v := range w {
			v := float64(v)
			square += float64(v * (float64(2*float64(product[j*c+t])) - float64(v*float64(g.Data[j*d+j]))))
			along += float64(v * p.sum[j])
			with += float64(v * p.cross[t*d+j])
		}
		sum += p.count[t] - float64(2*(with+float64(bias*p.count[t]))) +
			square + float64(2*float64(bias*along)) + float64(float64(bias*bias)*p.rows)
	}
	return sum, nil
}
