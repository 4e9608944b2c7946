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

func TestReasonsOfHyperplanes(t *testing.T) {
	m := &Binned{
		Quantizer: vectors.Quantizer{Lo: []float32{0, 0}, Hi: []float32{255, 255}},
		Functions: []Function{&Linear{Weight: []int32{2, -1}, Bias: -100}},
	}
	reasons, err := Reasons(m, 0, []float32{10, 10}, []float32{100, 20}, 9)
	if err != nil || len(reasons) != 1 || reasons[0].Feature != 0 || reasons[0].Weight != 180 {
		t.Errorf("%+v, %v", reasons, err)
	}
}
