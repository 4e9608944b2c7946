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
)

// rows copies rows lo to hi.
func rows(c hamming.Codes, lo, hi int) hamming.Codes {
	out := hamming.NewCodes(hi-lo, c.Bits)
	copy(out.Data, c.Data[lo*c.Words:hi*c.Words])
	return out
}

// within returns what a truth says about rows lo to hi of the base.
func within(truth Truth, lo, hi int) Truth {
	return Truth{truth.Queries, hi - lo, func(q int, mark []uint8) {
		whole := make([]uint8, truth.Base)
		truth.Mark(q, whole)
		copy(mark, whole[lo:hi])
	}}
}

// rankInParts cuts the base at random, ranks its parts and the runs of queries apart, and puts them together in a
// random order, each part written and read on the way.
func rankInParts(t *testing.T, rng *rand.Rand, queries, base hamming.Codes, truth Truth, cut int) *Parts {
	t.Helper()
	n, m := queries.Len(), base.Len()
	cuts := []int{0, m}
	for range rng.IntN(5) {
		cuts = append(cuts, rng.IntN(m+1)) // some parts are empty
	}
	slices.Sort(cuts)
	var parts []*Part
	for i := range len(cuts) - 1 {
		lo, hi := cuts[i], cuts[i+1]
		p, err := RankPart(queries, rows(base, lo, hi), within(truth, lo, hi), int64(lo), cut)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, p)
	}
	all := &Parts{}
	half := rng.IntN(n + 1)
	for _, run := range [][2]int{{0, half}, {half, n}} {
		var sum *Part
		for _, i := range rng.Perm(len(parts)) {
			b, err := parts[i].Slice(run[0], run[1]).MarshalBinary()
			read := new(Part)
			if err == nil {
				err = read.UnmarshalBinary(b)
			}
			if err == nil && sum != nil {
				err = sum.Add(read)
			}
			if err != nil {
				t.Fatal(err)
			}
			if sum == nil {
				sum = read
			}
		}
		all.Queries = append(all.Queries, sum)
	}
	counts := copies(m, func(a, b int) int { return slices.Compare(base.Row(a), base.Row(b)) })
	all.DistinctCodes, all.LargestBucket = len(counts), slices.Max(counts)
	return all
}

// needsTheWhole reports warnings that parts do not give.
func needsTheWhole(doubt error) bool {
	return fault.Is(doubt, "queries-are-base") || fault.Is(doubt, "ordered-base")
}

func TestPartsReportAsRetrieval(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 3))
	for trial := range 200 {
		n, m := 1+rng.IntN(70), 1+rng.IntN(300)
		bits := []int{1, 8, 64, 70, 130}[rng.IntN(5)]
		queries, base := randomCodes(rng, n, bits, 1+rng.IntN(8)), randomCodes(rng, m, bits, 1+rng.IntN(8))
		truth := randomTruth(rng, trial%3, n, m)
		o := Options{Cut: []int{0, 1, 7, 100, 1000}[rng.IntN(5)], Classes: randomClasses(rng, n, 3)}
		want, err := Retrieval(context.Background(), queries, base, truth, o)
		if err != nil {
			t.Fatal(err)
		}
		doubts := want.doubts
		want.doubts, want.Warnings = nil, []string{}
		for _, doubt := range doubts {
			if !needsTheWhole(doubt) {
				want.doubt(doubt)
			}
		}
		got, err := rankInParts(t, rng, queries, base, truth, o.Cut).Report(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("trial %d: %d queries, %d items, %d bits:\n%+v\n%+v", trial, n, m, bits, got, want)
		}
	}
}

// A table of few numbers gives the digits of a table of many.
func TestHarmonicStep(t *testing.T) {
	const n = 100_000
	fine := newHarmonic(n)
	coarse := harmonic{step: 1000}
	for i := 0; i <= n; i += coarse.step {
		coarse.table = append(coarse.table, fine.number(i))
	}
	for i := range n + 1 {
		if a, b := fine.number(i), coarse.number(i); a != b {
			t.Fatalf("H(%d) is %v and %v", i, a, b)
		}
	}
	for _, n := range []int{1, 1 << 20, harmonicTable * harmonicStep} {
		if step := max(harmonicStep, n/harmonicTable); n/step > harmonicTable {
			t.Errorf("a table of %d numbers", n/step)
		}
	}
}

func TestPartsRefusals(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	queries, base := randomCodes(rng, 3, 8, 8), randomCodes(rng, 20, 8, 8)
	truth := randomTruth(rng, 0, 3, 20)
	part := func(cut int) *Part {
		p, err := RankPart(queries, base, truth, 0, cut)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	reportOf := func(cut int, parts ...*Part) error {
		_, err := (&Parts{Queries: parts}).Report(context.Background(), Options{Cut: cut})
		return err
	}
	for name, err := range map[string]error{
		"other bits":   second(RankPart(queries, randomCodes(rng, 20, 16, 8), truth, 0, 0)),
		"row":          second(RankPart(queries, base, truth, MaxRow, 0)),
		"cut":          second(RankPart(queries, base, truth, 0, -1)),
		"other cut":    part(5).Add(part(6)),
		"few queries":  part(5).Add(part(5).Slice(0, 2)),
		"no queries":   reportOf(0),
		"asked cut":    reportOf(6, part(5)),
		"missing part": reportOf(5, part(5), &Part{Bits: 8, Cut: 5}),
		"no base":      reportOf(5, &Part{Bits: 8, Cut: 5, rankings: make([]ranking, 1)}),
	} {
		if err == nil || len(err.Error()) < 20 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// FuzzPart: any bytes are an error, or a part that is written as it was read and can be added.
func FuzzPart(f *testing.F) {
	rng := rand.New(rand.NewPCG(2, 2))
	for range 3 {
		p, err := RankPart(randomCodes(rng, 2, 9, 9), randomCodes(rng, 30, 9, 9), randomTruth(rng, 0, 2, 30), 5, 10)
		if err != nil {
			f.Fatal(err)
		}
		b, _ := p.MarshalBinary()
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var p, again Part
		if p.UnmarshalBinary(b) != nil {
			return
		}
		written, _ := p.MarshalBinary()
		if err := again.UnmarshalBinary(written); err != nil || fmt.Sprint(p) != fmt.Sprint(again) {
			t.Fatalf("%v\n%v\n%v", err, p, again)
		}
		if err := p.Add(&again); err != nil {
			t.Fatal(err)
		}
		if again.Base == 0 || again.Base > 1e6 || again.Queries() == 0 { // harmonic numbers take their time
			return
		}
		if _, err := (&Parts{Queries: []*Part{&again}}).Report(t.Context(), Options{Cut: again.Cut}); err != nil {
			t.Fatal(err)
		}
	})
}
