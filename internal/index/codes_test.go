package index

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/hamming"
)

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

func TestNearestInParts(t *testing.T) {
	c := clustered(2*wordsPerPart+77, 64, 50, 9)
	q := clustered(1, 64, 50, 9)
	want, _ := FromCodes(c).Search(ctx, q, 300, math.MaxInt, Options{Threads: 1})
	got, _ := FromCodes(c).Search(ctx, q, 300, math.MaxInt, Options{Threads: 4})
	if !slices.Equal(got[0].Hits, want[0].Hits) {
		t.Error("parts changed the answer")
	}
}
