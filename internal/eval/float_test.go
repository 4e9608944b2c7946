package eval

import (
	"context"
	"math"
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

// cosine is the textbook formula, with 0 if one vector is zero and 1 if both are.
func cosine(a, b []float32) float64 {
	dot, aa, bb := 0.0, 0.0, 0.0
	for j := range a {
		dot += float64(a[j]) * float64(b[j])
		aa += float64(a[j]) * float64(a[j])
		bb += float64(b[j]) * float64(b[j])
	}
	switch {
	case aa == 0 && bb == 0:
		return 1
	case aa == 0 || bb == 0:
		return 0
	}
	return dot / math.Sqrt(aa*bb)
}

// By definition the greatest cosine or inner product comes first. Inner products of small numbers have ties and either
// sign; for cosines the length must not matter, however large or small.
func TestAnglesAndProductsEqualTheDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	for trial := range 60 {
		n, m, metric := 1+rng.IntN(5), 2+rng.IntN(5), Inner
		queries, base := vectors.Matrix{Rows: n, Cols: 3}, vectors.Matrix{Rows: m, Cols: 3}
		for _, x := range []*vectors.Matrix{&queries, &base} {
			for range x.Rows * x.Cols {
				x.Data = append(x.Data, float32(rng.IntN(5)-2))
			}
		}
		likeness := func(a, b []float32) float64 {
			return float64(a[0])*float64(b[0]) + float64(a[1])*float64(b[1]) + float64(a[2])*float64(b[2])
		}
		if trial%2 == 0 {
			metric, likeness = Cosine, cosine
			for i := range base.Data {
				base.Data[i] = float32(math.Ldexp(rng.NormFloat64(), 10*(i/3)-30))
			}
		}
		truth := randomTruth(rng, trial%3, n, m)
		var p problem
		for q := range n {
			distance, mark := make([]int, m), make([]uint8, m) // the number of nearer items
			for i := range m {
				for j := range m {
					if likeness(queries.Row(q), base.Row(j)) > likeness(queries.Row(q), base.Row(i)) {
						distance[i]++
					}
				}
			}
			truth.Mark(q, mark)
			p.distance, p.mark = append(p.distance, distance), append(p.mark, mark)
		}
		want := p.report([]int{1, 2}, 3, min(4, m), 96)
		got, err := RetrievalFloat(t.Context(), queries, base, metric, truth, Options{K: []int{1, 2}, Cut: 3, CurveTo: 4})
		if err != nil {
			t.Fatal(err)
		}
		// The curve over ranks has its own test.
		got.PRCurve, got.PRArea = want.PRCurve, want.PRArea
		equalNumbers(t, string(metric), got, want)
	}
}

// Zeros stand between acute and obtuse angles, and are equal to zeros.
func TestCosineOfZeros(t *testing.T) {
	base := vectors.Matrix{Rows: 3, Cols: 2, Data: []float32{-1, 0.1, 0, 0, 5, 4}}
	for _, c := range []struct {
		query []float32
		order []int // of the base items
	}{{[]float32{1, 1}, []int{2, 1, 0}}, {[]float32{-3, 0}, []int{0, 1, 2}}} {
		for at, item := range c.order {
			class := make([]int32, 3)
			class[item] = 1
			r, err := RetrievalFloat(context.Background(), vectors.Matrix{Rows: 1, Cols: 2, Data: c.query}, base, Cosine, ByClass([]int32{1}, class), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if want := 1 / float64(at+1); math.Abs(r.MAP-want) > 1e-12 {
				t.Errorf("query %v: item %d has precision %v, want %v", c.query, item, r.MAP, want)
			}
		}
	}
	r, err := RetrievalFloat(context.Background(), vectors.Matrix{Rows: 1, Cols: 2, Data: []float32{0, 0}}, base, Cosine, ByClass([]int32{1}, []int32{0, 1, 0}), Options{})
	if err != nil || r.MAP != 1 {
		t.Errorf("zeros do not find zeros: %v %v", r, err)
	}
}

// Values at the limits of float32 are ranked.
func TestInnerExtremes(t *testing.T) {
	// The largest product comes first, however large: MaxFloat32², MaxFloat32, 0, -MaxFloat32².
	one := vectors.Matrix{Rows: 1, Cols: 2, Data: []float32{math.MaxFloat32, 1}}
	four := vectors.Matrix{Rows: 4, Cols: 2, Data: []float32{0, 0, -math.MaxFloat32, 0, math.MaxFloat32, 0, 1, 0}}
	for at, item := range []int{2, 3, 0, 1} {
		class := make([]int32, 4)
		class[item] = 1
		r, err := RetrievalFloat(context.Background(), one, four, Inner, ByClass([]int32{1}, class), Options{})
		if err != nil || math.Abs(r.MAP-1/float64(at+1)) > 1e-12 {
			t.Errorf("item %d has precision %v, want %v; %v", item, r.MAP, 1/float64(at+1), err)
		}
	}
	if _, err := RetrievalFloat(context.Background(), one, vectors.Matrix{Rows: 4}, Inner, ByClass([]int32{1}, make([]int32, 4)),
		Options{}); err == nil {
		t.Error("vectors of different lengths were judged")
	}
}
