package index

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
	"hashgrove/internal/par"
)

// Options configure a search. The zero value searches all items with all bits.
type Options struct {
	Filter Filter

	// Prefix is the number of leading bits to search by: the Shortlist nearest items by the prefix, or all within the
	// radius by the prefix, are then ordered by the distance of all bits. 0 means all bits.
	Prefix int

	// Rank selects the distance; empty means ByHamming.
	Rank Rank

	// Margins are the query's scores before the sign, or the code that it expects, one per bit, for all queries of a
	// batch in sequence. ByMargins needs them. With ByHamming, items at the same distance are ordered by the
	// sum of margins over the differing bits, so doubtful bits weigh little; then by id. In that case they do not
	// affect which items a prefix shortlists.
	Margins []float32

	// Shortlist is the least number of items that Prefix looks at; 0 means Shortlisted. All items as near as the last one
	// are included, so that ids never decide. A search for math.MaxInt items returns the shortlist itself.
	Shortlist int

	Whole    bool     // return all items at the distance of the last hit
	Ties     bool     // fill Result.Tied
	Strategy Strategy // empty lets the planner choose
	Threads  int      // 0 means all cores
}

// Hit is a found item.
type Hit struct {
	ID             ID      `json:"id"`
	Distance       int     `json:"distance"`                  // in bits of the class
	DetailDistance int     `json:"detail_distance,omitempty"` // in bits of detail
	MarginDistance int     `json:"margin_distance,omitempty"` // with weights: in sixteenths of a bit
	Score          float64 `json:"score,omitempty"`           // left to the caller

	place place
}

// place locates an item in a snapshot.
type place struct{ view, pos uint32 }

// Result is the answer to one query, ordered by distance and id unless options say otherwise.
type Result struct {
	Hits []Hit
	Tied int // with Options.Ties: number of items at the distance of the last hit, hits or not
}

func (s *Snapshot) check(queries hamming.Codes, k int, o Options) error {
	if queries.Bits != s.bits || queries.Words != (s.bits+63)/64 {
		return fmt.Errorf("a query of %d words for codes of %d bits: encode it with the model of the index",
			queries.Words, s.bits)
	}
	if over := s.bits & 63; over != 0 {
		for q := range queries.Len() {
			if queries.Row(q)[queries.Words-1]<<over != 0 {
				return fmt.Errorf("query %d has bits beyond the %d of a code", q, s.bits)
			}
		}
	}
	switch {
	case k < 0:
		return fmt.Errorf("%d neighbours: ask for 0 or more", k)
	case o.Prefix < 0 || o.Prefix > s.bits:
		return fmt.Errorf("a prefix of %d bits, outside the range 1 to %d", o.Prefix, s.bits)
	case o.Margins != nil && len(o.Margins) != s.bits*queries.Len():
		return message.New("wrong-count", "%d margins for %d queries of %d bits: give one per bit",
			len(o.Margins), queries.Len(), s.bits)
	case slices.ContainsFunc(o.Margins, func(m float32) bool { return m != m }):
		return message.New("not-a-number", "a margin is not a number")
	}
	if err := o.Rank.check(s.bits, o); err != nil {
		return err
	}
	return s.CheckFilter(o.Filter)
}

// Search returns, for every query, the k nearest items at a distance of at most r bits of the class; math.MaxInt means
// all, at any distance. There are fewer only if fewer match.
//
// It works in two stages: it finds the nearest items in all segments by the searched bits, then orders them by all bits
// if only a prefix was searched.
func (s *Snapshot) Search(ctx context.Context, queries hamming.Codes, k, r int, o Options) ([]Result, error) {
	r = s.within(r, &o)
	if err := s.check(queries, k, o); err != nil {
		return nil, err
	}
	if o.Prefix == s.bits {
		o.Prefix = 0
	}
	if o.Prefix == 0 {
		return s.answerBlock(ctx, queries, k, r, o)
	}
	// Shortlists by prefix may hold a large part of all items, so do not make those of all queries at once.
	var results []Result
	margins := o.Margins
	block := max(1, min(queriesPerScan, 1<<24/max(s.size, 1)))
	for lo := 0; lo < queries.Len(); lo += block {
		part := queries
		hi := min(lo+block, queries.Len())
		part.Data = queries.Data[lo*queries.Words : hi*queries.Words]
		if margins != nil {
			o.Margins = margins[lo*s.bits : hi*s.bits]
		}
		answers, err := s.answerBlock(ctx, part, k, r, o)
		if err != nil {
			return nil, err
		}
		results = append(results, answers...)
	}
	return results, nil
}

// answerBlock answers several queries at the same time.
func (s *Snapshot) answerBlock(ctx context.Context, queries hamming.Codes, k, r int, o Options) ([]Result, error) {
	weights := s.weigh(queries, &o, cmp.Or(o.Prefix, s.bits))
	w := s.wanted(k, r, o, weights.most())
	results := make([]Result, queries.Len())
	all := make([][]found, queries.Len())
	var counts [][]int
	if o.Ties && o.Prefix == 0 {
		counts = make([][]int, queries.Len())
	}
	for i, v := range s.views {
		p := pass{
			view: v, number: uint32(i), queries: queries, by: weights, want: w, options: &o, found: all, counts: counts,
		}
		if err := p.run(ctx); err != nil {
			return nil, err
		}
	}
	if o.Prefix > 0 {
		weights = s.weigh(queries, &o, s.bits)
	}
	err := par.For(ctx, o.Threads, queries.Len(), func(q int) {
		list := s.nearest(all[q], w)
		if o.Prefix > 0 {
			margins := o.margins(s.bits, q)
			if o.Rank == ByMargins {
				margins = nil // they make the distance
			}
			list = s.refine(list, q, queries.Row(q), margins, weights)
		}
		n := min(k, len(list))
		for o.Whole && n > 0 && n < len(list) && list[n].distance == list[n-1].distance {
			n++
		}
		if o.Ties && n > 0 {
			last := list[n-1].distance
			if o.Prefix > 0 {
				results[q].Tied = countAt(list, last)
			} else {
				results[q].Tied = counts[q][last]
			}
		}
		results[q].Hits = s.hits(list[:n], queries.Row(q), weights.weights != nil)
	})
	return results, err
}

// hits converts the items found for a query to hits.
func (s *Snapshot) hits(list []found, q []uint64, weighted bool) []Hit {
	hits := make([]Hit, len(list))
	for i, f := range list {
		v := s.views[f.view]
		hits[i] = Hit{ID: v.ids.get(f.pos), Distance: int(f.distance), place: place{f.view, f.pos}}
		if weighted {
			hits[i].Distance, hits[i].DetailDistance = s.bitsApart(q, v.code(f.pos))
			hits[i].MarginDistance = int(f.distance)
		}
	}
	return hits
}

// bitsApart returns the numbers of bits of the class and of detail in which two codes differ.
func (s *Snapshot) bitsApart(a, b []uint64) (class, detail int) {
	all := hamming.Distance(a, b)
	if s.detail == 0 {
		return all, 0
	}
	class = prefixDistance(a, b, s.bits-s.detail)
	return class, all - class
}

// wanted returns what to search the segments for to get the k nearest within a radius; most is the greatest distance by
// margins, or 0.
func (s *Snapshot) wanted(k, r int, o Options, most int) want {
	w := newWant(k, r, cmp.Or(o.Prefix, s.bits), most)
	w.ties = o.Margins != nil && o.Prefix == 0 && o.Rank != ByMargins
	w.whole = o.Whole || o.Prefix > 0 || o.Shortlist > 0
	switch {
	case r != math.MaxInt && o.Prefix > 0:
		w.k = math.MaxInt
	case o.Shortlist > 0 && k == math.MaxInt:
		w.k = o.Shortlist
	case o.Prefix > 0:
		w.k = max(k, cmp.Or(o.Shortlist, Shortlisted(k)))
	}
	return w
}

// countAt returns the number of items at a distance.
func countAt(list []found, distance uint32) int {
	n := 0
	for _, f := range list {
		if f.distance == distance {
			n++
		}
	}
	return n
}

// margins returns the margins of one query.
func (o *Options) margins(bits, q int) []float32 {
	if o.Margins == nil {
		return nil
	}
	return o.Margins[q*bits : (q+1)*bits]
}

// nearest merges the sorted results of the segments and keeps what is wanted.
func (s *Snapshot) nearest(list []found, w want) []found {
	if len(s.views) > 1 {
		slices.SortFunc(list, func(a, b found) int {
			if c := cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.penalty, b.penalty)); c != 0 {
				return c
			}
			return s.views[a.view].ids.get(a.pos).Compare(s.views[b.view].ids.get(b.pos))
		})
	}
	return w.first(list)
}

// refine orders items by all bits; margins are nil unless they break ties.
func (s *Snapshot) refine(list []found, q int, code []uint64, margins []float32, w weighting) []found {
	for i := range list {
		f := &list[i]
		v := s.views[f.view]
		f.distance = uint32(w.distance(q, v.code(f.pos)))
		if margins != nil {
			f.penalty = penalties(v.segment, code, margins)(v.slotOf(f.pos))
		}
	}
	if len(s.views) == 1 {
		slices.SortFunc(list, compareFound)
	}
	return s.nearest(list, want{k: len(list)})
}

// Shortlisted returns how many items a search for k looks at, unless Options.Shortlist says otherwise: ten times as
// many as are wanted, and at least 100. A reranking of all items would throw away what the codes found; a longer
// list finds more of the nearest vectors, and fewer items of the class of the query.
func Shortlisted(k int) int { return max(100, 10*min(k, MaxItems/10)) }

// prefixDistance returns the distance of two codes by their first n bits.
func prefixDistance(a, b []uint64, n int) int {
	words, d := (n+63)/64, 0
	for i := range words - 1 {
		d += bits.OnesCount64(a[i] ^ b[i])
	}
	return d + bits.OnesCount64((a[words-1]^b[words-1])&(^uint64(0)<<(-n&63)))
}
