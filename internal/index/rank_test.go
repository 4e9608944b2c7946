package index

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
	"hashgrove/internal/testkit/needs"
)

// rankedBySorting is the definition of a ranking by margins: all distances, sorted by (distance, position), cut. The
// radius is in bits.
func rankedBySorting(c hamming.Codes, q []uint64, margins []float32, k, r int) []Hit {
	weights, all := hamming.Weights(margins, 0), []Hit{}
	look := make([]uint64, len(q))
	hamming.SetSigns(look, margins)
	for i := range c.Len() {
		d := 0
		for b, w := range weights {
			if (look[b/64]^c.Row(i)[b/64])>>(63-b%64)&1 != 0 {
				d += int(w)
			}
		}
		if d <= 16*r {
			all = append(all, Hit{ID: Int(int64(i)), Distance: hamming.Distance(q, c.Row(i)), MarginDistance: d})
		}
	}
	slices.SortStableFunc(all, func(a, b Hit) int { return cmp.Compare(a.MarginDistance, b.MarginDistance) })
	return all[:min(k, len(all))]
}

// someMargins are scores of one of a few kinds for all bits of some queries: any, mostly zeros, all zeros, of few sizes.
func someMargins(rng *rand.Rand, bits, queries int) []float32 {
	all := make([]float32, bits*queries)
	for q := range queries {
		for b, kind := 0, rng.IntN(5); b < bits; b++ {
			m := float32(rng.NormFloat64())
			switch kind {
			case 2:
				m *= float32(rng.IntN(5) / 4)
			case 3:
				m = 0
			case 4:
				m = float32(rng.IntN(5) - 2)
			}
			all[q*bits+b] = m
		}
	}
	return all
}

// signed gives margins the signs of a code, but for a few.
func signed(margins []float32, code []uint64) {
	for b, m := range margins {
		m = float32(math.Abs(float64(m)))
		if (code[b/64]>>(63-b%64)&1 == 0) != (b%31 == 30) {
			m = float32(math.Copysign(float64(m), -1))
		}
		margins[b] = m
	}
}

// indexed is the codes in an index with a number of tables, under their numbers as ids, with a label on each third.
func indexed(t *testing.T, c hamming.Codes, tables int) *Snapshot {
	t.Helper()
	x, b := New(c.Bits, hamming.Fingerprint{}, Config{Tables: tables}), NewBatch(c.Bits)
	for i := range c.Len() {
		b.Append(Item{ID: Int(int64(i)), Code: c.Row(i), Label: []string{"a", "b", "c"}[i%3]})
	}
	if err := x.Add(ctx, b); err != nil {
		t.Fatal(err)
	}
	return x.Snapshot()
}

// TestRankByMarginsInParts reaches what small indexes do not: parts of a scan, filters and prefixes over them, ties.
func TestRankByMarginsInParts(t *testing.T) {
	needs.Check(t, "takes seconds")
	const n, bits = 2*wordsPerPart + 77, 64
	c, rng := clustered(n, bits, 50, 9), rand.New(rand.NewPCG(9, 9))
	s, q := indexed(t, c, -1), clustered(2, bits, 50, 9)
	margins := someMargins(rng, bits, 2)
	for i := range 2 {
		signed(margins[i*bits:(i+1)*bits], q.Row(i))
	}
	thirds := hamming.NewCodes(0, bits)
	for i := 1; i < n; i += 3 {
		thirds.Data = append(thirds.Data, c.Row(i)...)
	}
	ranked := map[string][][]Hit{}
	for i := range q.Len() {
		own := margins[i*bits : (i+1)*bits]
		third := rankedBySorting(thirds, q.Row(i), own, n, bits)
		for j := range third {
			id, _ := third[j].ID.Integer()
			third[j].ID = Int(3*id + 1)
		}
		ranked[""] = append(ranked[""], rankedBySorting(c, q.Row(i), own, n, bits))
		ranked[`label = "b"`] = append(ranked[`label = "b"`], third)
	}
	for _, threads := range []int{1, 4} {
		o := Options{Rank: ByMargins, Margins: margins, Threads: threads, Ties: true}
		for _, k := range []int{7, 300} {
			for filter := range ranked {
				o.Filter, _ = Parse(filter)
				got, err := s.Search(ctx, q, k, math.MaxInt, o)
				if err != nil {
					t.Fatal(err)
				}
				for i := range got {
					all := ranked[filter][i]
					tied := 0
					for _, h := range all {
						if h.MarginDistance == all[k-1].MarginDistance {
							tied++
						}
					}
					if !slices.Equal(placeless(got[i].Hits), all[:k]) || got[i].Tied != tied {
						t.Fatalf("%d threads, k %d, where %q: the answer differs, or %d tied, want %d", threads, k, filter, got[i].Tied, tied)
					}
				}
			}
		}
	}
}

// TestBatchesByPrefixEqualSearches asks for more queries than one block has: each must have its own margins.
func TestBatchesByPrefixEqualSearches(t *testing.T) {
	const bits, n = 64, queriesPerScan + 9
	s, q := indexed(t, clustered(2000, bits, 50, 6), -1), clustered(n, bits, 50, 7)
	margins := someMargins(rand.New(rand.NewPCG(6, 7)), bits, n)
	for _, rank := range []Rank{ByHamming, ByMargins} {
		o := Options{Rank: rank, Margins: margins, Prefix: 20, Shortlist: 50}
		got, err := s.Search(ctx, q, 5, math.MaxInt, o)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			o.Margins = margins[i*bits : (i+1)*bits]
			if want, err := s.one(q.Row(i), 5, math.MaxInt, o); err != nil || !slices.Equal(got[i].Hits, want.Hits) {
				t.Fatalf("by %s, query %d: %v, alone %v: %v", rank, i, got[i].Hits, want.Hits, err)
			}
		}
	}
}

func TestTheWidestRadiusFindsAll(t *testing.T) {
	s, margins := FromCodes(randomCodes(30, 64, 1)), slices.Repeat([]float32{1}, 64)
	for _, rank := range []Rank{ByHamming, ByMargins} {
		got, err := s.one([]uint64{5}, math.MaxInt, math.MaxInt, Options{Rank: rank, Margins: margins})
		if err != nil || len(got.Hits) != 30 {
			t.Errorf("by %s: %d of 30 items; error %v", rank, len(got.Hits), err)
		}
	}
}

// TestRadiusOfAPrefixHoldsAll: within a radius by a prefix, all items are ordered by all bits, and not a shortlist.
func TestRadiusOfAPrefixHoldsAll(t *testing.T) {
	s, q := FromCodes(randomCodes(1000, 64, 1)), []uint64{5}
	want, err := s.one(q, 9, math.MaxInt, Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.one(q, 9, 8, Options{Prefix: 8})
	if err != nil || !slices.Equal(placeless(got.Hits), placeless(want.Hits)) {
		t.Errorf("%v, want %v; error %v", got.Hits, want.Hits, err)
	}
}

func TestRankRefusals(t *testing.T) {
	short, long := FromCodes(randomCodes(3, 64, 1)), FromCodes(randomCodes(3, 1088, 1))
	for _, c := range []struct {
		s     *Snapshot
		o     Options
		code  message.Code
		facts string
	}{
		{short, Options{Rank: ByMargins}, "no-margins", ""},
		{short, Options{Rank: "cosine"}, "no-such-ranking", `"cosine" hamming margins`},
		{short, Options{Rank: ByMargins, Margins: make([]float32, 63)}, "wrong-count", "63 64"},
		{short, Options{Rank: ByMargins, Margins: slices.Repeat([]float32{float32(math.NaN())}, 64)}, "not-a-number", ""},
		{long, Options{Rank: ByMargins, Margins: make([]float32, 1088)}, "too-many-bits", "1088 1024"},
	} {
		_, err := c.s.one(make([]uint64, (c.s.Bits()+63)/64), 1, math.MaxInt, c.o)
		if d := message.Differs(err, c.code, strings.Fields(c.facts)...); d != "" {
			t.Error(d)
		}
	}
}
