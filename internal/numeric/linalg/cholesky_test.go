package linalg

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func TestCholesky(t *testing.T) {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{1, 2, 63, 64, 65, 150, 200} {
		x := mat.NewDense(n+5, n, nil)
		for i := range n + 5 {
			for j := range n {
				x.Set(i, j, rng.NormFloat64())
			}
		}
		var want mat.SymDense
		want.SymOuterK(1, x.T())
		a := make([]float64, n*n)
		for i := range n {
			want.SetSym(i, i, want.At(i, i)+0.1)
			for j := range i + 1 {
				a[i*n+j] = want.At(i, j)
			}
		}
		c, err := NewCholesky(ctx, a, n, 0, 2)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]float64, n*3)
		for i := range b {
			b[i] = rng.NormFloat64()
		}
		var chol mat.Cholesky
		if !chol.Factorize(&want) {
			t.Fatal("not positive")
		}
		var z mat.Dense
		if err := chol.SolveTo(&z, mat.NewDense(n, 3, slices.Clone(b))); err != nil {
			t.Fatal(err)
		}
		if err := c.Solve(ctx, b, 3); err != nil {
			t.Fatal(err)
		}
		for i, v := range b {
			if w := z.At(i/3, i%3); math.Abs(v-w) > 1e-6*(1+math.Abs(w)) {
				t.Fatalf("n = %d: solution %d is %v, want %v", n, i, v, w)
			}
		}
	}
	if _, err := NewCholesky(ctx, []float64{1, 0, 2, 1}, 2, 0, 1); !errors.Is(err, ErrNotPositive) {
		t.Errorf("a matrix with a negative eigenvalue: %v", err)
	}
}

func TestGreatest(t *testing.T) {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(2, 2))
	for _, n := range []int{1, 2, 7, 300} {
		a := mat.NewSymDense(n, nil)
		for i := range n {
			for j := range i + 1 {
				a.SetSym(i, j, rng.NormFloat64())
			}
		}
		var e mat.EigenSym
		if !e.Factorize(a, false) {
			t.Fatal("no eigenvalues")
		}
		x, value, err := TopEigenvector(ctx, n, rng, 1e-8, func(x, y []float64) error {
			mat.NewVecDense(n, y).MulVec(a, mat.NewVecDense(n, x))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		want := e.Values(nil)[n-1]
		if v := mat.NewVecDense(n, x); math.Abs(value-want) > 1e-6*math.Abs(want) ||
			math.Abs(mat.Inner(v, a, v)-want) > 1e-6*math.Abs(want) {
			t.Errorf("n = %d: value %v, quotient %v, want %v", n, value, mat.Inner(v, a, v), want)
		}
	}
}
