package eval

import (
	"hashgrove/hamming"
)

// codeRanker ranks codes without sorting. Hamming distances are small integers, so counting the items of every
// distance gives the place where its bucket starts, and the place of an item is that plus the items of its bucket
// seen before it:
//
//	distances    to every base item                       O(base) words
//	count        items and relevant items by distance     O(base)
//	place        hits among the first cut places          O(base)
type codeRanker struct {
	queries, base hamming.Codes
	cut           int
	distance      []uint16
	count         []uint64 // by distance: items in the low half, relevant items in the high half
	next          []int    // by distance: place of the bucket's next item
	list          list
}

func newCodeRanker(queries, base hamming.Codes, cut int) *codeRanker {
	cut = min(cut, base.Len())
	distances := base.Bits + 1
	return &codeRanker{
		queries: queries, base: base, cut: cut,
		distance: make([]uint16, base.Len()),
		count:    make([]uint64, distances),
		next:     make([]int, distances+1), // one more, for ignored items
		list: list{
			items:    make([]int, distances),
			relevant: make([]int, distances),
			hits:     make([]byte, (cut+8)&^7), // one more than cut at least
		},
	}
}

func (r *codeRanker) rank(q int, mark []uint8) *list {
	r.base.Distances(r.distance, r.queries.Row(q))
	distance := r.distance
	mark = mark[:len(distance)]
	ignored := uint16(len(r.count))

	clear(r.count)
	for i, d := range distance {
		m := mark[i]
		if m == Ignored {
			distance[i] = ignored
			continue
		}
		r.count[d] += 1 + uint64(m)<<32
	}
	place := 0
	for d, c := range r.count {
		r.next[d] = place
		r.list.items[d], r.list.relevant[d] = int(uint32(c)), int(c>>32)
		place += int(uint32(c))
	}
	r.next[ignored] = r.cut

	// Places from cut on all write to the spare byte at cut: a store is cheaper than a branch nobody can predict.
	hits := r.list.hits
	clear(hits)
	for i, d := range distance {
		at := r.next[d]
		r.next[d] = at + 1
		hits[min(at, r.cut)] = mark[i]
	}
	hits[r.cut] = 0
	return &r.list
}
