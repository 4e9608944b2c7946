// Cross-fitted ridge regression with no more rows than columns (Saunders, Gammerman, Vovk: Ridge Regression Learning
// Algorithm in Dual Variables, ICML 1998). Weights are sums of rows, W = Σ γ_i z_i, so only products of rows matter:
//
//	k_ij = z_i · z_j                            of all rows, once
//	m_i  = a_i / n                              for rows i of the folds of a fit; a_i the weight, n = Σ a_i
//	r_i  = Σ m_j k_ij,   g = Σ m_i r_i
//	(√m_i √m_j (k_ij - r_i - r_j + g) + λ s I) β = √m_i (y_i - ȳ)
//	α_i  = √m_i β_i,   γ_i = α_i - m_i Σ α,   bias = ȳ - Σ γ_i r_i
//
// and the answer for row q is bias + Σ γ_i k_qi. The matrix is that of foldsums.go with its factors swapped, so both
// have the same trace, and s is the trace / d.
//
// The mean is subtracted from the rows before they are multiplied, which the bias compensates: that keeps the sums in
// single precision small.

package linalg

import (
	"cmp"
	"context"
	"math"
	"slices"

	"hashgrove/internal/numeric/gemm"
	"hashgrove/internal/vectors"
)

// foldKernel holds the products of rows, which are ordered by fold.
type foldKernel struct {
	targets int
	rows    []foldRow
	start   []int          // fold k is rows start[k] to start[k+1]
	mean    []float32      // of all rows
	z       vectors.Matrix // rows less the mean
	k       vectors.Matrix
}

const kernelDepth = 256 // columns of one product

// newFoldKernel multiplies the rows with each other.
func newFoldKernel(ctx context.Context, f *Folds) (*foldKernel, error) {
	k := &foldKernel{targets: f.targets, rows: slices.Clone(f.rows), start: make([]int, len(f.weight)+1)}
	slices.SortStableFunc(k.rows, func(a, b foldRow) int { return cmp.Compare(a.fold, b.fold) })
	n, d := len(k.rows), f.dim
	sum := make([]float64, d)
	for _, r := range k.rows {
		k.start[r.fold+1]++
		for j, v := range r.z {
			sum[j] += float64(v)
		}
	}
	for fold := range f.weight {
		k.start[fold+1] += k.start[fold]
	}
	scale(sum, 1/float64(n))
	k.mean = Float32s(sum)
	k.z = vectors.Matrix{Rows: n, Cols: d}
	for _, r := range k.rows {
		for j, v := range r.z {
			k.z.Data = append(k.z.Data, v-k.mean[j])
		}
	}
	gram := NewGram(n, f.threads)
	for lo := 0; lo < d; lo += kernelDepth {
		part := gemm.View{Rows: min(kernelDepth, d-lo), Cols: n, RowStep: 1, ColStep: d, Data: k.z.Data[lo:]}
		if err := gram.Add(ctx, part); err != nil {
			return nil, err
		}
	}
	k.k = gram.Lower()
	for i := range n {
		for j := range i {
			k.k.Data[j*n+i] = k.k.Data[i*n+j]
		}
	}
	return k, nil
}

// kernelSystem is the ridge system of some folds, for any penalty.
type kernelSystem struct {
	*foldKernel
	list        []int // rows
	a, b        vectors.Matrix
	share, with []float64 // m and r of the rows in the list
	rate        []float64
	variance    float64 // mean of a column
	factor      *ridge  // nil before the first penalty
}

// system centres the products.
func (f *foldKernel) system(_ context.Context, _, without, and int) (ridgeSystem, error) {
	s := &kernelSystem{foldKernel: f, rate: make([]float64, f.targets)}
	total := 0.0
	for i, r := range f.rows {
		if r.fold != without && r.fold != and {
			s.list = append(s.list, i)
			total += r.weight
		}
	}
	n, c := len(s.list), f.targets
	s.share, s.with = make([]float64, n), make([]float64, n)
	for i, row := range s.list {
		s.share[i] = f.rows[row].weight / total
		for _, t := range f.rows[row].targets {
			s.rate[t] += s.share[i]
		}
	}
	middle := 0.0
	for i, row := range s.list {
		products := f.k.Row(row)
		for j, other := range s.list {
			s.with[i] += float64(s.share[j] * float64(products[other]))
		}
		middle += float64(s.share[i] * s.with[i])
	}
	s.a = vectors.Matrix{Rows: n, Cols: n, Data: make([]float32, n*n)}
	s.b = vectors.Matrix{Rows: n, Cols: c, Data: make([]float32, n*c)}
	trace := 0.0
	for i, row := range s.list {
		root, products := math.Sqrt(s.share[i]), f.k.Row(row)
		for j := range i + 1 {
			v := float64(products[s.list[j]]) - s.with[i] - s.with[j] + middle
			s.a.Data[i*n+j] = float32(root * math.Sqrt(s.share[j]) * v)
		}
		trace += float64(s.a.Data[i*n+i])
		right := s.b.Row(i)
		for t, rate := range s.rate {
			right[t] = float32(-rate * root)
		}
		for _, t := range f.rows[row].targets {
			right[t] = float32((1 - s.rate[t]) * root)
		}
	}
	s.variance = trace / float64(f.z.Cols)
	return s, nil
}

// solve returns γ with a row for every row, 0 for those outside the folds, and the bias.
func (s *kernelSystem) solve(ctx context.Context, threads int, penalty float64) (r Regression, err error) {
	if s.factor, err = factorFor(ctx, threads, s.a, penalty*s.variance, s.factor); err != nil {
		return r, err
	}
	b := copied(s.b)
	if err := s.factor.solve(ctx, b); err != nil {
		return r, err
	}
	n, c := len(s.rows), s.targets
	sum := make([]float64, c) // Σ α
	for i := range s.list {
		root := math.Sqrt(s.share[i])
		for t, v := range b.Row(i) {
			sum[t] += float64(root * float64(v))
		}
	}
	r = Regression{vectors.Matrix{Rows: n, Cols: c, Data: make([]float32, n*c)}, slices.Clone(s.rate), penalty}
	for i, row := range s.list {
		root, out := math.Sqrt(s.share[i]), r.Weight.Row(row)
		for t, v := range b.Row(i) {
			out[t] = float32(float64(root*float64(v)) - float64(s.share[i]*sum[t]))
			r.Bias[t] -= float64(float64(out[t]) * s.with[i])
		}
	}
	return r, nil
}

// weigh returns W = Σ γ_i z_i.
func (f *foldKernel) weigh(ctx context.Context, threads int, r Regression) (Regression, error) {
	c, d, gamma := f.targets, f.z.Cols, r.Weight
	r.Weight = vectors.Matrix{Rows: c, Cols: d, Data: make([]float32, c*d)}
	if err := gemm.Mul(ctx, threads, MatrixView(r.Weight), MatrixView(gamma).T(), MatrixView(f.z)); err != nil {
		return r, err
	}
	for t := range c {
		r.Bias[t] -= Dot32(r.Weight.Row(t), f.mean)
	}
	return r, nil
}

func (f *foldKernel) error(ctx context.Context, _ int, fit Regression, fold int) (float64, error) {
	lo, hi, c := f.start[fold], f.start[fold+1], f.targets
	answers := make([]float32, (hi-lo)*c)
	err := gemm.Mul(ctx, 1, gemm.RowMajor(hi-lo, c, answers), MatrixView(f.k.Slice(lo, hi)),
		MatrixView(fit.Weight))
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for i, r := range f.rows[lo:hi] {
		square := 0.0
		for t, v := range answers[i*c : (i+1)*c] {
			e := float64(v) + fit.Bias[t]
			if slices.Contains(r.targets, int32(t)) {
				e--
			}
			square += float64(e * e)
		}
		sum += float64(r.weight * square)
	}
	return sum, nil
}
