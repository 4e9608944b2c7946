package index

import (
	"math"

	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
)

// Rank selects the distance between a query and a code.
type Rank string

// The rankings. ByHamming counts the bits that differ. ByMargins adds up their weights, which are the query's margins
// in sixteenths of an average bit (hamming.Weights), so uncertain bits of the query count little; items' codes have no
// margins. Both are exact, and items at the same distance come in order of their ids.
const (
	ByHamming Rank = "hamming"
	ByMargins Rank = "margins"
)

// units converts a number of bits to units of the ranking.
func (r Rank) units(bits int) int {
	if r != ByMargins {
		return bits
	}
	return hamming.BitUnits * min(bits, math.MaxInt32/hamming.BitUnits)
}

// check returns an error for an unknown ranking, or one that lacks what it needs.
func (r Rank) check(bits int, o Options) error {
	switch {
	case r == "" || r == ByHamming:
		return nil
	case r != ByMargins:
		return fault.New("no-such-ranking", "no ranking is called %q: there are %s and %s", string(r), ByHamming, ByMargins)
	case o.Margins == nil:
		return fault.New("no-margins", "a ranking by margins needs the margins of the query: search for a vector")
	case bits > hamming.MaxWeightedBits:
		return fault.New("too-many-bits", "codes of %d bits cannot be ranked by margins, only those of up to %d",
			bits, hamming.MaxWeightedBits)
	}
	return nil
}

// weightTable holds the bit weights of queries; nil if items are ranked by Hamming distance.
type weightTable [][]uint8

// weights computes the weights of the first bits of all queries from their margins.
func (o *Options) weights(queries, bits, first int) weightTable {
	if o.Rank != ByMargins {
		return nil
	}
	t := make(weightTable, queries)
	for q := range t {
		t[q] = hamming.Weights(o.margins(bits, q)[:first])
	}
	return t
}

// row returns the weights of a query, or nil if there are none.
func (t weightTable) row(q int) []uint8 {
	if t == nil {
		return nil
	}
	return t[q]
}

// mostOf returns the largest possible distance of any query, at least 1, or 0 without weights.
func mostOf(t weightTable) int {
	most := 0
	for _, weights := range t {
		sum := 1
		for _, w := range weights {
			sum += int(w)
		}
		most = max(most, sum)
	}
	return most
}
