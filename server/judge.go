package server

import (
	"cmp"
	"context"
	"slices"

	"hashgrove/internal/eval"
	"hashgrove/internal/index"
	"hashgrove/internal/par"
)

// Parameters for judging codes by labels.
const (
	judgedItems   = 1 << 20 // items searched; more are sampled
	judgedQueries = 1000    // items used as queries
	judgedNearest = 10      // default length of an answer
	shownPairs    = 20      // most confusions listed
	shownClasses  = 200     // most classes listed
	enoughQueries = 10      // least queries of a class for its confusions to be listed
)

// judgedRanks are the ranks at which precision is measured.
var judgedRanks = []int{1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000}

// liveQuality measures how well items find others with the same label.
type liveQuality struct {
	Items     int              `json:"items"`   // labelled items searched
	Queries   int              `json:"queries"` // items used as queries; none is among its own answers
	K         int              `json:"k"`
	Note      string           `json:"note"` // which items these are
	Precision float64          `json:"precision"`
	MAP       float64          `json:"map"`
	Chance    float64          `json:"chance"` // precision of a random order
	At        []precisionAt    `json:"precision_at"`
	Distances judgedDistances  `json:"distances"`
	Classes   []judgedClass    `json:"classes"` // worst first
	Pairs     []judgedConfused `json:"confusions"`
}

type precisionAt struct {
	K         int     `json:"k"`
	Precision float64 `json:"precision"`
}

// judgedDistances counts query-item pairs by Hamming distance.
type judgedDistances struct {
	Same  []int `json:"same"`
	Other []int `json:"other"`
}

type judgedClass struct {
	Label     string  `json:"label"`
	Items     int     `json:"items"`     // of the collection
	Queries   int     `json:"queries"`   // with the label; few queries say little
	Precision float64 `json:"precision"` // of the first K
}

// judgedConfused is the share of one label among the first K answers to queries of another.
type judgedConfused struct {
	Label string  `json:"label"`
	Found string  `json:"found"`
	Share float64 `json:"share"`
}

// judge uses a sample of items as queries for others with the same label, by the bits of the class. Ties are broken
// in no particular order, so every figure is the mean over all orders, as in package eval. If there is nothing to
// judge it returns nil and the reason.
func judge(
	ctx context.Context, x *index.Snapshot, threads int, report func(share float64),
) (*liveQuality, string, error) {
	l := x.Labelled(judgedItems)
	if detail := x.Detail(); detail > 0 { // labels say nothing about it
		l.Codes = l.Codes.Prefix(x.Bits() - detail)
	}
	n := len(l.Label)
	switch {
	case n == 0:
		return nil, "No item has a label, so nothing says which answers are right.", nil
	case len(l.Names) == 1:
		return nil, "All labels are the same, so every answer is right.", nil
	case n < 3:
		return nil, "Fewer than three items have a label.", nil
	}
	q := &liveQuality{Items: n, Queries: min(n, judgedQueries), K: min(judgedNearest, n-1)}
	queries := l.Codes
	queries.Data = l.Codes.Data[:q.Queries*l.Codes.Words]
	truth := eval.ByClass(l.Label[:q.Queries], l.Label)
	byClass := truth.Mark
	truth.Mark = func(i int, mark []uint8) {
		byClass(i, mark)
		mark[i] = eval.Ignored // the query itself
	}
	ranks := slices.DeleteFunc(slices.Clone(judgedRanks), func(k int) bool { return k >= n })
	if !slices.Contains(ranks, q.K) {
		ranks = append(ranks, q.K)
		slices.Sort(ranks)
	}
	r, err := eval.Retrieval(ctx, queries, l.Codes, truth, eval.Options{
		K: ranks, Cut: 1, CurveTo: 1, Radii: []int{}, Threads: threads,
		Progress: func(done, total int) { report(0.7 * float64(done) / float64(total)) },
	})
	if err != nil {
		return nil, "", err
	}
	q.Precision, q.MAP, q.Chance = r.Precision[q.K], r.MAP, r.Prior
	for _, k := range ranks {
		q.At = append(q.At, precisionAt{k, r.Precision[k]})
	}
	return q, "", q.addClasses(ctx, &l, threads)
}

// neighbourhood counts what lies around one query.
type neighbourhood struct {
	same, other []int             // items by distance
	found       map[int32]float64 // labels of the first K items, averaged over the orders of ties
}

// addClasses adds the figures per label.
func (q *liveQuality) addClasses(ctx context.Context, l *index.Labelled, threads int) error {
	around := make([]neighbourhood, q.Queries)
	err := par.Blocks(ctx, threads, q.Queries, 16, func(_, lo, hi int) {
		distance := make([]uint16, len(l.Label))
		for i := lo; i < hi; i++ {
			around[i] = neighbourhoodOf(i, q.K, l, distance)
		}
	})
	if err != nil {
		return err
	}
	type pair struct{ asked, found int32 }
	bits := l.Codes.Bits
	q.Distances = judgedDistances{make([]int, bits+1), make([]int, bits+1)}
	asked, found := make([]int, len(l.Names)), map[pair]float64{}
	for i, a := range around {
		own := l.Label[i]
		asked[own]++
		for d := range a.same {
			q.Distances.Same[d] += a.same[d]
			q.Distances.Other[d] += a.other[d]
		}
		for label, items := range a.found { // iteration order does not matter: each label has its own sum
			found[pair{own, label}] += items
		}
	}
	share := func(p pair) float64 { return found[p] / float64(asked[p.asked]*q.K) }
	q.Classes, q.Pairs = []judgedClass{}, []judgedConfused{}
	for n, name := range l.Names {
		if asked[n] > 0 {
			q.Classes = append(q.Classes, judgedClass{name, l.Counts[n], asked[n], share(pair{int32(n), int32(n)})})
		}
	}
	enough := min(enoughQueries, slices.Max(asked))
	for p := range found {
		if s := share(p); p.asked != p.found && s > 0 && asked[p.asked] >= enough {
			q.Pairs = append(q.Pairs, judgedConfused{l.Names[p.asked], l.Names[p.found], s})
		}
	}
	slices.SortFunc(q.Classes, func(a, b judgedClass) int {
		return cmp.Or(cmp.Compare(a.Precision, b.Precision), cmp.Compare(a.Label, b.Label))
	})
	slices.SortFunc(q.Pairs, func(a, b judgedConfused) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Label, b.Label), cmp.Compare(a.Found, b.Found))
	})
	q.Classes = slices.Clip(q.Classes[:min(len(q.Classes), shownClasses)])
	q.Pairs = slices.Clip(q.Pairs[:min(len(q.Pairs), shownPairs)])
	return nil
}

// neighbourhoodOf counts the items around query i. Items tied at the k-th distance share the remaining ranks.
func neighbourhoodOf(i, k int, l *index.Labelled, distance []uint16) neighbourhood {
	bits := l.Codes.Bits
	own, a := l.Label[i], neighbourhood{make([]int, bits+1), make([]int, bits+1), map[int32]float64{}}
	l.Codes.Distances(distance, l.Codes.Row(i))
	for j, d := range distance {
		if l.Label[j] == own {
			a.same[d]++
		} else {
			a.other[d]++
		}
	}
	a.same[0]-- // the query itself
	last, left := 0, k
	for ; last < bits && a.same[last]+a.other[last] < left; last++ {
		left -= a.same[last] + a.other[last]
	}
	room := float64(left) / float64(a.same[last]+a.other[last])
	before, tied := map[int32]int{}, map[int32]int{}
	for j, d := range distance {
		switch {
		case j == i || int(d) > last:
		case int(d) < last:
			before[l.Label[j]]++
		default:
			tied[l.Label[j]]++
		}
	}
	for label, items := range before {
		a.found[label] = float64(items)
	}
	for label, items := range tied {
		a.found[label] += float64(float64(items) * room)
	}
	return a
}
