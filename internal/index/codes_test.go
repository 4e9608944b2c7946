package index

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/hamming"
)

// nearestBySorting is the definition: all distances, sorted by (distance, position), cut.
func nearestBySorting(c hamming.Codes, q []uint64, k, r int) []Hit {
	all := []Hit{}
	for i := range c.Len() {
		if d := hamming.Distance(q, c.Row(i)); d <= r {
			all = append(all, Hit{ID: Int(int64(i)), Distance: d})
		}
	}
	slices.SortFunc(all, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), a.ID.Compare(b.ID))
	})
	return all[:min(k, len(all))]
}

// clustered returns codes around a few centres, so that many distances are equal.
func clustered(n, bits, centres int, seed uint64) hamming.Codes {
	rng := rand.New(rand.NewPCG(seed, 1))
	from, c := randomCodes(centres, bits, seed), hamming.NewCodes(n, bits)
	for i := range n {
		copy(c.Row(i), from.Row(rng.IntN(centres)))
		for range rng.IntN(4) {
			b := rng.IntN(bits)
			c.SetBit(i, b, !c.Bit(i, b))
		}
	}
	return c
}

func TestNearestEqualsSorting(t *testing.T) {
	for _, bits := range []int{1, 8, 64, 100, 256} {
		for _, n := range []int{0, 1, 700} {
			for _, c := range []hamming.Codes{randomCodes(n, bits, 3), clustered(n, bits, 5, 4)} {
				queries := clustered(65, bits, 5, 4)
				for _, k := range []int{0, 1, 100, n + 1} {
					for _, threads := range []int{1, 3} {
						got, err := FromCodes(c).SearchBatch(ctx, queries, k, Options{Threads: threads})
						if err != nil {
							t.Fatal(err)
						}
						for _, q := range []int{0, 64} {
							if want := nearestBySorting(c, queries.Row(q), k, bits); !slices.Equal(placeless(got[q].Hits), want) {
								t.Fatalf("%d codes of %d bits, k = %d: %v, want %v", n, bits, k, got[q].Hits, want)
							}
						}
					}
				}
			}
		}
	}
}

func TestNearestInParts(t *testing.T) {
	c := clustered(2*wordsPerPart+77, 64, 50, 9)
	q := clustered(1, 64, 50, 9)
	want, _ := FromCodes(c).SearchBatch(ctx, q, 300, Options{Threads: 1})
	got, _ := FromCodes(c).SearchBatch(ctx, q, 300, Options{Threads: 4})
	if !slices.Equal(got[0].Hits, want[0].Hits) {
		t.Error("parts changed the answer")
	}
}
