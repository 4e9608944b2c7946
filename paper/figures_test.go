package main

import (
	"context"
	"math"
	"testing"

	"hashgrove/internal/eval"
	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/fasthash/inference"
)

func TestCurveIsReadAlongLines(t *testing.T) {
	c := curve{
		Rank: []eval.CurvePoint{{Rank: 1, Precision: 1}, {Rank: 10, Precision: 0.5}, {Rank: 20, Precision: 0.3}},
		Reach: []eval.PRPoint{{Radius: 0, Recall: 0.2, Precision: 0.8}, {Radius: 1, Recall: 0.6, Precision: 0.4},
			{Radius: 2, Recall: 1, Precision: 0.1}},
	}
	for rank, want := range map[int]float64{1: 1, 10: 0.5, 15: 0.4, 20: 0.3, 21: 0} {
		x, y := c.byRank()
		if got := heightAt(x, y, float64(rank)); math.Abs(got-want) > 1e-12 {
			t.Errorf("rank %d: %v, want %v", rank, got, want)
		}
	}
	for recall, want := range map[float64]float64{0.1: 0.8, 0.2: 0.8, 0.4: 0.6, 0.6: 0.4, 1: 0.1} {
		x, y := c.byRecall()
		if got := heightAt(x, y, recall); math.Abs(got-want) > 1e-12 {
			t.Errorf("recall %v: %v, want %v", recall, got, want)
		}
	}
}

// With ten classes no code has an objective under (1 - 1/9)² for dissimilar and 0 for similar pairs in the mean. The
// paper's 0.4158 is 1.05 times that bound for as many similar as dissimilar pairs.
func TestStep1ReachesThePaper(t *testing.T) {
	class := make([]int32, 400)
	for i := range class {
		class[i] = int32(i % 10)
	}
	y, err := affinity.ByClass(class)
	if err != nil {
		t.Fatal(err)
	}
	sample, err := affinity.Sample(y, 100, 100, 1)
	if err != nil {
		t.Fatal(err)
	}
	bound := func(similar, dissimilar int64) float64 {
		return float64(dissimilar) / float64(similar+dissimilar) * 64 / 81
	}
	few, all := bound(sample.Counts()), bound(y.Counts())
	v, err := infer(context.Background(), y, 64, inference.Options{Method: inference.BlockGC}, pairsDrawn, 1)
	if err != nil {
		t.Fatal(err)
	}
	if v.Objective != v.Drawn || v.Drawn < few || v.Drawn > 1.05*few || v.Block != 40 || v.Rows != 400 {
		t.Errorf("drawn pairs: %+v, bound %v", v, few)
	}
	w, err := infer(context.Background(), y, 64, inference.Options{Method: inference.BlockGC}, pairsAll, 1)
	if err != nil {
		t.Fatal(err)
	}
	if w.Objective < all || w.Objective > 1.05*all || w.Drawn < few || w.Drawn > 1.05*few {
		t.Errorf("all pairs: %+v, bounds %v and %v", w, all, few)
	}
	w, err = infer(context.Background(), y, 64, inference.Options{Method: inference.BlockGC}, pairsBalanced, 1)
	if err != nil {
		t.Fatal(err)
	}
	if half := 64.0 / 81 / 2; w.Objective < half-0.003 || w.Objective > 1.05*half { // the weight is a whole number
		t.Errorf("balanced pairs: %+v", w)
	}
}
