package eval

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/hamming"
)

// The definition: the affinity plus 1 of every base item, and the buckets of equal ones, highest first.
func TestWeightedRankingIsByAffinity(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, size := range []struct{ bits, groups int }{{1, 1}, {12, 12}, {12, 5}, {12, 1}, {70, 40}, {70, 3}} {
		queries, base := randomCodes(rng, 9, size.bits, size.bits), randomCodes(rng, 60, size.bits, size.bits)
		truth := randomTruth(rng, 2, 9, 60)
		weights := make([]hamming.BitWeight, size.bits)
		for k := range weights {
			weights[k] = hamming.BitWeight{Group: 7 * rng.IntN(size.groups), Weight: rng.Float64()}
		}
		r := &weightedRanker{queries, base, partsOf(weights), make([]uint64, base.Words), newSorter(base.Len(), 20)}
		for q := range queries.Len() {
			mark := make([]uint8, base.Len())
			truth.Mark(q, mark)
			type item struct {
				affinity float64
				mark     uint8
			}
			var items []item
			for i := range base.Len() {
				if mark[i] == Ignored {
					continue
				}
				sum := map[int]float64{}
				for k, w := range weights {
					if queries.Bit(q, k) == base.Bit(i, k) {
						sum[w.Group] += w.Weight
					} else {
						sum[w.Group] -= w.Weight
					}
				}
				affinity := 1.0
				for _, s := range sum {
					affinity *= 1 + s
				}
				items = append(items, item{affinity, mark[i]})
			}
			slices.SortStableFunc(items, func(a, b item) int {
				switch {
				case math.Abs(a.affinity-b.affinity) < 1e-12*math.Abs(a.affinity):
					return 0
				case a.affinity > b.affinity:
					return -1
				}
				return 1
			})
			l := r.rank(q, mark)
			at := 0
			for bucket, n := range l.items {
				relevant := 0
				for _, it := range items[at : at+n] {
					if d := math.Abs(it.affinity - items[at].affinity); d > 1e-6*math.Abs(it.affinity) {
						t.Fatalf("%d bits in %d groups, query %d: affinities %v and %v tie", size.bits, size.groups, q, it.affinity, items[at].affinity)
					}
					relevant += int(it.mark)
				}
				if relevant != l.relevant[bucket] {
					t.Fatalf("%d bits in %d groups, query %d: bucket %d has %d relevant items, not %d", size.bits, size.groups, q, bucket, relevant, l.relevant[bucket])
				}
				at += n
			}
			if at != len(items) {
				t.Fatalf("%d of %d items are ranked", at, len(items))
			}
			for i := range min(20, len(items)) {
				if l.hits[i] != items[i].mark {
					t.Fatalf("place %d is %d, not %d", i, l.hits[i], items[i].mark)
				}
			}
		}
	}
}

// Equal weights of bits apart from each other rank as Hamming distance does.
func TestWeightedEqualsHammingOnEqualWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	queries, base := randomCodes(rng, 30, 24, 24), randomCodes(rng, 200, 24, 24)
	truth := randomTruth(rng, 1, 30, 200)
	weights := make([]hamming.BitWeight, 24)
	for k := range weights {
		weights[k] = hamming.BitWeight{Group: k, Weight: 0.5}
	}
	want, err := Retrieval(context.Background(), queries, base, truth, Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := RetrievalWeighted(context.Background(), queries, base, weights, truth, Options{Threads: 3})
	if err != nil {
		t.Fatal(err)
	}
	got.PRCurve, got.PRArea = want.PRCurve, want.PRArea
	equalNumbers(t, "weighted", got, want)

	weights[3].Weight = math.NaN()
	if _, err := RetrievalWeighted(context.Background(), queries, base, weights, truth, Options{}); err == nil {
		t.Error("a weight of NaN is taken")
	}
}
