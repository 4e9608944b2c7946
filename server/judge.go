package server

import (
	"cmp"
	"context"
	"slices"

	"hashgrove/internal/eval"
	"hashgrove/internal/index"
	"hashgrove/internal/par"
)

// How the codes of a collection are judged by labels.
const (
	judgedItems   = 1 << 20 // items that are searched at most, a fair sample of more
	judgedQueries = 1000    // items that are asked with at most, drawn from those
	judgedNearest = 10      // items of an answer, where nothing else is said
	shownPairs    = 20      // confusions of an answer at most
	shownClasses  = 200     // classes of an answer at most
	enoughQueries = 10      // of a class, to say what it is confused with
)

// judgedRanks are those at which precision is measured.
var judgedRanks = []int{1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000}

// liveQuality is how well items find others with their label.
type liveQuality struct {
	Items     int              `json:"items"`   // with labels that are searched
	Queries   int              `json:"queries"` // items that are asked with; none is among its own answers
	K         int              `json:"k"`
	Note      string           `json:"note"` // which items these are
	Precision float64          `json:"precision"`
	MAP       float64          `json:"map"`
	Chance    float64          `json:"chance"` // of an item drawn blindly to have the label, where any other has it
	At        []precisionAt    `json:"precision_at"`
	Distances judgedDistances  `json:"distances"`
	Classes   []judgedClass    `json:"classes"` // worst first
	Pairs     []judgedConfused `json:"confusions"`
}

type precisionAt struct {
	K         int     `json:"k"`
	Precision float64 `json:"precision"`
}

// judgedDistances counts pairs of a query and an item by their distance in bits.
type judgedDistances struct {
	Same  []int `json:"same"`
	Other []int `json:"other"`
}

type judgedClass struct {
	Label     string  `json:"label"`
	Items     int     `json:"items"`     // of the collection
	Queries   int     `json:"queries"`   // with the label: few of them say little
	Precision float64 `json:"precision"` // of the first K
}

// judgedConfused is the share of a label among the first K answers to queries of another one.
type judgedConfused struct {
	Label string  `json:"label"`
	Found string  `json:"found"`
	Share float64 `json:"share"`
}

// judge asks with some items for others with their label. Items at the same distance come in any order, so that every
// figure is the mean over all orders, as package eval has it. It returns nil where there is nothing to judge, and why.
func judge(
	ctx context.Context, x *index.Snapshot, threads int, report func(share float64),
) (*liveQuality, string, error) {
	l := x.Labelled(judgedItems)
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

// surroundings is what lies around one query.
type surroundings struct {
	same, other []int             // items by distance
	found       map[int32]float64 // labels of the first K items, mean over the orders of ties
}

// addClasses adds what is known by label.
func (q *liveQuality) addClasses(ctx context.Context, l *index.Labelled, threads int) error {
	around := make([]surroundings, q.Queries)
	err := par.Blocks(ctx, threads, q.Queries, 16, func(_, lo, hi int) {
		distance := make([]uint16, len(l.Label))
		for i := lo; i < hi; i++ {
			around[i] = surroundingsOf(i, q.K, l, distance)
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
		for label, items := range a.found { // each adds to a place of its own, in the order of the queries
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

// surroundingsOf counts the items around query i. Those at the distance of the k-th share the places that are left.
func surroundingsOf(i, k int, l *index.Labelled, distance []uint16) surroundings {
	bits := l.Codes.Bits
	own, a := l.Label[i], surroundings{make([]int, bits+1), make([]int, bits+1), map[int32]float64{}}
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
