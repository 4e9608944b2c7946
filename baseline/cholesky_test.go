package baseline

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"hashgrove/dataset"
)

func TestCholesky(t *testing.T) {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{1, 2, 63, 64, 65, 150, 200} {
		x := dataset.Matrix{Rows: n + 5, Cols: n, Data: make([]float32, (n+5)*n)}
		for i := range x.Data {
			x.Data[i] = float32(rng.NormFloat64())
		}
		a, err := cross(ctx, 2, x, x)
		if err != nil {
			t.Fatal(err)
		}
		want := mat.NewSymDense(n, nil)
		for i := range n {
			a[i*n+i] += 0.1
			for j := range i + 1 {
				sum := 0.0
				for r := range x.Rows {
					sum += float64(x.Row(r)[i]) * float64(x.Row(r)[j])
				}
				if i == j {
					sum += 0.1
				}
				if math.Abs(sum-a[i*n+j]) > 1e-4 {
					t.Fatalf("n = %d: X'X has %v at %d, %d, want %v", n, a[i*n+j], i, j, sum)
				}
				want.SetSym(i, j, a[i*n+j])
			}
		}
		c, err := newCholesky(ctx, a, n, 2)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]float64, n*3)
		for i := range b {
			b[i] = rng.NormFloat64()
		}
		var chol mat.Cholesky
		if !chol.Factorize(want) {
			t.Fatal("not positive")
		}
		var z mat.Dense
		if err := chol.SolveTo(&z, mat.NewDense(n, 3, clone(b))); err != nil {
			t.Fatal(err)
		}
		if err := c.solve(ctx, b, 3); err != nil {
			t.Fatal(err)
		}
		for i, v := range b {
			if w := z.At(i/3, i%3); math.Abs(v-w) > 1e-6*(1+math.Abs(w)) {
				t.Fatalf("n = %d: solution %d is %v, want %v", n, i, v, w)
			}
		}
	}
	if _, err := newCholesky(ctx, []float64{1, 0, 2, 1}, 2, 1); err == nil {
		t.Error("a matrix with a negative eigenvalue has a factor")
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
		x, value, err := greatest(ctx, n, 3, 1e-8, func(x, y []float64) error {
			mat.NewVecDense(n, y).MulVec(a, mat.NewVecDense(n, x))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		want := e.Values(nil)[n-1]
		if v := mat.NewVecDense(n, x); math.Abs(value-want) > 1e-6*math.Abs(want) || math.Abs(mat.Inner(v, a, v)-want) > 1e-6*math.Abs(want) {
			t.Errorf("n = %d: value %v, quotient %v, want %v", n, value, mat.Inner(v, a, v), want)
		}
	}
	// Of a matrix of small rank the method ends early.
	products := 0
	if _, value, err := greatest(ctx, 500, 1, 1e-6, func(x, y []float64) error {
		products++
		clear(y)
		y[3], y[7] = 5*x[3], 2*x[7]
		return nil
	}); err != nil || math.Abs(value-5) > 1e-9 || products > 4 {
		t.Errorf("value %v after %d products, error %v", value, products, err)
	}
}
