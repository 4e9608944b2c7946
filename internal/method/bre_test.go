package method

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"hashgrove/internal/eval"
	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/model"
	"hashgrove/internal/testkit/methodtest"
	"hashgrove/internal/vectors"
)

// labelsOf names classes, as a source has them.
func labelsOf(class []int32) []string {
	names := make([]string, len(class))
	for i, c := range class {
		names[i] = strconv.Itoa(int(c))
	}
	return names
}

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

func TestBREDescendsAlikeOnAnyThreads(t *testing.T) {
	one, pairs := randomReconstruction(3)
	two, _ := randomReconstruction(3)
	one.threads = 1
	start := one.f
	for _, r := range []*reconstruction{one, two} {
		if err := r.descend(context.Background(), 20); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(one.w, two.w) || one.f != two.f {
		t.Error("two threads find other weights than one")
	}
	if one.f >= start || one.f != reconstructionByDefinition(one, pairs) {
		t.Errorf("2r²f from %d to %d, by definition %d", start, one.f, reconstructionByDefinition(one, pairs))
	}
}

// The encoder must give the codes that the descent judged, and those must be good.
func TestBRECodes(t *testing.T) {
	x, class := methodtest.ClusterMatrix(1, 250, 12, 5)
	q, qc := methodtest.ClusterMatrix(2, 60, 12, 5)
	src := vectors.WithLabels(x, labelsOf(class))
	m := bre{Options: Options{Bits: 16, Seed: 4}, Sweeps: 15}
	e, err := learnFrom(context.Background(), m, src)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Check(); err != nil {
		t.Fatal(err)
	}
	m = m.withDefaults()
	y, _ := affinity.ByClass(class)
	pairs, _ := m.pairs(context.Background(), y)
	f := make([]float64, 2)
	m.Sweeps = 1
	first, err := learnFrom(context.Background(), m, src)
	if err != nil {
		t.Fatal(err)
	}
	for k, e := range []model.Encoder{first, e} {
		codes := encode(e, x)
		all := make([][]bool, x.Rows)
		for i := range all {
			for b := range m.Bits {
				all[i] = append(all[i], codes.Bit(i, b))
			}
		}
		f[k] = float64(errorOfCodes(all, pairs)) / float64(len(pairs)*m.Bits*m.Bits)
	}
	if !(f[1] < 0.9*f[0]) {
		t.Errorf("error of the codes %.4f after one sweep, %.4f after fifteen", f[0], f[1])
	}
	got := judge(t, encode(e, q), encode(e, x), eval.ByClass(qc, class)).MAP
	lsh := train(t, lsh{Options{Bits: 16}}, x)
	plain := judge(t, encode(lsh, q), encode(lsh, x), eval.ByClass(qc, class)).MAP
	if math.IsNaN(got) || got < plain+0.02 {
		t.Errorf("MAP %.3f, of random planes %.3f", got, plain)
	}
}
