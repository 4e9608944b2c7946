package eval

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"hashgrove/internal/vectors"
)

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

// By definition the greatest cosine comes first, on vectors without ties.
func TestCosineRanksByAngle(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	queries, base := randomVectors(rng, 30, 7), randomVectors(rng, 120, 7)
	for i := range base.Data {
		base.Data[i] -= 128
	}
	for i := range queries.Data {
		queries.Data[i] -= 128
	}
	for i := range 20 { // the length must not matter, however large or small
		scale := float32(math.Ldexp(1, rng.IntN(180)-90))
		for j := range base.Cols {
			base.Row(i)[j] *= scale
		}
	}
	clear(base.Row(60))
	qc, bc := randomClasses(rng, 30, 3), randomClasses(rng, 120, 3)
	p := problem{}
	want := 0.0
	for q := range queries.Rows {
		distance, mark := make([]int, base.Rows), make([]uint8, base.Rows)
		for i := range distance {
			for j := range base.Rows {
				if cosine(queries.Row(q), base.Row(j)) > cosine(queries.Row(q), base.Row(i)) {
					distance[i]++
				}
			}
		}
		ByClass(qc, bc).Mark(q, mark)
		p.distance, p.mark = append(p.distance, distance), append(p.mark, mark)
		want += p.sumOfPrecisions(q, p.stable(q)) / float64(p.relevant(q)*queries.Rows)
	}
	r, err := RetrievalFloat(context.Background(), queries, base, Cosine, ByClass(qc, bc), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(r.MAP-want) > 1e-9 || r.Bits != 32*7 {
		t.Errorf("MAP %v, want %v; %d bits", r.MAP, want, r.Bits)
	}
	euclid, err := RetrievalFloat(context.Background(), queries, base, Euclidean, ByClass(qc, bc), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(euclid.MAP-want) < 1e-6 {
		t.Error("the ranking by distance is the one by angle: this test cannot fail")
	}
	if _, err := RetrievalFloat(context.Background(), queries, randomVectors(rng, 9, 6), Cosine, ByClass(qc, bc[:9]), Options{}); err == nil {
		t.Error("vectors of different lengths were judged")
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
