// Lanczos' method for the largest eigenvalue of a symmetric operator (Lanczos, 1950), with full orthogonalisation.
//
// The operator A is projected onto the span of x, Ax, A²x, ..., where it is tridiagonal; the top eigenvector of that
// small matrix, mapped back, approaches that of A. When the span reaches its limit it is rebuilt from the best vector.
// Unlike in the method for many eigenvectors (TopEigenvectors), all of the span serves the single one wanted.
//
//	step    one product with A, and O(n · steps) to keep the basis orthogonal

package linalg

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
)

const (
	lanczosSteps  = 60 // in one span
	lanczosRounds = 5
)

// TopEigenvector returns the largest eigenvalue and its unit eigenvector. The residual |Ax - λx| is at most
// tolerance times λ, unless eigenvalues are so close that the allowed number of products cannot separate them: then
// x is a mixture, which serves just as well.
func TopEigenvector(ctx context.Context, n int, rng *rand.Rand, tolerance float64,
	apply func(x, y []float64) error) ([]float64, float64, error) {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(rng.Float64()) - 0.5
	}
	value := 0.0
	for range lanczosRounds {
		Scale(1/Norm(x), x)
		basis := [][]float64{x}
		var diagonal, beside []float64
		for {
			if ctx.Err() != nil {
				return nil, 0, context.Cause(ctx)
			}
			v, y := basis[len(basis)-1], make([]float64, n)
			if err := apply(v, y); err != nil {
				return nil, 0, err
			}
			diagonal = append(diagonal, Dot(v, y))
			for range 2 { // twice, because of rounding
				for _, b := range basis {
					Axpy(-Dot(b, y), b, y)
				}
			}
			rest := Norm(y)
			if math.IsNaN(rest) || math.IsInf(rest, 0) {
				return nil, 0, errors.New("a product is not finite: are values of the vectors very large?")
			}
			beside = append(beside, rest)
			top := 0.0
			for _, d := range diagonal {
				top = max(top, math.Abs(d))
			}
			if rest <= 1e-10*top || len(basis) == min(n, lanczosSteps) {
				break
			}
			if len(basis)%10 == 0 { // enough already?
				if top, s := tridiagonalTop(diagonal, beside); rest*math.Abs(s[len(s)-1]) <= tolerance*math.Abs(top) {
					break
				}
			}
			Scale(1/rest, y)
			basis = append(basis, y)
		}
		var s []float64
		value, s = tridiagonalTop(diagonal, beside)
		x = make([]float64, n)
		for k, b := range basis {
			Axpy(s[k], b, x)
		}
		if beside[len(beside)-1]*math.Abs(s[len(s)-1]) <= tolerance*math.Abs(value) {
			break
		}
	}
	Scale(1/Norm(x), x)
	return x, value, nil
}

// tridiagonalTop returns the largest eigenvalue and its eigenvector of the symmetric matrix with the given diagonal
// and off-diagonal values; the last of these is not used.
func tridiagonalTop(diagonal, beside []float64) (float64, []float64) {
	n := len(diagonal)
	t := make([]float64, n*n)
	for i, d := range diagonal {
		t[i*n+i] = d
		if i+1 < n {
			t[i*n+i+1] = beside[i]
		}
	}
	values, vectors, err := symmetricEigen(t, n)
	if err != nil {
		panic("linalg: the eigenvalues of a small finite matrix were not found")
	}
	return values[0], vectors[:n]
}
