package eval

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/vectors"
)

// nearestOfClass is the definition: all relevant items sorted by the distance of their directions, and the chance of
// each of the first of them to be among the first ten by the given distances. ok is false without relevant items.
func nearestOfClass(query []float32, base vectors.Matrix, mark []uint8, distance []int) (share float64, ok bool) {
	var relevant []int
	apart := make([]float64, base.Rows)
	for i, m := range mark {
		if m != Relevant {
			continue
		}
		relevant = append(relevant, i)
		for j, v := range query {
			d := float64(v) - float64(base.Row(i)[j])
			apart[i] += float64(d * d)
		}
	}
	slices.SortStableFunc(relevant, func(a, b int) int { return cmp.Compare(apart[a], apart[b]) })
	relevant = relevant[:min(10, len(relevant))]
	for _, i := range relevant {
		nearer, tied := 0, 0
		for j, d := range distance {
			switch {
			case mark[j] == Ignored:
			case d < distance[i]:
				nearer++
			case d == distance[i]:
				tied++
			}
		}
		share += min(1, max(0, float64(10-nearer)/float64(tied))) / float64(len(relevant))
	}
	return share, len(relevant) > 0
}

func TestNearestOfClassEqualsTheDefinition(t *testing.T) {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(41, 42))
	for trial := range 30 {
		nq, nb, cols := 1+rng.IntN(70), 1+rng.IntN(400), 1+rng.IntN(12)
		if trial%5 == 0 {
			nb = 1 + rng.IntN(12)
		}
		detail := trial % 3 * 4
		queries, base := randomCodes(rng, nq, 24, 8), randomCodes(rng, nb, 24, 8)
		x, y := hardVectors(rng, trial%5, nq, cols), hardVectors(rng, trial%5, nb, cols)
		truth := randomTruth(rng, trial%3, nq, nb)
		var rows []int // of the queries to look at
		some := vectors.Matrix{Cols: cols}
		for q := range nq {
			if trial%2 == 0 || rng.IntN(2) == 0 {
				rows, some.Rows, some.Data = append(rows, q), some.Rows+1, append(some.Data, x.Row(q)...)
			}
		}
		if len(rows) == 0 {
			continue
		}
		n, err := NewOfClass(ctx, some, rows, truth, 2)
		if err != nil {
			t.Fatal(err)
		}
		for lo := 0; lo < nb; {
			hi := min(nb, lo+1+rng.IntN(150))
			if err := n.Add(ctx, y.Slice(lo, hi), 1+rng.IntN(3)); err != nil {
				t.Fatal(err)
			}
			lo = hi
		}
		margins := vectors.Matrix{Rows: nq, Cols: 24, Data: make([]float32, nq*24)}
		for i := range margins.Data {
			margins.Data[i] = float32(rng.NormFloat64())
		}
		unit, of := directions(x), directions(y)
		want := [2]float64{}
		judged, mark := 0, make([]uint8, nb)
		for _, q := range rows {
			truth.Mark(q, mark)
			byHamming, byMargins := make([]int, nb), make([]int, nb)
			equal, look := hamming.EqualWeights(24, detail), make([]uint64, 1)
			hamming.SetSigns(look, margins.Row(q))
			for i := range nb {
				byHamming[i] = hamming.WeightedDistance(queries.Row(q), base.Row(i), equal)
				byMargins[i] = hamming.WeightedDistance(look, base.Row(i), hamming.Weights(margins.Row(q), detail))
			}
			a, ok := nearestOfClass(unit.Row(q), of, mark, byHamming)
			b, _ := nearestOfClass(unit.Row(q), of, mark, byMargins)
			if ok {
				judged, want[0], want[1] = judged+1, want[0]+a, want[1]+b
			}
		}
		for k := range want {
			want[k] /= float64(max(1, judged))
		}
		o := Options{OfClass: n, Detail: detail, Threads: 1 + trial%3}
		first, err := Retrieval(ctx, queries, base, truth, o)
		if err != nil {
			t.Fatal(err)
		}
		second, err := RetrievalMargins(ctx, queries, base, margins, truth, o)
		if err != nil {
			t.Fatal(err)
		}
		if !near(first.NearestOfClass10, want[0]) || !near(second.NearestOfClass10, want[1]) ||
			first.NearestOfClassQueries != judged {
			t.Errorf("trial %d: %v and %v of %d, by definition %v of %d", trial, first.NearestOfClass10,
				second.NearestOfClass10, first.NearestOfClassQueries, want, judged)
		}
		plain, err := Retrieval(ctx, queries, base, truth, Options{Detail: detail})
		if err != nil || plain.MAP != first.MAP || plain.ReachablePrecision != first.ReachablePrecision {
			t.Errorf("trial %d: it changes MAP from %v to %v; %v", trial, plain.MAP, first.MAP, err)
		}
	}
}
