package eval

import (
	"context"
	"fmt"
	"math"
	"slices"

	"hashgrove/vectors"
)

// RetrievalFloat ranks the base by Euclidean distance to every query and judges the rankings as Retrieval does: the
// vectors themselves, as a ceiling for codes made from them without supervision. Squared distances are float32 sums
// in the order of the columns; equal ones are ties. There is no lookup by radius, and the precision-recall curve
// runs over ranks. Cost: queries x base x columns, then a sort for each query.
func RetrievalFloat(ctx context.Context, queries, base vectors.Matrix, truth Truth, o Options) (*Report, error) {
	if err := sameWidth(queries, base); err != nil {
		return nil, err
	}
	return vectorJudgement(queries, base, base, truth).run(ctx, o)
}

func sameWidth(queries, base vectors.Matrix) error {
	if queries.Cols != base.Cols {
		return fmt.Errorf("the queries have %d dimensions and the base has %d: they must be alike",
			queries.Cols, base.Cols)
	}
	return nil
}

// vectorJudgement judges rankings by Euclidean distance. The vectors that are stored may be others than those that are
// ranked.
func vectorJudgement(queries, base, stored vectors.Matrix, truth Truth) judgement {
	return judgement{
		queries: queries.Rows,
		base:    base.Rows,
		bits:    32 * stored.Cols,
		truth:   truth,
		same:    slices.Equal(queries.Data, base.Data),
		ranker: func(lo, hi int, o *Options) ranker {
			return newFloatRanker(queries.Slice(lo, hi), lo, base, o.Cut)
		},
		compare: func(a, b int) int { return slices.Compare(stored.Row(a), stored.Row(b)) },
	}
}

// floatRanker ranks vectors. Distances are computed for a tile of queries at a time, so that the base is read from
// memory once for each tile.
type floatRanker struct {
	queries  vectors.Matrix // the block's queries
	first    int            // number of its first query
	base     vectors.Matrix
	cut      int
	from, to int       // the tile: rows of queries whose distances are at hand
	distance []float32 // tile x base
	key      []uint64
	list     list
}

const tileQueries = 8

func newFloatRanker(queries vectors.Matrix, first int, base vectors.Matrix, cut int) *floatRanker {
	cut = min(cut, base.Rows)
	return &floatRanker{
		queries: queries, first: first, base: base, cut: cut,
		distance: make([]float32, min(tileQueries, queries.Rows)*base.Rows),
		key:      make([]uint64, 0, base.Rows),
		list:     list{hits: make([]byte, (cut+7)&^7)},
	}
}

func (r *floatRanker) rank(q int, mark []uint8) *list {
	q -= r.first
	if q >= r.to {
		r.from, r.to = q, min(q+tileQueries, r.queries.Rows)
		r.measure()
	}
	// Distances are not negative, so their bits are in their order; the number of the item below them makes the
	// sort stable. (+0 and -0 are one: a sum of squares is never -0.)
	r.key = r.key[:0]
	for i, d := range r.distance[(q-r.from)*r.base.Rows : (q-r.from+1)*r.base.Rows] {
		if mark[i] != Ignored {
			r.key = append(r.key, uint64(math.Float32bits(d))<<32|uint64(i))
		}
	}
	r.list.sortInto(r.key, mark, r.cut)
	return &r.list
}

// sortInto sorts keys, one for each item (what to sort by above, the item's number below), and makes the list of them.
func (l *list) sortInto(keys []uint64, mark []uint8, cut int) {
	slices.Sort(keys)
	l.items, l.relevant = l.items[:0], l.relevant[:0]
	clear(l.hits)
	for place, key := range keys {
		if place == 0 || keys[place-1]>>32 != key>>32 {
			l.items, l.relevant = append(l.items, 0), append(l.relevant, 0)
		}
		m := mark[uint32(key)]
		l.items[len(l.items)-1]++
		l.relevant[len(l.items)-1] += int(m)
		if place < cut {
			l.hits[place] = m
		}
	}
}

// measure computes the distances of the tile. Four base rows at a time stay in the nearest cache for all its queries.
func (r *floatRanker) measure() {
	n := r.base.Rows
	for i := 0; i < n; i += 4 {
		// The last rows stand in for those beyond the end.
		i1, i2, i3 := min(i+1, n-1), min(i+2, n-1), min(i+3, n-1)
		b0, b1, b2, b3 := r.base.Row(i), r.base.Row(i1), r.base.Row(i2), r.base.Row(i3)
		for q := r.from; q < r.to; q++ {
			d := r.distance[(q-r.from)*n : (q-r.from+1)*n]
			d[i], d[i1], d[i2], d[i3] = squared4(r.queries.Row(q), b0, b1, b2, b3)
		}
	}
}

// squared4 returns the squared distances of q to four vectors: four sums that do not wait for each other. The
// differences are squared as they are, not by |q|² - 2qb + |b|², which cancels near 0 and overflows to NaN.
func squared4(q, b0, b1, b2, b3 []float32) (s0, s1, s2, s3 float32) {
	n := len(q)
	b0, b1, b2, b3 = b0[:n], b1[:n], b2[:n], b3[:n] // one check here instead of one at every element
	for j, v := range q {
		d0, d1, d2, d3 := v-b0[j], v-b1[j], v-b2[j], v-b3[j]
		s0 += float32(d0 * d0)
		s1 += float32(d1 * d1)
		s2 += float32(d2 * d2)
		s3 += float32(d3 * d3)
	}
	return s0, s1, s2, s3
}
