package engine

import (
	"math"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// Codes with bits of detail are ranked by D = 16 x the bits of the class that differ + 2 x those of detail, as an index
// ranks them. The index of pgvector only knows how many bits of two vectors differ, so it is built over the spread code
// (hamming/spread.go), in which the bits of the class come eight times: two of them differ in D/2 bits.

const repeats = hamming.Repeats

// shape is the shape of the codes of a table.
type shape struct {
	bits   int // of the table, once known
	detail int // of the bits, the last ones
}

// shape returns the shape of the codes of a space.
func (s Space) shape() shape { return shape{s.Bits, s.Fingerprint.Detail(s.Bits)} }

// class returns the number of class bits.
func (s shape) class() int { return s.bits - s.detail }

// wide returns the number of bits of a spread code.
func (s shape) wide() int { return hamming.SpreadBits(s.bits, s.detail) }

// radius converts a radius in bits to bits of spread codes; negative means any.
func (s shape) radius(r int) int {
	if s.detail == 0 || r < 0 {
		return r
	}
	return repeats * min(r, math.MaxInt32/repeats)
}

// hit returns a hit with the distances of a code from a query.
func (s shape) hit(id index.ID, query, code []uint64) index.Hit {
	h := index.Hit{ID: id, Distance: hamming.Distance(query, code)}
	if s.detail > 0 {
		h.MarginDistance = hamming.WeightedDistance(query, code, hamming.EqualWeights(s.bits, s.detail))
		// D = 16 (all - detail) + 2 detail
		h.DetailDistance = (hamming.BitUnits*h.Distance - h.MarginDistance) / (hamming.BitUnits - hamming.DetailUnits)
		h.Distance -= h.DetailDistance
	}
	return h
}

// rankedHit returns a hit of a database that computed its weighted distance and its distance in class bits.
func rankedHit(id index.ID, weighted, class int) index.Hit {
	return index.Hit{
		ID: id, Distance: class, MarginDistance: weighted,
		DetailDistance: (weighted - hamming.BitUnits*class) / hamming.DetailUnits,
	}
}
