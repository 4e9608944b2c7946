package eval

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
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
		k, radii, cut, curve := []int{1, max(1, m/2), m}, []int{0, 2, 900}, 1+rng.IntN(8), 1+rng.IntN(m)
		got, err := RetrievalMargins(context.Background(), queries, base, margins, truth,
			Options{K: k, Radii: radii, Cut: cut, CurveTo: curve})
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
		want := p.report(slices.Compact(k), radii, cut, curve, bits)
		equalNumbers(t, fmt.Sprintf("trial %d: %d queries, %d items, %d bits", trial, n, m, bits), got, want)
		if t.Failed() {
			return
		}
	}
}

// Queries that are as sure of every bit as of the others rank by Hamming distance.
func TestEqualMarginsRankByHammingDistance(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	queries, base := randomCodes(rng, 40, 70, 70), randomCodes(rng, 300, 70, 70)
	truth := ByClass(randomClasses(rng, 40, 4), randomClasses(rng, 300, 4))
	margins := vectors.Matrix{Rows: 40, Cols: 70, Data: make([]float32, 40*70)}
	for i := range margins.Data {
		if margins.Data[i] = 3; !queries.Bit(i/70, i%70) {
			margins.Data[i] = -3
		}
	}
	want, err := Retrieval(context.Background(), queries, base, truth, Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, threads := range []int{1, 3} {
		got, err := RetrievalMargins(context.Background(), queries, base, margins, truth, Options{Threads: threads})
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%d threads: MAP %v, want %v (%v)", threads, got.MAP, want.MAP, err)
		}
	}
}

func TestMarginRefusals(t *testing.T) {
	a, b := hamming.NewCodes(2, 2048), hamming.NewCodes(3, 2048)
	margins := vectors.Matrix{Rows: 2, Cols: 2048, Data: make([]float32, 2*2048)}
	truth := ByClass(make([]int32, 2), make([]int32, 3))
	_, err := RetrievalMargins(context.Background(), a, b, margins, truth, Options{})
	if d := fault.Differs(err, "too-many-bits", "2048"); d != "" {
		t.Error(d)
	}
	defer func() {
		if p := recover(); p != marginsMisfit {
			t.Errorf("recovered %v", p)
		}
	}()
	_, _ = RetrievalMargins(context.Background(), b, a, margins, truth, Options{})
}

// BenchmarkRetrievalMargins is BenchmarkRetrieval by margins: of codes near their class, and of ten codes.
func BenchmarkRetrievalMargins(b *testing.B) {
	rng := rand.New(rand.NewPCG(17, 18))
	const n, m, bits = 1000, 50_000, 64
	classes, noisy := randomClasses(rng, n+m, 10), randomCodes(rng, n+m, bits, bits)
	few := hamming.NewCodes(n+m, bits)
	for i, c := range classes {
		few.Data[i] = rand.New(rand.NewPCG(uint64(c), 0)).Uint64()
		noisy.Data[i] = few.Data[i] ^ (noisy.Data[i] & rng.Uint64() & rng.Uint64())
	}
	truth, margins := ByClass(classes[:n], classes[n:]), randomMargins(rng, n, bits)
	for name, codes := range map[string]hamming.Codes{"noisy": noisy, "few": few} {
		b.Run(name, func(b *testing.B) {
			queries, base := noisy, codes
			queries.Data, base.Data = noisy.Data[:n], codes.Data[n:]
			for b.Loop() {
				if _, err := RetrievalMargins(context.Background(), queries, base, margins, truth, Options{}); err != nil {
					b.Fatal(err)
				}
			}
			seconds := b.Elapsed().Seconds() / float64(b.N)
			b.ReportMetric(seconds*1e9/(n*m), "ns/distance")
			b.ReportMetric(seconds*10, "s/10000-queries")
		})
	}
}
