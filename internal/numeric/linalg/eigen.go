// Package linalg is the linear algebra of the trainers: eigenvectors, rotations, clusters, and products with the rows
// of a source. Vectors are rows: k vectors of n values are a k x n matrix, which is also how encoders store them.
//
//	AllEigenvectors      of a matrix in memory
//	TopEigenvectors      the first few of an operator known only by its products
//	TopEigenvector       only the first
//	Cholesky             the factor of a positive definite matrix, and solving with it
//	Gram                 X'X in single precision, and ridge systems with it
//	TransposeProduct     X'Y, summed in double precision
//	PolarFactor, RandomRotation
//	Covariance, CovarianceProduct, Blocks   of the rows of a source
//	KMeans, KthSmallest
//
// Results depend only on the arguments, for any number of threads and on any kind of machine: sums have a fixed order,
// and products are never fused with sums.
package linalg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"hashgrove/internal/numeric/portable"
	"hashgrove/internal/par"
)

// Product sets every row of dst to A times that row of v, for a symmetric n x n matrix A. Both have n columns and
// the same number of rows; dst is overwritten.
type Product func(ctx context.Context, dst, v *mat.Dense) error

// MatrixProduct returns the product with a matrix in memory, on the given number of threads (0 for all cores). It
// keeps a copy.
func MatrixProduct(a *mat.SymDense, threads int) Product {
	full := mat.DenseCopyOf(a)
	n := a.SymmetricDim()
	return func(ctx context.Context, dst, v *mat.Dense) error {
		rows, _ := v.Dims()
		return par.Blocks(ctx, threads, n, 16, func(_, lo, hi int) {
			for i := lo; i < hi; i++ {
				for r := range rows {
					dst.Set(r, i, Dot(full.RawRowView(i), v.RawRowView(r)))
				}
			}
		})
	}
}

// AllEigenvectors returns all eigenvalues of a matrix, largest first, and the unit eigenvectors, one per row. The
// largest component of each vector is positive.
func AllEigenvectors(a *mat.SymDense) (values []float64, vectors *mat.Dense, err error) {
	n := a.SymmetricDim()
	values, raw, err := symmetricEigen(mat.DenseCopyOf(a).RawMatrix().Data, n)
	if err != nil {
		return nil, nil, err
	}
	vectors = mat.NewDense(n, n, raw)
	for k := range n {
		fixSign(vectors.RawRowView(k))
	}
	return values, vectors, nil
}

// fixSign flips a vector so that its largest component, the first of equal ones, is positive.
func fixSign(v []float64) {
	at := 0
	for i, x := range v {
		if math.Abs(x) > math.Abs(v[at])*(1+1e-9) {
			at = i
		}
	}
	if len(v) > 0 && v[at] < 0 {
		for i := range v {
			v[i] = -v[i]
		}
	}
}

// TopOptions are the options of TopEigenvectors.
type TopOptions struct {
	Tolerance float64 // residual |A v - λ v| of every vector as a share of the greatest |λ|; 0 means 1e-8
	Block     int     // vectors of one product; 0 means k, at most 64
	Products  int     // most vectors multiplied in all, whatever the residual; 0 means 60 k + 600
	Seed      uint64  // of the first vectors
	Threads   int     // 0 means all cores; never changes the result
}

// Eigen is the result of TopEigenvectors.
type Eigen struct {
	Values   []float64  // the greatest first
	Vectors  *mat.Dense // one per row, of length 1, its greatest value positive
	Residual float64    // the greatest |A v - λ v|, as a share of the greatest |λ|
}

// TopEigenvectors returns the k largest eigenvalues of a symmetric n x n matrix and their eigenvectors, using only
// products.
//
// It is the block form of Lanczos' method with thick restarts (Wu and Simon, SIAM J. Matrix Anal. Appl. 2000), kept
// simple as in Davidson's: a basis V and its product A V are stored,
//
//	repeat
//		add to V the residuals of the vectors that are not good enough, orthonormalised        one product
//		when V is full: solve V'AV s = λ s, and keep the best of V s                           Rayleigh and Ritz
//
// Memory is that of 4 k vectors and 8 blocks, time that of the products and O(n k^2) per restart. It ends when all
// residuals are below the tolerance or the allowed number of products is used up.
func TopEigenvectors(ctx context.Context, n, k int, product Product, o TopOptions) (*Eigen, error) {
	if k < 1 || k > n {
		return nil, fmt.Errorf("%d eigenvectors of a matrix of %d rows", k, n)
	}
	o.Tolerance, o.Products = cmp.Or(o.Tolerance, 1e-8), cmp.Or(o.Products, 60*k+600)
	b := min(cmp.Or(o.Block, min(k, 64)), n)
	s := &subspace{n: n, product: product, threads: o.Threads, most: max(2*k, k+3*b, 40) + b}
	if s.most >= n {
		return topOfAll(ctx, n, k, product)
	}
	s.v, s.av = mat.NewDense(s.most, n, nil), mat.NewDense(s.most, n, nil)
	rng := rand.New(rand.NewPCG(o.Seed, 0x709))
	next := mat.NewDense(b, n, nil)
	for i := range b {
		for j := range n {
			next.Set(i, j, portable.Normal(rng))
		}
	}
	for {
		if err := s.expand(ctx, next, rng); err != nil {
			return nil, err
		}
		if s.size+b <= s.most {
			next = mat.DenseCopyOf(s.av.Slice(s.size-b, s.size, 0, n)) // the product of what was added last
			continue
		}
		e, residuals, err := s.rayleighRitz(ctx, k, b)
		if err != nil {
			return nil, err
		}
		if e.Residual <= o.Tolerance || s.products >= o.Products {
			for i := range k {
				fixSign(e.Vectors.RawRowView(i))
			}
			return e, nil
		}
		next = residuals
	}
}

// topOfAll is TopEigenvectors for a matrix hardly larger than the basis would be: it forms the matrix from its
// products with the axes.
func topOfAll(ctx context.Context, n, k int, product Product) (*Eigen, error) {
	axes, a := mat.NewDense(n, n, nil), mat.NewDense(n, n, nil)
	for i := range n {
		axes.Set(i, i, 1)
	}
	if err := product(ctx, a, axes); err != nil {
		return nil, err
	}
	h := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			h.SetSym(i, j, (a.At(i, j)+a.At(j, i))/2)
		}
	}
	values, vectors, err := AllEigenvectors(h)
	if err != nil {
		return nil, err
	}
	return &Eigen{Values: values[:k:k], Vectors: mat.DenseCopyOf(vectors.Slice(0, k, 0, n))}, nil
}

// subspace is the basis of TopEigenvectors: the first size rows of v, orthonormal, and of av, their products.
type subspace struct {
	n, most, size int
	v, av         *mat.Dense
	product       Product
	products      int
	threads       int
}

// expand orthonormalises vectors against the basis, adds them to it, and computes their products.
func (s *subspace) expand(ctx context.Context, next *mat.Dense, rng *rand.Rand) error {
	rows, _ := next.Dims()
	for r := range rows {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		row := s.v.RawRowView(s.size + r)
		copy(row, next.RawRowView(r))
		if err := s.orthonormalise(ctx, s.size+r, row, rng); err != nil {
			return err
		}
	}
	v := s.v.Slice(s.size, s.size+rows, 0, s.n).(*mat.Dense)
	av := s.av.Slice(s.size, s.size+rows, 0, s.n).(*mat.Dense)
	if err := s.product(ctx, av, v); err != nil {
		return err
	}
	s.size += rows
	s.products += rows
	return nil
}

// orthonormalise makes row orthogonal to the first basis rows, twice because once loses digits, and scales it to
// length 1. A row within their span is replaced by a random one.
func (s *subspace) orthonormalise(ctx context.Context, basis int, row []float64, rng *rand.Rand) error {
	f := make([]float64, basis)
	for {
		before := Norm(row)
		for range 2 {
			err := par.Blocks(ctx, s.threads, basis, 32, func(_, lo, hi int) {
				for i := lo; i < hi; i++ {
					f[i] = Dot(s.v.RawRowView(i), row)
				}
			})
			if err != nil {
				return err
			}
			err = par.Blocks(ctx, s.threads, len(row), 2048, func(_, lo, hi int) {
				for i, c := range f {
					Axpy(-c, s.v.RawRowView(i)[lo:hi], row[lo:hi])
				}
			})
			if err != nil {
				return err
			}
		}
		after := Norm(row)
		if after > 1e-12*before && after > 0 {
			for j := range row {
				row[j] /= after
			}
			if math.Abs(Dot(row, row)-1) < 1e-6 {
				return nil
			}
			return errors.New("the product of a matrix is not finite")
		}
		if before != before {
			return errors.New("the product of a matrix is not finite")
		}
		for j := range row {
			row[j] = portable.Normal(rng)
		}
	}
}

// rayleighRitz replaces the basis by its best vectors and returns the first k, with the residuals of up to b of them
// that are worst.
func (s *subspace) rayleighRitz(ctx context.Context, k, b int) (*Eigen, *mat.Dense, error) {
	h := mat.NewSymDense(s.size, nil)
	err := par.For(ctx, s.threads, s.size, func(i int) {
		for j := i; j < s.size; j++ {
			h.SetSym(i, j, Dot(s.v.RawRowView(i), s.av.RawRowView(j)))
		}
	})
	if err != nil {
		return nil, nil, err
	}
	values, t, err := AllEigenvectors(h)
	if err != nil {
		return nil, nil, err
	}
	keep := min(k+b, s.most-b)
	for _, m := range []*mat.Dense{s.v, s.av} {
		if err := s.rotate(ctx, m, t, keep); err != nil {
			return nil, nil, err
		}
	}
	s.size = keep
	scale := math.SmallestNonzeroFloat64
	for _, v := range values {
		scale = max(scale, math.Abs(v))
	}
	e := &Eigen{Values: values[:k:k], Vectors: mat.DenseCopyOf(s.v.Slice(0, k, 0, s.n))}
	type residual struct {
		at   int
		size float64
	}
	list := make([]residual, k)
	r := mat.NewDense(k, s.n, nil)
	for i := range k {
		row := r.RawRowView(i)
		copy(row, s.av.RawRowView(i))
		Axpy(-values[i], s.v.RawRowView(i), row)
		list[i] = residual{i, Norm(row) / scale}
		e.Residual = max(e.Residual, list[i].size)
	}
	slices.SortStableFunc(list, func(x, y residual) int { return cmp.Compare(y.size, x.size) })
	worst := mat.NewDense(min(b, k), s.n, nil)
	for i, l := range list[:min(b, k)] {
		copy(worst.RawRowView(i), r.RawRowView(l.at))
	}
	return e, worst, nil
}

// rotate replaces the basis rows of m by the first keep rows of t times them.
func (s *subspace) rotate(ctx context.Context, m, t *mat.Dense, keep int) error {
	return par.Blocks(ctx, s.threads, s.n, 256, func(_, lo, hi int) {
		out := make([]float64, keep*(hi-lo))
		for i := range keep {
			row := out[i*(hi-lo) : (i+1)*(hi-lo)]
			for j, f := range t.RawRowView(i) {
				Axpy(f, m.RawRowView(j)[lo:hi], row)
			}
		}
		for i := range keep {
			copy(m.RawRowView(i)[lo:hi], out[i*(hi-lo):])
		}
	})
}
