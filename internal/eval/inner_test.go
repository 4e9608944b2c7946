package eval

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"hashgrove/internal/vectors"
)

// The whole report of the ranking by the definition, with ties and negative products.
func TestInnerEqualsTheDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	small := func(rows int) vectors.Matrix {
		m := vectors.Matrix{Rows: rows, Cols: 3, Data: make([]float32, rows*3)}
		for i := range m.Data {
			m.Data[i] = float32(rng.IntN(5) - 2)
		}
		return m
	}
	negative, tied := 0, 0
	for trial := range 30 {
		n, m := 1+rng.IntN(5), 2+rng.IntN(5)
		queries, base := small(n), small(m)
		truth := randomTruth(rng, trial%3, n, m)
		var p problem
		for q := range n {
			distance, mark, seen := make([]int, m), make([]uint8, m), map[int]bool{}
			for i := range m {
				for j, v := range queries.Row(q) {
					distance[i] -= int(v * base.Row(i)[j])
				}
				if distance[i] > 0 {
					negative++
				}
				if seen[distance[i]] {
					tied++
				}
				seen[distance[i]] = true
			}
			truth.Mark(q, mark)
			p.distance, p.mark = append(p.distance, distance), append(p.mark, mark)
		}
		want := p.report([]int{1, 2}, 3, min(4, m), 96)
		got, err := RetrievalFloat(context.Background(), queries, base, Inner, truth, Options{K: []int{1, 2}, Cut: 3, CurveTo: 4})
		if err != nil {
			t.Fatal(err)
		}
		// The curve over ranks has its own test.
		got.PRCurve, got.PRArea = want.PRCurve, want.PRArea
		equalNumbers(t, "inner products", got, want)
	}
	if negative == 0 || tied == 0 {
		t.Errorf("%d negative products, %d ties: the test says nothing about them", negative, tied)
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
