package method

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/vectors"
)

// reconstructionByDefinition is 2 r² f from the weights.
func reconstructionByDefinition(r *reconstruction, pairs []affinity.Pair) int64 {
	code := make([][]bool, r.n)
	for i := range code {
		for b := range r.bits {
			sum := 0.0
			for q := b * r.points; q < (b+1)*r.points; q++ {
				sum += r.w[q] * float64(r.k.Row(i)[r.column[q]])
			}
			code[i] = append(code[i], sum >= 0)
		}
	}
	return errorOfCodes(code, pairs)
}

// errorOfCodes is Σ (H_ij - r d_ij)² over the pairs.
func errorOfCodes(code [][]bool, pairs []affinity.Pair) int64 {
	f := int64(0)
	for _, p := range pairs {
		h := int64(0)
		for b, v := range code[p.A] {
			if v != code[p.B][b] {
				h++
			}
		}
		if p.Y < 0 {
			h -= int64(len(code[p.A]))
		}
		f += h * h
	}
	return f
}

// randomReconstruction is a small problem with rows that are equal and rows that have no kernel value.
func randomReconstruction(seed uint64) (*reconstruction, []affinity.Pair) {
	rng := rand.New(rand.NewPCG(seed, 1))
	n, m := 20+rng.IntN(30), bre{Options: Options{Bits: 1 + rng.IntN(9), Seed: seed, Threads: 2}, Points: 1 + rng.IntN(4),
		Share: 0.3}
	k := vectors.Matrix{Rows: n, Cols: 7, Data: make([]float32, n*7)}
	for i := range k.Data {
		if rng.IntN(8) > 0 {
			k.Data[i] = rng.Float32() - 0.5
		}
	}
	copy(k.Row(3), k.Row(11))
	class := make([]int32, n)
	for i := range class {
		class[i] = rng.Int32N(3)
	}
	y, _ := affinity.ByClass(class)
	pairs, _ := m.pairs(context.Background(), y)
	r, _ := newReconstruction(context.Background(), m, k, pairs)
	return r, pairs
}

func TestBREStepIsTheBestInterval(t *testing.T) {
	moved := 0
	for seed := range uint64(12) {
		r, pairs := randomReconstruction(seed)
		if want := reconstructionByDefinition(r, pairs); r.f != want {
			t.Fatalf("seed %d: 2r²f is %d, by definition %d", seed, r.f, want)
		}
		rng := rand.New(rand.NewPCG(seed, 2))
		for range 25 {
			b, q := rng.IntN(r.bits), rng.IntN(r.points)
			// Every interval, by trying: the places of all flips, and what lies between and beyond them.
			at := b*r.points + q
			old, start := r.w[at], r.f
			var flips []float64
			for i := range r.n {
				if v := float64(r.k.Row(i)[r.column[at]]); v != 0 {
					flips = append(flips, -r.score[b*r.n+i]/v)
				}
			}
			slices.Sort(flips)
			best := start
			for p := 0; p <= len(flips); p++ {
				var middle float64
				switch {
				case len(flips) == 0:
				case p == 0:
					middle = flips[0] - 1
				case p == len(flips):
					middle = flips[p-1] + 1
				case flips[p]-flips[p-1] <= narrow*(math.Abs(flips[p-1])+math.Abs(flips[p])+math.Abs(old)):
					continue
				default:
					middle = (flips[p-1] + flips[p]) / 2
				}
				r.w[at] = old + middle
				best = min(best, reconstructionByDefinition(r, pairs))
			}
			r.w[at] = old
			if err := r.step(context.Background(), b, q); err != nil {
				t.Fatal(err)
			}
			if r.f != best || reconstructionByDefinition(r, pairs) != best {
				t.Fatalf("seed %d, weight %d of bit %d: from %d to %d (by definition %d), the best interval has %d", seed, q, b,
					start, r.f, reconstructionByDefinition(r, pairs), best)
			}
			if r.f < start {
				moved++
			} else if r.w[at] != old {
				t.Fatal("a weight moved for nothing")
			}
		}
	}
	if moved < 50 {
		t.Errorf("only %d of 300 steps moved a weight", moved)
	}
}
