package eval

import (
	"context"

	"hashgrove/internal/par"
	"hashgrove/internal/vectors"
)

// The nearest of its class: codes that know the class leave the order within it to chance unless they also keep what an
// item looks like. For a query q with relevant items R, let N be the min(10, |R|) of them nearest by cosine, ties going
// to lower rows. Of a ranking, without the items that the truth ignores,
//
//	value of q = 1/|N| sum over i in N of the chance that i is among the first 10
//
// where the items at the last distance share the places that are left. The mean is over queries with a relevant item;
// a perfect search within a perfectly found class has 1, and codes that only know the class about 10/|R|.

// OfClass holds the nearest relevant items of some queries. Options.OfClass measures how many of them a ranking finds.
type OfClass struct {
	near *Neighbours
	at   map[int]int // by query: its place among those chosen
}

// NewOfClass starts with an empty base. Row i of x is the vector of query rows[i]; the truth is about all queries and
// the whole base. Cost: a bit for each chosen query and base item.
func NewOfClass(ctx context.Context, x vectors.Matrix, rows []int, truth Truth, threads int) (*OfClass, error) {
	if x.Rows != len(rows) {
		panic(truthMisfits)
	}
	near, err := NewNeighbours(x, Cosine)
	if err != nil {
		return nil, err
	}
	o := &OfClass{near, make(map[int]int, len(rows))}
	for i, q := range rows {
		o.at[q] = i
	}
	near.among, err = relevantItems(ctx, rows, truth, threads)
	return o, err
}

// FindOfClass finds the nearest relevant items of all queries in a base in memory.
func FindOfClass(ctx context.Context, queries, base vectors.Matrix, truth Truth, threads int) (*OfClass, error) {
	rows := make([]int, queries.Rows)
	for i := range rows {
		rows[i] = i
	}
	o, err := NewOfClass(ctx, queries, rows, truth, threads)
	if err != nil {
		return nil, err
	}
	return o, o.Add(ctx, base, threads)
}

// Add appends rows to the base, in the order of the truth.
func (o *OfClass) Add(ctx context.Context, base vectors.Matrix, threads int) error {
	return o.near.Add(ctx, base, threads)
}

// Rows returns the nearest relevant items of a query, nearest first; nil if it was not chosen or has none.
func (o *OfClass) Rows(q int) []int {
	if i, ok := o.at[q]; ok {
		return o.near.Rows(i)
	}
	return nil
}

// share returns the value of query q for a ranking; ok is false if there is none. mark holds the truth for the query
// and is used up.
func (o *OfClass) share(q int, r ranker, mark []uint8) (share float64, ok bool) {
	rows := o.Rows(q)
	if len(rows) == 0 {
		return 0, false
	}
	for i, m := range mark {
		if m == Relevant {
			mark[i] = Irrelevant
		}
	}
	for _, i := range rows {
		mark[i] = Relevant
	}
	const first = NeighbourCount
	return min(1, r.rank(q, mark).precisionAt(first)*first/float64(len(rows))), true
}

// itemSet has a bit for each item; nil means all items.
type itemSet []uint64

func (s itemSet) lacks(i int) bool { return s != nil && s[i/64]>>(i%64)&1 == 0 }

// relevantItems returns the relevant items of some queries.
func relevantItems(ctx context.Context, rows []int, truth Truth, threads int) ([]itemSet, error) {
	sets := make([]itemSet, len(rows))
	return sets, par.Blocks(ctx, threads, len(rows), 16, func(_, lo, hi int) {
		mark := make([]uint8, truth.Base)
		for q := lo; q < hi; q++ {
			truth.Mark(rows[q], mark)
			sets[q] = make(itemSet, (truth.Base+63)/64)
			for i, m := range mark {
				if m == Relevant {
					sets[q][i/64] |= 1 << (i % 64)
				}
			}
		}
	})
}
