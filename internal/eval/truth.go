package eval

import (
	"cmp"
	"fmt"
	"slices"

	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/supervision"
)

// Relevance of a base item to a query.
const (
	Irrelevant uint8 = iota
	Relevant
	Ignored // nothing is known: the item is left out of the query's ranking
)

// Truth says which base items are relevant to which queries.
type Truth struct {
	Queries, Base int // their numbers
	// Mark writes Irrelevant, Relevant or Ignored for query q and every base item; mark has length Base. It must be
	// safe for concurrent use.
	Mark func(q int, mark []uint8)
}

// TruthOf derives the truth from the supervision of queries and base: from the queries' pairs of a query and a base
// item, else from classes, else from tags. Classes and tags are matched by name, so their numbering may differ.
func TruthOf(queries, base *supervision.Data) (Truth, error) {
	q := queries.In(&base.Supervision)
	switch {
	case q.Pairs != nil:
		return byPairs(queries.Rows, base.Rows, q.Pairs), nil
	case q.Labels != nil && base.Labels != nil:
		return ByClass(q.Labels.Class, base.Labels.Class), nil
	case q.Tags != nil && base.Tags != nil:
		return byTags(q.Tags.Start, q.Tags.Tag, base.Tags.Start, base.Tags.Tag, base.MinShared), nil
	}
	return Truth{}, fmt.Errorf("nothing says which answers are right: queries and base need labels or tags, or pairs")
}

// WithoutItself returns the truth for queries that are also the base: each is left out of its own ranking.
func (t Truth) WithoutItself() Truth {
	mark := t.Mark
	t.Mark = func(q int, marks []uint8) {
		mark(q, marks)
		marks[q] = Ignored
	}
	return t
}

// ByClass makes an item relevant to the queries of its class, given class numbers shared by queries and base. Items
// with a negative (unknown) class are ignored. The slices are kept, not copied.
func ByClass(query, base []int32) Truth {
	unknown := len(base) > 0 && slices.Min(base) < 0 // some base item has no class
	return Truth{len(query), len(base), func(q int, mark []uint8) {
		c := query[q]
		if c < 0 {
			fillMarks(mark, Ignored)
			return
		}
		mark = mark[:len(base)]
		for i, b := range base {
			m := Irrelevant
			if b == c {
				m = Relevant
			}
			mark[i] = m
		}
		if unknown {
			for i, b := range base {
				if b < 0 {
					mark[i] = Ignored
				}
			}
		}
	}}
}

// byTags makes an item relevant to a query if they share at least minShared tags (0 means affinity.DefaultShared; at
// most 255). Row i has the tags tag[start[i]:start[i+1]], small numbers from 0 shared by queries and base, each
// once.
func byTags(queryStart []int, queryTag []int32, baseStart []int, baseTag []int32, minShared int) Truth {
	numbers := 0
	for _, tag := range slices.Concat(queryTag, baseTag) {
		numbers = max(numbers, int(tag)+1)
	}
	// Invert: the items of tag t, in base order, are item[itemStart[t]:itemStart[t+1]].
	base, enough := len(baseStart)-1, uint8(cmp.Or(minShared, affinity.DefaultShared))
	itemStart, item := make([]int, numbers+1), make([]int32, len(baseTag))
	for _, tag := range baseTag {
		itemStart[tag+1]++
	}
	for i := range numbers {
		itemStart[i+1] += itemStart[i]
	}
	next := slices.Clone(itemStart)
	for i := range base {
		for _, tag := range baseTag[baseStart[i]:baseStart[i+1]] {
			item[next[tag]] = int32(i)
			next[tag]++
		}
	}
	return Truth{len(queryStart) - 1, base, func(q int, mark []uint8) {
		clear(mark) // counts the shared tags, up to enough
		for _, tag := range queryTag[queryStart[q]:queryStart[q+1]] {
			for _, i := range item[itemStart[tag]:itemStart[tag+1]] {
				if mark[i] < enough {
					mark[i]++
				}
			}
		}
		if enough == 1 {
			return
		}
		for i, shared := range mark {
			m := Irrelevant
			if shared == enough {
				m = Relevant
			}
			mark[i] = m
		}
	}}
}

// byPairs takes the truth from a list of pairs of a query, A, and a base item, B. Base items that are in no pair
// with a query, or whose relevance is unknown, are ignored for that query. If a pair occurs twice, the later one
// wins.
func byPairs(queries, base int, list []affinity.Pair) Truth {
	start, pair := make([]int, queries+1), slices.Clone(list) // pairs of query q: pair[start[q]:start[q+1]]
	for _, p := range list {
		if p.A < 0 || int(p.A) >= queries || p.B < 0 || int(p.B) >= base {
			panic("eval: pair outside of queries and base")
		}
		start[p.A+1]++
	}
	for q := range queries {
		start[q+1] += start[q]
	}
	slices.SortStableFunc(pair, func(a, b affinity.Pair) int { return cmp.Compare(a.A, b.A) })
	return Truth{queries, base, func(q int, mark []uint8) {
		fillMarks(mark, Ignored)
		for _, p := range pair[start[q]:start[q+1]] {
			mark[p.B] = [3]uint8{Irrelevant, Ignored, Relevant}[p.Y+1]
		}
	}}
}

func fillMarks(mark []uint8, m uint8) {
	for i := range mark {
		mark[i] = m
	}
}
