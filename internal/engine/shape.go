package engine

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// Codes with bits of detail are ranked by D = 16 x the bits of the class that differ + 2 x those of detail, as an index
// ranks them. Databases that can compute do so in their query language (PostgreSQL, SQLite), or by the numbers of the
// query (Qdrant). The others only know how many bits of two vectors differ, so the vector that they search is the
// spread code (hamming/spread.go), in which the bits of the class come eight times: two of them differ in D/2 bits.
// Ranking is then the database's own, so that its graph and its filters work as for any code, and ties among the class
// bits, which are many, do not have to be fetched. The code itself comes back from the first and the last bits.

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

// advice says how to spread a code, after what is said about searching with one.
func (s shape) advice() string {
	if s.detail == 0 {
		return ""
	}
	return fmt.Sprintf("; its first %d bits come %d times and the others once, so that distances are in eighths of a bit",
		s.class(), repeats)
}

// radius converts a radius in bits to bits of spread codes; negative means any.
func (s shape) radius(r int) int {
	if s.detail == 0 || r < 0 {
		return r
	}
	return repeats * min(r, math.MaxInt32/repeats)
}

// spread returns code i of a list as a spread code.
func (s shape) spread(c hamming.Codes, i int) hamming.Codes {
	return hamming.Spread(hamming.Codes{Bits: c.Bits, Words: c.Words, Data: c.Row(i)}, s.detail)
}

// spreadAll spreads all codes of a list.
func (s shape) spreadAll(c hamming.Codes) hamming.Codes { return hamming.Spread(c, s.detail) }

// gather sets a code from spread code i of a list. It returns false if that is none.
func (s shape) gather(code hamming.Codes, wide hamming.Codes, i int) bool {
	if s.detail == 0 {
		copy(code.Row(0), wide.Row(i))
		return true
	}
	for b := range s.bits {
		from := b
		if b >= s.class() {
			from += (repeats - 1) * s.class()
		}
		code.SetBit(0, b, wide.Bit(i, from))
	}
	return slices.Equal(s.spread(code, 0).Row(0), wide.Row(i))
}

// setBytes sets a code from the bytes of a spread code. It returns false if they are none.
func (s shape) setBytes(code hamming.Codes, packed []byte) bool {
	wide := hamming.NewCodes(1, s.wide())
	return wide.SetBytes(0, packed) && s.gather(code, wide, 0)
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

// compareHits orders hits by their distance, weighted if codes have detail, then by id.
func compareHits(a, b index.Hit) int {
	if a.MarginDistance > 0 || b.MarginDistance > 0 {
		return cmp.Or(cmp.Compare(a.MarginDistance, b.MarginDistance), a.ID.Compare(b.ID))
	}
	return cmp.Or(cmp.Compare(a.Distance, b.Distance), a.ID.Compare(b.ID))
}

// apart completes hits that were found by spread codes: it reads the codes of the items, which tell how many bits of
// the class and of detail differ. Items that are gone meanwhile are left out.
func (s shape) apart(ctx context.Context, e Engine, q Query, found [][]index.Hit) ([][]index.Hit, error) {
	if s.detail == 0 {
		return found, nil
	}
	codes := map[index.ID][]uint64{}
	var ids []index.ID
	for _, hits := range found {
		for _, h := range hits {
			if _, known := codes[h.ID]; !known {
				codes[h.ID] = nil
				ids = append(ids, h.ID)
			}
		}
	}
	const some = 1000
	for part := range slices.Chunk(ids, some) {
		err := e.Read(ctx, index.IDs(part...), func(b *index.Batch) error {
			for i, id := range b.IDs {
				codes[id] = slices.Clone(b.Codes.Row(i))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for i, hits := range found {
		kept := hits[:0]
		for _, h := range hits {
			if code := codes[h.ID]; code != nil {
				kept = append(kept, s.hit(h.ID, q.Codes.Row(i), code))
			}
		}
		slices.SortFunc(kept, compareHits)
		found[i] = kept
	}
	return found, nil
}
