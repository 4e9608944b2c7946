package eval

import (
	"context"
	"fmt"
	"math"
	"slices"

	"hashgrove/internal/vectors"
)

// counter ranks items by small integers without sorting. Counting the items at every distance gives the position where
// each bucket starts; an item's position is that plus the items of its bucket seen before it:
//
//	distances    to every base item                       O(base) words, computed by the embedding type
//	count        items and relevant items by distance     O(base)
//	place        hits among the first cut positions       O(base)
type counter struct {
	cut      int
	distance []uint16 // of every item
	count    []uint64 // by distance: items in the low half, relevant items in the high half
	next     []int    // by distance: position of the bucket's next item
	list     list
}

// newCounter allocates a counter for the given number of distances.
func newCounter(items, distances, cut int) counter {
	cut = min(cut, items)
	return counter{
		cut:      cut,
		distance: make([]uint16, items),
		count:    make([]uint64, distances),
		next:     make([]int, distances+1), // one more, for ignored items
		list: list{
			items:    make([]int, distances),
			relevant: make([]int, distances),
			hits:     make([]byte, (cut+8)&^7), // one more than cut at least
		},
	}
}

// order builds the list from the distances, all of which are below the given number.
func (r *counter) order(mark []uint8, below int) *list {
	distance, count := r.distance, r.count[:below]
	mark = mark[:len(distance)]
	ignored := uint16(below)

	clear(count)
	for i, d := range distance {
		m := mark[i]
		if m == Ignored {
			distance[i] = ignored
			continue
		}
		count[d] += 1 + uint64(m)<<32
	}
	l := &r.list
	l.items, l.relevant = l.items[:below], l.relevant[:below]
	place := 0
	for d, c := range count {
		r.next[d] = place
		l.items[d], l.relevant[d] = int(uint32(c)), int(c>>32)
		place += int(uint32(c))
	}
	r.next[ignored] = r.cut

	// Positions from cut on all write to the spare byte at cut: a store is cheaper than an unpredictable branch.
	hits := l.hits
	clear(hits)
	for i, d := range distance {
		at := r.next[d]
		r.next[d] = at + 1
		hits[min(at, r.cut)] = mark[i]
	}
	hits[r.cut] = 0
	return l
}

// codeRanker ranks codes. Items with the same code share one measurement: training items often have few distinct codes.
type codeRanker struct {
	measure  func(q int, near []uint16) (most int) // distances of the distinct codes, and the greatest possible
	distinct distinct
	near     []uint16
	counter
}

// byCodes returns a ranker of the base for distances below a number.
func (j judgement) byCodes(measure func(q int, near []uint16) (most int), distances, cut int) ranker {
	return &codeRanker{measure, j.codes, make([]uint16, j.codes.codes.Len()), newCounter(j.base, distances, cut)}
}

func (r *codeRanker) rank(q int, mark []uint8) *list {
	most := r.measure(q, r.near)
	for i, c := range r.distinct.of {
		r.distance[i] = r.near[c]
	}
	return r.order(mark, most+1)
}

// RetrievalFloat ranks the base by a metric and evaluates the rankings as Retrieval does: the vectors themselves, as a
// reference for codes made from them. The precision-recall curve runs over ranks, and equal distances are ties. Cost:
// queries x base x columns, then a sort per query.
//
//	Euclidean   squared distances as float32 sums in column order
//	Cosine      the same of copies of length 1, rounded to float32: it is 2 - 2 cos. A zero vector has no direction and
//	            counts as orthogonal to all but other zero vectors
//	Inner       the inner product, largest first, summed in float64 in column order and rounded to float32: for
//	            probabilities, the chance that both are of one class
func RetrievalFloat(
	ctx context.Context, queries, base vectors.Matrix, metric Metric, truth Truth, o Options,
) (*Report, error) {
	if queries.Cols != base.Cols {
		return nil, fmt.Errorf("the queries have %d dimensions and the base has %d: they must be alike",
			queries.Cols, base.Cols)
	}
	bits := 32 * base.Cols
	if metric == Cosine {
		queries, base = directions(queries), directions(base)
	}
	return judgement{
		queries: queries.Rows,
		base:    base.Rows,
		bits:    bits,
		truth:   truth,
		same:    slices.Equal(queries.Data, base.Data),
		ranker: func(lo, hi int, o *Options) ranker {
			r := &floatRanker{
				queries: queries.Slice(lo, hi), first: lo, base: base, sorter: newSorter(base.Rows, o.Cut),
				distance: make([]float32, min(tileQueries, hi-lo)*base.Rows), four: squared4, key: math.Float32bits,
			}
			if metric == Inner {
				r.four, r.key = inner4, descendingKey
			}
			return r
		},
	}.run(ctx, o)
}

// directions scales every row to length 1. An extra column is 1 for zero rows and 0 elsewhere, which puts them at
// squared distance 2 from every direction, where the cosine is 0.
func directions(x vectors.Matrix) vectors.Matrix {
	d := vectors.Matrix{Rows: x.Rows, Cols: x.Cols + 1, Data: make([]float32, x.Rows*(x.Cols+1))}
	for i := range x.Rows {
		sum, unit := 0.0, d.Row(i)
		for _, v := range x.Row(i) {
			sum += float64(float64(v) * float64(v)) // float32 squares neither overflow nor underflow in float64
		}
		if sum == 0 {
			unit[x.Cols] = 1
			continue
		}
		length := math.Sqrt(sum)
		for j, v := range x.Row(i) {
			unit[j] = float32(float64(v) / length)
		}
	}
	return d
}

// floatRanker ranks vectors. It computes distances for a tile of queries at a time, so that the base is read from
// memory once per tile.
type floatRanker struct {
	queries  vectors.Matrix // the block's queries
	first    int            // number of its first query
	base     vectors.Matrix
	from, to int       // the tile: rows of queries whose distances are computed
	distance []float32 // tile x base
	sorter

	four func(q, b0, b1, b2, b3 []float32) (s0, s1, s2, s3 float32) // compares a query with four items
	// The least key comes first. Squared distances are not negative (nor -0), so their bit patterns sort like numbers.
	key func(float32) uint32
}

const tileQueries = 8

func (r *floatRanker) rank(q int, mark []uint8) *list {
	q -= r.first
	if q >= r.to {
		r.from, r.to = q, min(q+tileQueries, r.queries.Rows)
		r.measure()
	}
	// The item number in the low bits makes the sort stable.
	r.keys = r.keys[:0]
	for i, d := range r.distance[(q-r.from)*r.base.Rows : (q-r.from+1)*r.base.Rows] {
		if mark[i] != Ignored {
			r.keys = append(r.keys, uint64(r.key(d))<<32|uint64(i))
		}
	}
	return r.sort(mark)
}

// sorter ranks items by keys: the sort key in the high half, the item number in the low half.
type sorter struct {
	keys []uint64
	cut  int
	list list
}

func newSorter(items, cut int) sorter {
	cut = min(cut, items)
	return sorter{make([]uint64, 0, items), cut, list{hits: make([]byte, (cut+7)&^7)}}
}

// sort builds the list from the keys.
func (s *sorter) sort(mark []uint8) *list {
	slices.Sort(s.keys)
	l := &s.list
	l.items, l.relevant = l.items[:0], l.relevant[:0]
	clear(l.hits)
	for place, key := range s.keys {
		if place == 0 || s.keys[place-1]>>32 != key>>32 {
			l.items, l.relevant = append(l.items, 0), append(l.relevant, 0)
		}
		m := mark[uint32(key)]
		l.items[len(l.items)-1]++
		l.relevant[len(l.items)-1] += int(m)
		if place < s.cut {
			l.hits[place] = m
		}
	}
	return l
}

// measure computes the distances of the tile. Four base rows at a time stay in the L1 cache for all its queries.
func (r *floatRanker) measure() {
	n := r.base.Rows
	for i := 0; i < n; i += 4 {
		// Repeat the last row beyond the end.
		i1, i2, i3 := min(i+1, n-1), min(i+2, n-1), min(i+3, n-1)
		b0, b1, b2, b3 := r.base.Row(i), r.base.Row(i1), r.base.Row(i2), r.base.Row(i3)
		for q := r.from; q < r.to; q++ {
			d := r.distance[(q-r.from)*n : (q-r.from+1)*n]
			d[i], d[i1], d[i2], d[i3] = r.four(r.queries.Row(q), b0, b1, b2, b3)
		}
	}
}

// squared4 returns the squared distances of q to four vectors as four independent sums. It squares the differences,
// because |q|² - 2qb + |b|² cancels near 0 and overflows to NaN.
func squared4(q, b0, b1, b2, b3 []float32) (s0, s1, s2, s3 float32) {
	n := len(q)
	b0, b1, b2, b3 = b0[:n], b1[:n], b2[:n], b3[:n] // one bounds check instead of one per element
	for j, v := range q {
		d0, d1, d2, d3 := v-b0[j], v-b1[j], v-b2[j], v-b3[j]
		s0 += float32(d0 * d0)
		s1 += float32(d1 * d1)
		s2 += float32(d2 * d2)
		s3 += float32(d3 * d3)
	}
	return s0, s1, s2, s3
}

// inner4 returns the inner products of q with four vectors. Products of float32 values are exact in float64, and
// their sums neither overflow nor cancel to NaN.
func inner4(q, b0, b1, b2, b3 []float32) (s0, s1, s2, s3 float32) {
	n := len(q)
	b0, b1, b2, b3 = b0[:n], b1[:n], b2[:n], b3[:n]
	var t0, t1, t2, t3 float64
	for j, x := range q {
		v := float64(x)
		t0 += float64(v * float64(b0[j]))
		t1 += float64(v * float64(b1[j]))
		t2 += float64(v * float64(b2[j]))
		t3 += float64(v * float64(b3[j]))
	}
	return float32(t0), float32(t1), float32(t2), float32(t3)
}

// descendingKey maps floats to integers in the opposite order; 0 and -0 are equal.
func descendingKey(v float32) uint32 {
	b := math.Float32bits(v + 0) // -0 + 0 is 0
	if b>>31 != 0 {
		return b // larger the farther below 0
	}
	return 1<<31 - 1 - b
}
