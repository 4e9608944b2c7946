package main

import (
	"context"
	"math"
	"testing"

	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/fasthash/inference"
)

func TestCurveIsReadAlongLines(t *testing.T) {
	xs, ys := []float64{1, 10, 20}, []float64{1, 0.5, 0.3}
	for x, want := range map[float64]float64{0.5: 1, 1: 1, 10: 0.5, 15: 0.4, 20: 0.3, 21: 0} {
		if got := heightAt(xs, ys, x); math.Abs(got-want) > 1e-12 {
			t.Errorf("at %v: %v, want %v", x, got, want)
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
