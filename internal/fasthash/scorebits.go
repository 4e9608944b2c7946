package fasthash

import (
	"context"
	"math"

	"hashgrove/internal/model"
	"hashgrove/internal/numeric/linalg"
	"hashgrove/internal/vectors"
)

// The learner Scores predicts a bit without trees, from how much a row looks like each class: p_t(x) of class or tag t,
// a score of package columns (columns/classes.go),
//
//	h_k(x) = sign(sum over t of c_kt p_t(x))          c_kt the mean of the bit z_k over the rows of class t
//
// Trees need many rows to learn what a class looks like, and learn it again for every bit. Here all rows of a class
// teach one score that all bits share, so with few rows a class, or with many classes, this predicts bits better.
// For tags, the weights c_k are those of ridge regression of z_k on the scores. Step 1 gives all classes the same
// weight, so that the codes of rare ones are as far from others as those of frequent ones.
//
// Cost of a bit: the rows once for classes, rows times tags and tags² products for tags.

// bitRidge is the penalty of the weights of tags, in mean squares of a column.
const bitRidge = 0.01

// scoreFitter fits bits to columns of scores.
type scoreFitter struct {
	x      *vectors.Columns
	class  []int32          // of each row, the number of its column; nil for tags
	factor *linalg.Cholesky // of tags
	mean   []float64
}

// newScoreFitter returns the fitter of rows; without classes it regresses bits on the columns.
func newScoreFitter(ctx context.Context, x *vectors.Columns, class []int32, threads int) (*scoreFitter, error) {
	f := &scoreFitter{x: x, class: class}
	if class != nil {
		return f, nil
	}
	n := x.Dim()
	f.mean = make([]float64, n)
	column := make([][]float64, n)
	trace := 0.0
	for j := range n {
		column[j] = make([]float64, x.Rows)
		sum := 0
		for _, b := range x.Column(j) {
			sum += int(b)
		}
		f.mean[j] = float64(sum) / float64(x.Rows)
		for i, b := range x.Column(j) {
			column[j][i] = float64(f.step(j) * (float64(b) - f.mean[j]))
		}
		trace += linalg.Dot(column[j], column[j])
	}
	a := make([]float64, n*n)
	for i := range n {
		for j := range i + 1 {
			a[i*n+j] = linalg.Dot(column[i], column[j])
		}
	}
	var err error
	f.factor, err = linalg.NewCholesky(ctx, a, n, max(bitRidge*trace/float64(n), 1e-30), threads)
	return f, err
}

// step returns the width of a bin of column j.
func (f *scoreFitter) step(j int) float64 {
	return (float64(f.x.Hi[j]) - float64(f.x.Lo[j])) / (vectors.Bins - 1)
}

// fit fits a bit.
func (f *scoreFitter) fit(ctx context.Context, z []int8, _ []float64) (*model.Linear, error) {
	code, bias := make([]float64, f.x.Dim()), 0.0
	if f.class != nil {
		f.classMeans(z, code)
	} else if err := f.regress(ctx, z, code, &bias); err != nil {
		return nil, err
	}
	return f.hyperplane(code, bias), nil
}

// classMeans sets the mean of the bit over the rows of each class.
func (f *scoreFitter) classMeans(z []int8, code []float64) {
	count := make([]float64, len(code))
	for i, k := range f.class {
		code[k] += float64(z[i])
		count[k]++
	}
	for k, n := range count {
		code[k] /= max(n, 1)
	}
}

// regress sets the weights of ridge regression of the bit.
func (f *scoreFitter) regress(ctx context.Context, z []int8, code []float64, bias *float64) error {
	middle := 0
	for _, v := range z {
		middle += int(v)
	}
	mean := float64(middle) / float64(len(z))
	for j := range code {
		sum := 0
		for i, b := range f.x.Column(j) {
			sum += int(b) * int(z[i])
		}
		code[j] = float64(f.step(j) * (float64(sum) - float64(f.mean[j]*float64(middle))))
	}
	if err := f.factor.Solve(ctx, code, 1); err != nil {
		return err
	}
	*bias = mean
	for j, c := range code { // of values, not of values less their mean
		*bias -= float64(c * (float64(f.x.Lo[j]) + float64(f.step(j)*f.mean[j])))
	}
	return nil
}

// weightUnit is the weight of a bin of the widest column if its class has the code 1: all bits have the same unit, so
// that their margins can be compared.
const weightUnit = 1 << 20

// hyperplane returns the function sign(bias + sum of code_t v_t) of the bins of the columns.
func (f *scoreFitter) hyperplane(code []float64, bias float64) *model.Linear {
	widest := 0.0
	for j := range code {
		widest = max(widest, f.step(j))
	}
	unit := weightUnit / widest
	const limit = 1 << 30
	h := &model.Linear{Weight: make([]int32, len(code))}
	sum := float64(bias * unit)
	for j, c := range code {
		sum += float64(float64(c*unit) * float64(f.x.Lo[j]))
		h.Weight[j] = int32(math.Round(min(max(float64(c*unit)*f.step(j), -limit), limit)))
	}
	h.Bias = int64(math.Round(min(max(sum, -1<<60), 1<<60)))
	return h
}
