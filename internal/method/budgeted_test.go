package method

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/testkit/methodtest"
	"hashgrove/internal/vectors"
)

// kernelOf returns a Gaussian kernel of all rows with all rows.
func kernelOf(x vectors.Matrix, width float64) vectors.Matrix {
	k := vectors.Matrix{Rows: x.Rows, Cols: x.Rows, Data: make([]float32, x.Rows*x.Rows)}
	for i := range x.Rows {
		for o := range x.Rows {
			sum := 0.0
			for j, v := range x.Row(i) {
				sum += (float64(v) - float64(x.Row(o)[j])) * (float64(v) - float64(x.Row(o)[j]))
			}
			k.Row(i)[o] = float32(math.Exp(-sum / width))
		}
	}
	return k
}

// With a budget for all rows the machine is Pegasos, as it is written: w shrinks and takes a step in every turn.
func TestBudgetForAllRowsIsPegasos(t *testing.T) {
	x, class := methodtest.ClusterMatrix(5, 80, 6, 4)
	k := kernelOf(x, 20)
	z := make([]int8, x.Rows)
	for i, c := range class {
		z[i] = int8(2*(c%2) - 1)
	}
	const lambda = 0.05
	s := &budgetSVM{z: z, budget: x.Rows, lambda: lambda, slot: slices.Repeat([]int32{-1}, x.Rows)}
	w := make([]float64, x.Rows)
	rng := rand.New(rand.NewPCG(1, 1))
	steps := 0.0
	for range 400 {
		i := rng.IntN(x.Rows)
		s.step(int32(i), k.Row(i))
		steps++
		margin := 0.0
		for o, v := range w {
			margin += float64(z[i]) * v * float64(k.Row(i)[o])
		}
		for o := range w {
			w[o] *= 1 - 1/steps
		}
		if margin < 1-1e-12 {
			w[i] += float64(z[i]) / (lambda * steps)
		}
	}
	for i, v := range w {
		got := 0.0
		if at := s.slot[i]; at >= 0 {
			got = s.c[at] / (lambda * steps)
		}
		if math.Abs(got-v) > 1e-9*(1+math.Abs(v)) {
			t.Errorf("row %d has the coefficient %v, want %v", i, got, v)
		}
	}
}

// A budget holds, and what a step drops is projected: nothing else changes.
func TestBudgetHolds(t *testing.T) {
	x, class := methodtest.ClusterMatrix(5, 80, 6, 4)
	k := kernelOf(x, 20)
	z := make([]int8, x.Rows)
	for i, c := range class {
		z[i] = int8(2*(c%2) - 1)
	}
	s := &budgetSVM{z: z, budget: 7, lambda: 0.05, slot: slices.Repeat([]int32{-1}, x.Rows)}
	rng := rand.New(rand.NewPCG(1, 1))
	dense := func() []float64 {
		w := make([]float64, x.Rows)
		for p, i := range s.row {
			w[i] = s.c[p]
		}
		return w
	}
	dropped := 0
	for range 400 {
		i := rng.IntN(x.Rows)
		before := dense()
		s.step(int32(i), k.Row(i))
		if len(s.row) > 7 {
			t.Fatal("more support vectors than allowed")
		}
		for p, r := range s.row {
			if s.slot[r] != int32(p) {
				t.Fatalf("row %d is not where it should be", r)
			}
			for q, o := range s.row {
				if s.k[p][q] != k.Row(int(r))[o] {
					t.Fatalf("the kernel of rows %d and %d is wrong", r, o)
				}
			}
		}
		after := dense()
		before[i] += float64(z[i])
		var changed []int
		for r := range after {
			if after[r] != before[r] {
				changed = append(changed, r)
			}
		}
		if len(changed) != 2 {
			continue // no step, or within the budget
		}
		dropped++
		p, q := changed[0], changed[1]
		if after[p] != 0 {
			p, q = q, p
		}
		// The best coefficient for φ_q in place of c_p φ_p is c_p k_pq.
		if want := before[q] + before[p]*float64(k.Row(p)[q]); after[p] != 0 || math.Abs(after[q]-want) > 1e-6 {
			t.Fatalf("row %d has the coefficient %v after row %d went, want %v", q, after[q], p, want)
		}
	}
	if dropped < 20 {
		t.Errorf("only %d rows were dropped", dropped)
	}
}
