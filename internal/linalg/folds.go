// Cross-fitted ridge regression (Wolpert: Stacked Generalization, Neural Networks 1992): rows are in folds, and the
// answer for a row comes from the rows of the other folds.
//
// With z the vectors, y the targets (1 or 0), μ and ȳ their means over some folds of n rows together, where a row of
// weight a counts as a rows,
//
//	(Σ zz'/n - μμ' + λ s I) W = Σ zy'/n - μȳ',   bias = ȳ - W'μ,   s the mean variance of a column of z.
//
// All sums are kept by fold, so that any choice of folds is fitted, and the error of a fit in any fold is known,
// without another pass over the rows:
//
//	|y - W'z - bias|² over a fold = Σ|y|² - 2 Σ y(W'z + bias) + Σ|W'z + bias|²   in terms of Σzz', Σzy', Σz, Σy
//
// The penalty λ of fold k is the one of a few whose fits without k and j err least in j, summed over all j other than
// k: nothing of fold k's own targets is in its answers, not even through λ. That of all rows is chosen by all folds.
//
//	sums     one pass             n d² / 2 products
//	fits     K(K-1)/2 pairs of folds for each λ, then K + 1      d³/6 products each
//	memory   4 d² bytes for each fold

package linalg

import (
	"context"
	"errors"
	"math"

	"hashgrove/internal/gemm"
	"hashgrove/internal/par"
	"hashgrove/vectors"
)

// Folds is the sums over rows in folds.
type Folds struct {
	dim, targets, threads int

	parts []foldSums
}

// foldSums is the sums over the rows of one fold.
type foldSums struct {
	rows  float64 // what they count
	gram  *Gram
	sum   []float64 // Σz
	cross []float64 // Σzy', a row for each target
	count []float64 // Σy
	wait  vectors.Matrix
}

// Regression is a fit: answer t for z is Weight.Row(t) · z + Bias[t].
type Regression struct {
	Weight vectors.Matrix
	Bias   []float64
	Ridge  float64 // λ
}

// NewFolds is the sums over no rows yet.
func NewFolds(folds, dim, targets, threads int) *Folds {
	f := &Folds{dim: dim, targets: targets, threads: threads, parts: make([]foldSums, folds)}
	for k := range f.parts {
		f.parts[k] = foldSums{
			gram: NewGram(dim, threads), sum: make([]float64, dim), cross: make([]float64, targets*dim),
			count: make([]float64, targets), wait: vectors.Matrix{Cols: dim, Data: make([]float32, 0, GramRows*dim)},
		}
	}
	return f
}

// Add takes a row of a fold into account, whose targets are 1 at the given places and 0 elsewhere, as often as its
// weight says.
func (f *Folds) Add(ctx context.Context, fold int, z []float32, targets []int32, weight float64) error {
	p := &f.parts[fold]
	p.rows += weight
	for j, v := range z {
		p.sum[j] += float64(weight * float64(v))
	}
	for _, t := range targets {
		p.count[t] += weight
		cross := p.cross[int(t)*f.dim:][:f.dim]
		for j, v := range z {
			cross[j] += float64(weight * float64(v))
		}
	}
	p.wait.Data = append(p.wait.Data, z...)
	if root := float32(math.Sqrt(weight)); root != 1 {
		last := p.wait.Data[len(p.wait.Data)-len(z):]
		for j := range last {
			last[j] *= root
		}
	}
	if p.wait.Rows++; p.wait.Rows == GramRows {
		return p.flush(ctx)
	}
	return nil
}

// flush adds the products of the rows that wait.
func (p *foldSums) flush(ctx context.Context) error {
	if p.wait.Rows == 0 {
		return nil
	}
	err := p.gram.Add(ctx, MatrixView(p.wait))
	p.wait.Rows, p.wait.Data = 0, p.wait.Data[:0]
	return err
}

// CrossFit returns, for each fold, the fit to the others, and the fit to all. Every penalty is one of those given, for
// all rows; fits to fewer rows take them as they are.
func (f *Folds) CrossFit(ctx context.Context, penalties []float64) (each []Regression, all Regression, err error) {
	if len(f.parts) < 3 || len(penalties) == 0 {
		return nil, all, errors.New("cross-fitting needs three folds and a penalty")
	}
	for k := range f.parts {
		if err := f.parts[k].flush(ctx); err != nil {
			return nil, all, err
		}
		if f.parts[k].rows == 0 {
			return nil, all, errors.New("a fold without rows")
		}
	}
	wrong, err := f.errors(ctx, penalties)
	if err != nil {
		return nil, all, err
	}
	total := make([]float64, len(penalties))
	for k := range f.parts {
		for i, w := range wrong[k] {
			total[i] += w
		}
		r, err := f.fit(ctx, penalties[least(wrong[k])], k, k)
		if err != nil {
			return nil, all, err
		}
		each = append(each, r)
	}
	all, err = f.fit(ctx, penalties[least(total)], -1, -1)
	return each, all, err
}

// errors returns, for each fold k and penalty, the squared errors in the other folds j of the fits without k and j.
func (f *Folds) errors(ctx context.Context, penalties []float64) ([][]float64, error) {
	wrong := make([][]float64, len(f.parts))
	for k := range wrong {
		wrong[k] = make([]float64, len(penalties))
	}
	if len(penalties) == 1 {
		return wrong, nil
	}
	for k := range f.parts {
		for j := range k {
			for i, penalty := range penalties {
				r, err := f.fit(ctx, penalty, j, k)
				if err != nil {
					return nil, err
				}
				ofJ, err := f.parts[j].error(ctx, r, f.threads)
				if err != nil {
					return nil, err
				}
				ofK, err := f.parts[k].error(ctx, r, f.threads)
				if err != nil {
					return nil, err
				}
				wrong[k][i] += ofJ
				wrong[j][i] += ofK
			}
		}
	}
	return wrong, nil
}

// fit fits all folds but two, which may be the same one, or -1.
func (f *Folds) fit(ctx context.Context, penalty float64, without, and int) (Regression, error) {
	d, c, n := f.dim, f.targets, 0.0
	mean, rate, cross := make([]float64, d), make([]float64, c), make([]float64, c*d)
	var grams []vectors.Matrix
	for k := range f.parts {
		if k == without || k == and {
			continue
		}
		p := &f.parts[k]
		n += p.rows
		add(mean, p.sum)
		add(rate, p.count)
		add(cross, p.cross)
		grams = append(grams, p.gram.Lower())
	}
	share := 1 / n
	scale(mean, share)
	scale(rate, share)
	a := vectors.Matrix{Rows: d, Cols: d, Data: make([]float32, d*d)}
	err := par.Blocks(ctx, f.threads, d, 16, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			row := a.Row(i)
			for j := range i + 1 {
				sum := 0.0
				for _, g := range grams {
					sum += float64(g.Data[i*d+j])
				}
				row[j] = float32(float64(sum*share) - float64(mean[i]*mean[j]))
			}
		}
	})
	if err != nil {
		return Regression{}, err
	}
	trace := 0.0
	for i := range d {
		trace += float64(a.Data[i*d+i])
	}
	b := vectors.Matrix{Rows: d, Cols: c, Data: make([]float32, d*c)}
	for t := range c {
		for j, v := range cross[t*d : (t+1)*d] {
			b.Data[j*c+t] = float32(float64(v*share) - float64(mean[j]*rate[t]))
		}
	}
	if err := SolveRidge(ctx, f.threads, a, max(penalty*trace/float64(d), 1e-30), b); err != nil {
		return Regression{}, err
	}
	r := Regression{Weight: vectors.Matrix{Rows: c, Cols: d, Data: make([]float32, c*d)}, Bias: rate, Ridge: penalty}
	for t := range c {
		row := r.Weight.Row(t)
		for j := range row {
			row[j] = b.Data[j*c+t]
			r.Bias[t] -= float64(float64(row[j]) * mean[j])
		}
	}
	return r, nil
}

// error is the sum of the squared errors of a fit in the fold.
func (p *foldSums) error(ctx context.Context, r Regression, threads int) (float64, error) {
	c, d := r.Weight.Rows, r.Weight.Cols
	g := p.gram.Lower()
	// Of G, symmetric, only the lower triangle is there: w'Gw = 2 w'Lw - Σ w_j² G_jj.
	product := make([]float32, d*c)
	whole := vectors.Matrix{Rows: d, Cols: d, Data: make([]float32, d*d)}
	for i := range d {
		copy(whole.Row(i)[:i+1], g.Row(i)[:i+1])
	}
	err := gemm.Mul(ctx, threads, gemm.RowMajor(d, c, product), MatrixView(whole), MatrixView(r.Weight).T())
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

func add(dst, x []float64) {
	for i, v := range x {
		dst[i] += v
	}
}

func scale(x []float64, factor float64) {
	for i := range x {
		x[i] *= factor
	}
}

// least is the place of the least value, the first of equal ones.
func least(v []float64) int {
	at := 0
	for i := range v {
		if v[i] < v[at] {
			at = i
		}
	}
	return at
}
