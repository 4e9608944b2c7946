package index

import (
	"math"

	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
)

// Rank is what the distance of a code from a query is.
type Rank string

// The rankings. ByHamming counts the bits that differ. ByMargins adds up their weights, which are the query's margins
// in sixteenths of an average bit (hamming.Weights), so that a bit of which the query is not certain counts little; the
// codes of the items have no margins. Both are exact, and items at the same distance come in the order of their ids.
const (
	ByHamming Rank = "hamming"
	ByMargins Rank = "margins"
)

// units is a number of bits in units of the ranking.
func (r Rank) units(bits int) int {
	if r != ByMargins {
		return bits
	}
	return hamming.BitUnits * min(bits, math.MaxInt32/hamming.BitUnits)
}

// check reports a ranking that there is not, or that lacks what it needs.
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

// weightTable is the weights of the bits of some queries; nil when items are ranked by Hamming distance.
type weightTable [][]uint8

// weights makes the weights of the first bits of all queries from their margins of all bits.
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

// row is the weights of a query; nil when there are none.
func (t weightTable) row(q int) []uint8 {
	if t == nil {
		return nil
	}
	return t[q]
}

// mostOf is the greatest distance that any query can have, and at least 1; 0 when there are no weights.
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
