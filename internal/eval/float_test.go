package eval

import (
	"context"
	"math/rand/v2"
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/vectors"
)

// asVectors writes codes as vectors of 0 and 1: their squared distance is the Hamming distance.
func asVectors(c hamming.Codes) vectors.Matrix {
	m := vectors.Matrix{Rows: c.Len(), Cols: c.Bits, Data: make([]float32, c.Len()*c.Bits)}
	for i := range m.Rows {
		for b := range m.Cols {
			if c.Bit(i, b) {
				m.Data[i*m.Cols+b] = 1
			}
		}
	}
	return m
}

// Vectors of 0 and 1 rank as their codes do, ties included.
func TestFloatEqualsCodesOnBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for trial := range 12 {
		n, m := 1+rng.IntN(150), 1+rng.IntN(80)
		queries, base := randomCodes(rng, n, 12, 12), randomCodes(rng, m, 12, 12)
		truth := randomTruth(rng, trial%3, n, m)
		o := Options{Cut: 1 + rng.IntN(100), CurveTo: 7}
		want, err := Retrieval(context.Background(), queries, base, truth, o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := RetrievalFloat(context.Background(), asVectors(queries), asVectors(base), Euclidean, truth, o)
		if err != nil {
			t.Fatal(err)
		}
		if got.Bits != 32*12 || got.DistinctCodes != 0 {
			t.Errorf("trial %d: bits %d, distinct %d", trial, got.Bits, got.DistinctCodes)
		}
		// The curve over ranks has its own test.
		got.Bits, got.PRCurve, got.PRArea = want.Bits, want.PRCurve, want.PRArea
		equalNumbers(t, "vectors", got, want)
	}
}

func TestFloatCurveOverRanks(t *testing.T) {
	// One query; its list is hit, miss, hit, hit by distance.
	queries := vectors.Matrix{Rows: 1, Cols: 2, Data: []float32{1, 1}}
	base := vectors.Matrix{Rows: 4, Cols: 2, Data: []float32{9, 9, 1, 1.5, 3, 3, 1, 2}}
	r, err := RetrievalFloat(context.Background(), queries, base, Euclidean, ByClass([]int32{1}, []int32{1, 1, 1, 0}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	third := 1.0 / 3
	want := []PRPoint{{1, third, 1}, {2, third, 0.5}, {3, 2 * third, 2 * third}, {4, 1, 0.75}}
	for i, p := range r.PRCurve {
		if p.Radius != want[i].Radius || !near(p.Recall, want[i].Recall) || !near(p.Precision, want[i].Precision) {
			t.Errorf("point %d is %+v, want %+v", i, p, want[i])
		}
	}
	if !near(r.PRArea, trapezoids(want)) || !near(r.MAP, (1+2*third+0.75)/3) || r.MAPLow != r.MAP || r.MAPHigh != r.MAP {
		t.Errorf("area %v, MAP %v", r.PRArea, r.MAP)
	}
}

// randomVectors draws vectors whose distances are exact in float32.
func randomVectors(rng *rand.Rand, rows, cols int) vectors.Matrix {
	m := vectors.Matrix{Rows: rows, Cols: cols, Data: make([]float32, rows*cols)}
	for i := range m.Data {
		m.Data[i] = float32(rng.IntN(256))
	}
	return m
}
