package linalg

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/vectors"
)

func TestKth(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for n := 1; n < 60; n++ {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(rng.IntN(n))
		}
		sorted := slices.Sorted(slices.Values(v))
		for k := range n {
			if got := KthSmallest(slices.Clone(v), k); got != sorted[k] {
				t.Fatalf("place %d of %v is %v", k, v, got)
			}
		}
	}
}

func TestCross(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{1, 2, 63, 64, 65, 150, 200} {
		x := vectors.Matrix{Rows: n + 5, Cols: n, Data: make([]float32, (n+5)*n)}
		for i := range x.Data {
			x.Data[i] = float32(rng.NormFloat64())
		}
		a, err := TransposeProduct(context.Background(), 2, x, x)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			for j := range i + 1 {
				sum := 0.0
				for r := range x.Rows {
					sum += float64(x.Row(r)[i]) * float64(x.Row(r)[j])
				}
				if math.Abs(sum-a[i*n+j]) > 1e-4 {
					t.Fatalf("n = %d: X'X has %v at %d, %d, want %v", n, a[i*n+j], i, j, sum)
				}
			}
		}
	}
}
