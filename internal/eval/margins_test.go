package eval

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
	"hashgrove/internal/vectors"
)

// randomMargins draws margins of which many are alike, and some queries that are sure of nothing.
func randomMargins(rng *rand.Rand, queries, bits int) vectors.Matrix {
	x := vectors.Matrix{Rows: queries, Cols: bits, Data: make([]float32, queries*bits)}
	for i := range x.Data {
		x.Data[i] = []float32{0, -1, 1, 2, -40, float32(rng.NormFloat64())}[rng.IntN(6)]
	}
	clear(x.Row(rng.IntN(queries)))
	return x
}

func TestRetrievalMarginsEqualsTheDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 2))
	for trial := range 90 {
		n, m := 1+rng.IntN(4), 1+rng.IntN(7)
		bits := []int{1, 8, 64, 70, 130}[rng.IntN(5)]
		vary := 1 + rng.IntN(6)
		queries, base := randomCodes(rng, n, bits, vary), randomCodes(rng, m, bits, vary)
		margins, truth := randomMargins(rng, n, bits), randomTruth(rng, trial%3, n, m)
		k, cut, curve := []int{1, max(1, m/2), m}, 1+rng.IntN(8), 1+rng.IntN(m)
		got, err := RetrievalMargins(context.Background(), queries, base, margins, truth,
			Options{K: k, Cut: cut, CurveTo: curve})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(k)
		p := problemOf(queries, base, truth, func(q, i int) int {
			look := make([]uint64, base.Words)
			hamming.SetSigns(look, margins.Row(q))
			return hamming.WeightedDistance(look, base.Row(i), hamming.Weights(margins.Row(q), 0))
		})
		p.unit = hamming.BitUnits
		want := p.report(slices.Compact(k), cut, curve, bits)
		equalNumbers(t, fmt.Sprintf("trial %d: %d queries, %d items, %d bits", trial, n, m, bits), got, want)
		if t.Failed() {
			return
		}
	}
}

func TestMarginRefusals(t *testing.T) {
	a, b := hamming.NewCodes(2, 2048), hamming.NewCodes(3, 2048)
	margins := vectors.Matrix{Rows: 2, Cols: 2048, Data: make([]float32, 2*2048)}
	truth := ByClass(make([]int32, 2), make([]int32, 3))
	_, err := RetrievalMargins(context.Background(), a, b, margins, truth, Options{})
	if d := message.Differs(err, "too-many-bits", "2048"); d != "" {
		t.Error(d)
	}
	defer func() {
		if p := recover(); p != marginsMisfit {
			t.Errorf("recovered %v", p)
		}
	}()
	_, _ = RetrievalMargins(context.Background(), b, a, margins, truth, Options{})
}
