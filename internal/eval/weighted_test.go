package eval

import (
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/hamming"
)

// By definition the highest affinity comes first, and equal ones are ties.
func TestWeightedRankingIsByAffinity(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, size := range []struct{ bits, groups int }{{1, 1}, {12, 12}, {12, 5}, {12, 1}, {70, 40}, {70, 3}} {
		queries, base := randomCodes(rng, 9, size.bits, 3), randomCodes(rng, 6, size.bits, 3)
		truth := randomTruth(rng, 2, 9, 6)
		weights := make([]hamming.BitWeight, size.bits)
		for k := range weights {
			weights[k] = hamming.BitWeight{Group: 7 * rng.IntN(size.groups), Weight: float64(1+rng.IntN(4)) / 4}
		}
		affinity := func(q, i int) float64 {
			product, sum := 1.0, map[int]float64{}
			for k, w := range weights {
				if queries.Bit(q, k) == base.Bit(i, k) {
					sum[w.Group] += w.Weight
				} else {
					sum[w.Group] -= w.Weight
				}
			}
			for _, g := range slices.Sorted(maps.Keys(sum)) {
				product *= 1 + sum[g]
			}
			return product
		}
		p := problemOf(queries, base, truth, func(q, i int) (above int) {
			for j := range base.Len() {
				if affinity(q, j) > affinity(q, i)+1e-6*math.Abs(affinity(q, i)) {
					above++
				}
			}
			return above
		})
		want := p.report([]int{1, 3}, 5, 6, size.bits)
		got, err := RetrievalWeighted(context.Background(), queries, base, weights, truth,
			Options{K: []int{1, 3}, Cut: 5, CurveTo: 6})
		if err != nil {
			t.Fatal(err)
		}
		got.PRCurve, got.PRArea = want.PRCurve, want.PRArea // over ranks, which has a test of its own
		equalNumbers(t, "weighted", got, want)
	}
}

func TestWeightsThatCannotBe(t *testing.T) {
	codes, truth := hamming.NewCodes(2, 2), ByClass(make([]int32, 2), make([]int32, 2))
	weights := []hamming.BitWeight{{Group: 0, Weight: 0.5}, {Group: 1, Weight: math.NaN()}}
	if _, err := RetrievalWeighted(context.Background(), codes, codes, weights, truth, Options{}); err == nil {
		t.Error("a weight of NaN is taken")
	}
}
