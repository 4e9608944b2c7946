package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/hamming"
)

// expectedBySums is the definition: the mean of all codes under their odds.
func expectedBySums(r *Ranking, s []float32) []float64 {
	weights, look := hamming.Weights(s, 0), make([]uint64, r.Codes.Words)
	hamming.SetSigns(look, s)
	distance := make([]int, r.Codes.Len())
	for c := range distance {
		distance[c] = hamming.WeightedDistance(look, r.Codes.Row(c), weights)
	}
	w, total := make([]float64, len(s)), 0.0
	for c, d := range distance {
		x := -r.Tau * float64(d-slices.Min(distance)) / 8
		if x < -expectedReach {
			continue
		}
		odds := float64(r.Counts[c]) * math.Exp(x)
		total += odds
		for k := range w {
			if r.Codes.Bit(c, k) {
				w[k] += odds
			} else {
				w[k] -= odds
			}
		}
	}
	mean := 0.0
	for k := range w {
		w[k] /= total
		mean += math.Abs(w[k]) / float64(len(w))
	}
	for k := range w {
		if r.Mix > 0 {
			own := math.Copysign(float64(weights[k])/16, float64(s[k]))
			w[k] = (1-r.Mix)*w[k]/max(mean, 1e-300) + r.Mix*own
		}
	}
	return w
}

func randomRanking(rng *rand.Rand, bits, rows int) *Ranking {
	codes := hamming.NewCodes(rows, bits)
	for i := range rows {
		kind := rand.New(rand.NewPCG(uint64(rng.IntN(rows)), 3))
		for b := range bits {
			codes.SetBit(i, b, kind.IntN(2) == 1)
		}
	}
	return NewRanking(ByExpected, rng.Float64(), float64(rng.IntN(3))/4, codes, nil)
}

func TestExpectedCodeEqualsTheDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 1))
	for range 200 {
		bits := []int{1, 7, 8, 31, 64, 65, 100}[rng.IntN(7)]
		r := randomRanking(rng, bits, 1+rng.IntN(60))
		if err := r.check(bits); err != nil {
			t.Fatal(err)
		}
		s := make([]float32, bits)
		for k := range s {
			s[k] = float32(rng.NormFloat64()) * float32(rng.IntN(3))
		}
		want := expectedBySums(r, s)
		expectations.Get().(*expectation).replace(r, s)
		for k, v := range want {
			if math.Abs(float64(s[k])-v) > 1e-5 {
				t.Fatalf("%d bits, %d codes, tau %v, mix %v: bit %d is %v, by definition %v", bits, r.Codes.Len(), r.Tau, r.Mix, k, s[k], v)
			}
		}
	}
}

// TestExpectedCodeIsTheSameForEveryKernel: the codes that a sweep finds beyond reach do not change a bit.
func TestExpectedCodeIsTheSameForEveryKernel(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 9))
	for range 100 {
		bits := []int{8, 64, 100}[rng.IntN(3)]
		r := randomRanking(rng, bits, 1+rng.IntN(400))
		r.Tau *= 3
		s := make([]float32, bits)
		for k := range s {
			s[k] = float32(rng.NormFloat64())
		}
		want, e := slices.Clone(s), new(expectation)
		weights, look := hamming.Weights(s, 0), make([]uint64, r.Codes.Words)
		hamming.SetSigns(look, s)
		e.prepare(r.Tau, hamming.MaxWeight*bits)
		for i := range r.Codes.Len() { // all codes, in order
			d := hamming.WeightedDistance(look, r.Codes.Row(i), weights)
			e.Take(0, []uint32{uint32(d)<<16 | uint32(i)})
		}
		e.average(r, want, weights)
		new(expectation).replace(r, s)
		if !slices.Equal(s, want) {
			t.Fatalf("%d bits, %d codes, tau %v: %v, want %v", bits, r.Codes.Len(), r.Tau, s, want)
		}
	}
}

func TestRankingOfAPrefix(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 2))
	for range 50 {
		codes := hamming.NewCodes(40, 70)
		for i := range codes.Data {
			codes.Data[i] = uint64(rng.IntN(3))<<62 | uint64(rng.IntN(2))<<58
		}
		bits := 1 + rng.IntN(70)
		got, want := NewRanking(ByMargins, 1, 0, codes, nil).prefix(bits), NewRanking(ByMargins, 1, 0, codes.Prefix(bits), nil)
		if err := got.check(bits); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Counts, want.Counts) || !slices.Equal(got.Codes.Data, want.Codes.Data) {
			t.Fatalf("%d bits: %v of %v, want %v of %v", bits, got.Counts, got.Codes.Data, want.Counts, want.Codes.Data)
		}
	}
}

func TestRankingKeepsTheMostFrequentCodes(t *testing.T) {
	codes := hamming.NewCodes(2*MaxRankingCodes, 32)
	for i := range codes.Data {
		codes.Data[i] = uint64(i*i%(MaxRankingCodes+77)) << 32
	}
	r := NewRanking(ByExpected, 1, 0, codes, nil)
	if err := r.check(32); err != nil {
		t.Error(err)
	}
	if r.Codes.Len() > MaxRankingCodes || !slices.IsSortedFunc(r.Counts, func(a, b uint32) int { return int(b) - int(a) }) {
		t.Errorf("%d codes with the counts %v", r.Codes.Len(), r.Counts[:10])
	}
}

func TestBadRankings(t *testing.T) {
	good := randomRanking(rand.New(rand.NewPCG(1, 9)), 16, 30)
	for name, spoil := range map[string]func(r *Ranking){
		"unknown": func(r *Ranking) { r.Rank = "best" }, "tau": func(r *Ranking) { r.Tau = math.NaN() },
		"mix": func(r *Ranking) { r.Mix = 2 }, "count": func(r *Ranking) { r.Counts = r.Counts[1:] },
		"zero": func(r *Ranking) { r.Counts = slices.Clone(r.Counts); r.Counts[len(r.Counts)-1] = 0 },
		"twice": func(r *Ranking) {
			r.Codes.Data, r.Counts = slices.Clone(r.Codes.Data), slices.Repeat([]uint32{1}, len(r.Counts))
			r.Codes.Data[1] = r.Codes.Data[0]
		},
	} {
		r := *good
		if spoil(&r); r.check(16) == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if good.check(17) == nil {
		t.Error("codes of another length: no error")
	}
	c := new(codec)
	good.code(c)
	b := c.b
	for n := 1; n < len(b); n++ {
		c := read(b[:n])
		(&Ranking{Codes: hamming.NewCodes(0, 16)}).code(c)
		if c.end() == nil {
			t.Fatalf("%d of %d bytes: no error", n, len(b))
		}
	}
}
