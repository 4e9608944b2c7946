package index

import (
	"cmp"
	"math"

	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
)

// Rank selects the distance between a query and a code.
type Rank string

// The rankings. ByHamming counts the bits that differ; bits of detail count an eighth (hamming.EqualWeights). ByMargins
// adds up their weights, which are the query's margins in sixteenths of an average bit (hamming.Weights), so uncertain
// bits of the query count little; items' codes have no margins. The signs of the margins are the bits to look for. Both
// are exact, and items at the same distance come in order of their ids.
const (
	ByHamming Rank = "hamming"
	ByMargins Rank = "margins"
)

// within converts a radius in bits to units of the ranking. By Hamming distance a radius counts the bits that
// Hit.Distance counts, those of the class: they are searched, and what they find is then ordered by all bits.
func (s *Snapshot) within(r int, o *Options) int {
	if o.Rank == ByMargins && r != math.MaxInt {
		return hamming.BitUnits * min(r, math.MaxInt32/hamming.BitUnits)
	}
	if class := s.bits - s.detail; r != math.MaxInt && s.detail > 0 && cmp.Or(o.Prefix, s.bits) > class {
		o.Prefix = class
	}
	return r
}

// check returns an error for an unknown ranking, or one that lacks what it needs.
func (r Rank) check(bits int, o Options) error {
	switch {
	case r == "" || r == ByHamming:
		return nil
	case r != ByMargins:
		return message.New("no-such-ranking", "no ranking is called %q: there are %s and %s", string(r), ByHamming, ByMargins)
	case o.Margins == nil:
		return message.New("no-margins", "a ranking by margins needs the margins of the query: search for a vector")
	case bits > hamming.MaxWeightedBits:
		return message.New("too-many-bits", "codes of %d bits cannot be ranked by margins, only those of up to %d",
			bits, hamming.MaxWeightedBits)
	}
	return nil
}

// weighting holds, for every query, the code to look for and the weights of its bits; no weights mean that items are
// ranked by Hamming distance.
type weighting struct {
	codes   hamming.Codes
	weights [][]uint8
}

// weigh returns the weighting of the first bits of queries.
func (s *Snapshot) weigh(queries hamming.Codes, o *Options, first int) weighting {
	w := weighting{codes: queries}
	detail := max(0, first-(s.bits-s.detail))
	switch {
	case o.Rank == ByMargins:
		w.codes, w.weights = hamming.NewCodes(queries.Len(), s.bits), make([][]uint8, queries.Len())
		for q := range w.weights {
			margins := o.margins(s.bits, q)
			hamming.SetSigns(w.codes.Row(q), margins)
			w.weights[q] = hamming.Weights(margins[:first], detail)
		}
	case detail > 0:
		equal := hamming.EqualWeights(first, detail)
		for range queries.Len() {
			w.weights = append(w.weights, equal)
		}
	}
	return w
}

// distance returns the distance of a code from a query by all bits.
func (w weighting) distance(q int, code []uint64) int {
	if w.weights == nil {
		return hamming.Distance(w.codes.Row(q), code)
	}
	return hamming.WeightedDistance(w.codes.Row(q), code, w.weights[q])
}

// most returns the largest possible distance of any query, at least 1, or 0 without weights.
func (w weighting) most() int {
	most := 0
	for _, weights := range w.weights {
		sum := 1
		for _, w := range weights {
			sum += int(w)
		}
		most = max(most, sum)
	}
	return most
}
