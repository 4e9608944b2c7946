// Cross-fitted ridge regression (Wolpert: Stacked Generalization, Neural Networks 1992): rows are in folds, and the
// answer for a row comes from the rows of the other folds.
//
// With z the vectors, y the targets (1 or 0), μ and ȳ their means over some folds of n rows together, where a row of
// weight a counts as a rows,
//
//	(Σ zz'/n - μμ' + λ s I) W = Σ zy'/n - μȳ',   bias = ȳ - W'μ,   s the mean variance of a column of z.
//
// The penalty λ of fold k is the candidate whose fits without k and j have the least error in j, summed over all j
// other than k: nothing of fold k's own targets is in its answers, not even through λ. The penalty of the fit to all
// rows is chosen by all folds. With more than ManyColumns columns, where a fit takes a second, j is only the fold that
// is paired with k: 0 and 1, 2 and 3, ..., and the last with 0 if their number is odd.
//
// Up to d rows of d columns are kept, and the systems have an equation for each row (foldrows.go). With more rows only
// sums are kept, and the systems have an equation for each column (foldsums.go).
//
//	sums     one pass             n d min(n, d) / 2 products
//	fits     K(K-1)/2 pairs of folds for each λ, or about K/2, then K + 1      min(n, d)³/6 products each
//	memory   4 d² bytes for each fold, or of the rows; as much for each thread while it fits

package linalg

import (
	"context"
	"errors"

	"hashgrove/internal/par"
	"hashgrove/internal/vectors"
)

// Folds holds rows in folds, or the sums over them.
type Folds struct {
	dim, targets, threads int

	weight []float64 // of each fold: what its rows count
	rows   []foldRow // nil once there are more than d
	sums   *foldSums // nil until then
}

// foldRow is a row with its fold, weight and targets.
type foldRow struct {
	z       []float32
	fold    int
	targets []int32
	weight  float64
}

// crossFitter makes systems and uses their fits, on some threads. These do not change a bit of the results.
type crossFitter interface {
	// system returns the system of all folds but two, which may be equal, or -1 for none.
	system(ctx context.Context, threads, without, and int) (ridgeSystem, error)
	// error returns the sum of the squared errors of a fit in a fold.
	error(ctx context.Context, threads int, r Regression, fold int) (float64, error)
	// weigh turns a fit to what a system knows of the rows into one to the rows.
	weigh(ctx context.Context, threads int, r Regression) (Regression, error)
}

// ridgeSystem is the system of some folds.
type ridgeSystem interface {
	solve(ctx context.Context, threads int, penalty float64) (Regression, error)
}

// Regression is a fit: answer t for z is Weight.Row(t) · z + Bias[t].
type Regression struct {
	Weight vectors.Matrix
	Bias   []float64
	Ridge  float64 // λ
}

// NewFolds returns folds without rows.
func NewFolds(folds, dim, targets, threads int) *Folds {
	return &Folds{dim: dim, targets: targets, threads: threads, weight: make([]float64, folds)}
}

// Add adds a row with a weight to a fold. Its targets are 1 at the given indices and 0 elsewhere.
func (f *Folds) Add(ctx context.Context, fold int, z []float32, targets []int32, weight float64) error {
	f.weight[fold] += weight
	row := foldRow{z, fold, targets, weight}
	if f.sums != nil {
		return f.sums.add(ctx, row)
	}
	if len(f.rows) < f.dim {
		row.z, row.targets = append([]float32(nil), z...), append([]int32(nil), targets...)
		f.rows = append(f.rows, row)
		return nil
	}
	f.sums = newFoldSums(len(f.weight), f.dim, f.targets, f.threads)
	for _, early := range f.rows {
		if err := f.sums.add(ctx, early); err != nil {
			return err
		}
	}
	f.rows = nil
	return f.sums.add(ctx, row)
}

// CrossFit returns, for each fold, the fit to the others, and the fit to all. Penalties are relative to all rows;
// fits to fewer rows use them unchanged.
func (f *Folds) CrossFit(ctx context.Context, penalties []float64) (each []Regression, all Regression, err error) {
	if len(penalties) == 0 {
		return nil, all, errors.New("cross-fitting needs a penalty")
	}
	folds := len(f.weight)
	by, err := f.fitter(ctx)
	if err != nil {
		return nil, all, err
	}
	wrong, err := f.errors(ctx, by, penalties)
	if err != nil {
		return nil, all, err
	}
	total := make([]float64, len(penalties))
	for k := range wrong {
		add(total, wrong[k])
	}
	each = make([]Regression, folds+1)
	fails := make([]error, folds+1)
	threads := f.share(folds + 1)
	wrong = append([][]float64{total}, wrong...) // all folds first: they have the most rows
	err = par.For(ctx, f.threads, folds+1, func(k int) {
		s, err := by.system(ctx, threads, k-1, k-1)
		if err == nil {
			each[k], err = s.solve(ctx, threads, penalties[least(wrong[k])])
		}
		if err == nil {
			each[k], err = by.weigh(ctx, threads, each[k])
		}
		fails[k] = err
	})
	if err = errors.Join(append(fails, err)...); err != nil {
		return nil, all, err
	}
	return each[1:], each[0], nil
}

// fitter returns the systems of the rows added so far, which must be all.
func (f *Folds) fitter(ctx context.Context) (crossFitter, error) {
	if len(f.weight) < 3 {
		return nil, errors.New("cross-fitting needs three folds")
	}
	for _, w := range f.weight {
		if w == 0 {
			return nil, errors.New("a fold without rows")
		}
	}
	if f.sums == nil {
		return newFoldKernel(ctx, f)
	}
	return f.sums, f.sums.finish(ctx)
}

// errors returns, for each fold k and penalty, the squared errors in the other folds j of the fits without k and j.
func (f *Folds) errors(ctx context.Context, by crossFitter, penalties []float64) ([][]float64, error) {
	wrong := make([][]float64, len(f.weight))
	for k := range wrong {
		wrong[k] = make([]float64, len(penalties))
	}
	if len(penalties) == 1 {
		return wrong, nil
	}
	pairs := f.pairs()
	found, fails := make([][2][]float64, len(pairs)), make([]error, len(pairs))
	threads := f.share(len(pairs))
	err := par.For(ctx, f.threads, len(pairs), func(i int) {
		found[i], fails[i] = pairErrors(ctx, by, threads, penalties, pairs[i])
	})
	if err = errors.Join(append(fails, err)...); err != nil {
		return nil, err
	}
	for i, p := range pairs {
		add(wrong[p[1]], found[i][0])
		add(wrong[p[0]], found[i][1])
	}
	return wrong, nil
}

// pairErrors returns the squared errors in both folds of a pair of the fits without them, for each penalty.
func pairErrors(
	ctx context.Context, by crossFitter, threads int, penalties []float64, pair [2]int,
) (found [2][]float64, err error) {
	s, err := by.system(ctx, threads, pair[0], pair[1])
	if err != nil {
		return found, err
	}
	for _, penalty := range penalties {
		r, err := s.solve(ctx, threads, penalty)
		if err != nil {
			return found, err
		}
		for side, fold := range pair {
			e, err := by.error(ctx, threads, r, fold)
			if err != nil {
				return found, err
			}
			found[side] = append(found[side], e)
		}
	}
	return found, nil
}

// share returns how many threads each of some systems gets that are solved at the same time, rounded up: a few more
// threads than cores leave no core without work.
func (f *Folds) share(systems int) int { return (par.Threads(f.threads) + systems - 1) / systems }

// ManyColumns is the number of equations above which few pairs of folds are tried.
const ManyColumns = 1024

// pairs returns the pairs of folds that choose penalties.
func (f *Folds) pairs() (list [][2]int) {
	folds := len(f.weight)
	if f.sums != nil && f.dim > ManyColumns || f.sums == nil && len(f.rows) > ManyColumns {
		for k := 1; k < folds; k += 2 {
			list = append(list, [2]int{k - 1, k})
		}
		if folds%2 == 1 {
			list = append(list, [2]int{0, folds - 1})
		}
		return list
	}
	for k := range folds {
		for j := range k {
			list = append(list, [2]int{j, k})
		}
	}
	return list
}

// Errors returns, for each penalty, the squared errors of all rows tried by fits that do not see them, per weight of
// a row.
func (f *Folds) Errors(ctx context.Context, penalties []float64) ([]float64, error) {
	by, err := f.fitter(ctx)
	if err != nil {
		return nil, err
	}
	wrong, err := f.errors(ctx, by, penalties)
	if err != nil {
		return nil, err
	}
	total, tried := make([]float64, len(penalties)), 0.0
	for k := range wrong {
		add(total, wrong[k])
	}
	for _, p := range f.pairs() {
		tried += f.weight[p[0]] + f.weight[p[1]]
	}
	scale(total, 1/tried)
	return total, nil
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

// least returns the index of the smallest value, the first of equal ones.
func least(v []float64) int {
	at := 0
	for i := range v {
		if v[i] < v[at] {
			at = i
		}
	}
	return at
}
