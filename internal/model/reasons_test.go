package model

import (
	"math/rand/v2"
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/vectors"
)

// byteTrees is a model of small random trees over three columns of bytes.
func byteTrees(rng *rand.Rand, bits, trees, depth int) *Binned {
	m := &Binned{Quantizer: vectors.Quantizer{Lo: []float32{0, 0, 0}, Hi: []float32{255, 255, 255}}}
	for range bits {
		e := &Ensemble{Depth: depth}
		for range trees {
			for range Splits(depth) {
				e.Feature = append(e.Feature, uint32(rng.IntN(3)))
				e.Bin = append(e.Bin, uint8(rng.IntN(256)))
			}
			e.Leaf = append(e.Leaf, rng.Uint64()>>(64-1<<depth))
			e.Weight = append(e.Weight, 1+rng.Int32N(100))
		}
		m.Functions = append(m.Functions, e)
	}
	return m
}

func TestReasonsSeparateWhatTheyExplain(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	m := byteTrees(rng, 8, 9, 3)
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	vector := func() []float32 {
		return []float32{float32(rng.IntN(256)), float32(rng.IntN(256)), float32(rng.IntN(256))}
	}
	differing := 0
	for range 50 {
		a, b := vector(), vector()
		codeA, _ := (&Model{Encoder: m}).EncodeRow(a)
		codeB, _ := (&Model{Encoder: m}).EncodeRow(b)
		match := hamming.Compare(codeA, codeB, 8)
		if match.Distance+len(match.Agree) != 8 {
			t.Fatalf("%+v", match)
		}
		for _, k := range match.Differ {
			differing++
			reasons, err := Reasons(m, k, a, b, 5)
			if err != nil || len(reasons) == 0 || len(reasons) > 5 {
				t.Fatalf("%v, %v", reasons, err)
			}
			for i, r := range reasons {
				if (r.A < r.Threshold) == (r.B < r.Threshold) || r.A != a[r.Feature] || r.B != b[r.Feature] {
					t.Errorf("bit %d: %+v does not tell %v from %v", k, r, a, b)
				}
				if r.Weight <= 0 || i > 0 && r.Weight > reasons[i-1].Weight {
					t.Errorf("bit %d: reasons %+v out of order", k, reasons)
				}
			}
		}
		for _, k := range match.Agree {
			reasons, err := Reasons(m, k, a, b, 100)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range reasons {
				if (r.A < r.Threshold) != (r.B < r.Threshold) || r.A != a[r.Feature] || r.B != b[r.Feature] || r.Weight <= 0 {
					t.Errorf("bit %d: %+v", k, r)
				}
			}
		}
	}
	if differing < 20 {
		t.Errorf("only %d differing bits", differing)
	}
	if _, err := Reasons(m, 8, make([]float32, 3), make([]float32, 3), 1); err == nil {
		t.Error("a bit beyond the model was explained")
	}
}

// TestPartsOfHyperplanes: the parts of all features, taken from the bin of zero, and what zeros alone score make up the
// score, and the reasons are the features that a double loop over their definition finds.
func TestPartsOfHyperplanes(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	m := &Binned{Quantizer: vectors.Quantizer{Lo: []float32{-3, 0, -1, 1}, Hi: []float32{3, 1, 4, 2}}}
	for range 6 {
		f := &Linear{Bias: rng.Int64N(2000) - 1000}
		for range 4 {
			f.Weight = append(f.Weight, rng.Int32N(41)-20)
		}
		m.Functions = append(m.Functions, f)
	}
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	vector := func() []float32 {
		x := make([]float32, 4)
		for j := range x {
			x[j] = float32(rng.NormFloat64())
		}
		return x
	}
	seen := map[bool]int{}
	for range 60 {
		a, b := vector(), vector()
		for k := range m.Functions {
			base := m.Score(k, make([]float32, 4))
			part := func(x []float32, j int) int64 {
				alone := make([]float32, 4)
				alone[j] = x[j]
				return m.Score(k, alone) - base
			}
			scoreA, scoreB := int64(slowMargin(m, k, a)), int64(slowMargin(m, k, b))
			reasons, err := Reasons(m, k, a, b, 9)
			if err != nil {
				t.Fatal(err)
			}
			found := map[int]Reason{}
			for _, r := range reasons {
				found[r.Feature] = r
			}
			sumA, sumB := base, base
			for j := range 4 {
				pa, pb := part(a, j), part(b, j)
				sumA, sumB = sumA+pa, sumB+pb
				sign := int64(1)
				if scoreB < 0 {
					sign = -1
				}
				want := sign * (pb - pa)
				if (scoreA < 0) == (scoreB < 0) {
					want = min(sign*pa, sign*pb)
				}
				r, ok := found[j]
				if ok != (want > 0) || ok && (r.Weight != want || r.PartA != pa || r.PartB != pb) {
					t.Fatalf("bit %d, feature %d: %+v, want the weight %d and the parts %d and %d", k, j, r, want, pa, pb)
				}
			}
			if sumA != scoreA || sumB != scoreB || m.Score(k, a) != scoreA {
				t.Fatalf("bit %d: the parts sum to %d and %d, the scores are %d and %d", k, sumA, sumB, scoreA, scoreB)
			}
			seen[(scoreA < 0) == (scoreB < 0)]++
		}
	}
	if seen[true] < 20 || seen[false] < 20 {
		t.Errorf("equal and different bits: %v", seen)
	}
}
