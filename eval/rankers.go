package eval

import (
	"context"
	"fmt"
	"math"
	"slices"

	"hashgrove/hamming"
	"hashgrove/vectors"
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

// RetrievalFloat ranks the base by Euclidean distance to every query and judges the rankings as Retrieval does: the
// vectors themselves, as a ceiling for codes made from them without supervision. Squared distances are float32 sums
// in the order of the columns; equal ones are ties. There is no lookup by radius, and the precision-recall curve
// runs over ranks. Cost: queries x base x columns, then a sort for each query.
func RetrievalFloat(ctx context.Context, queries, base vectors.Matrix, truth Truth, o Options) (*Report, error) {
	return judgeVectors(ctx, queries, base, func(x vectors.Matrix) vectors.Matrix { return x }, truth, o)
}

// RetrievalCosine ranks the base by the cosine of the angle to every query, the largest first, and judges the rankings
// as RetrievalFloat does. For vectors of length 1 the squared distance is 2 - 2 cos, so it ranks scaled copies, rounded
// to float32, by Euclidean distance. A vector of zeros has no direction: it counts as at right angles to all but other
// zeros.
func RetrievalCosine(ctx context.Context, queries, base vectors.Matrix, truth Truth, o Options) (*Report, error) {
	return judgeVectors(ctx, queries, base, directions, truth, o)
}

// judgeVectors judges rankings of mapped vectors by Euclidean distance.
func judgeVectors(
	ctx context.Context, queries, base vectors.Matrix, mapped func(vectors.Matrix) vectors.Matrix, truth Truth,
	o Options,
) (*Report, error) {
	if queries.Cols != base.Cols {
		return nil, fmt.Errorf("the queries have %d dimensions and the base has %d: they must be alike",
			queries.Cols, base.Cols)
	}
	q, b := mapped(queries), mapped(base)
	return judgement{
		queries: q.Rows,
		base:    b.Rows,
		bits:    32 * base.Cols,
		truth:   truth,
		same:    slices.Equal(q.Data, b.Data),
		ranker:  func(lo, hi int, o *Options) ranker { return newFloatRanker(q.Slice(lo, hi), lo, b, o.Cut) },
		compare: func(a, b int) int { return slices.Compare(base.Row(a), base.Row(b)) },
	}.run(ctx, o)
}

// directions scales every row to length 1. One more column, which is 0 elsewhere, is 1 for rows of zeros: they are then
// at the squared distance 2 from every direction, where the cosine is 0.
func directions(x vectors.Matrix) vectors.Matrix {
	d := vectors.Matrix{Rows: x.Rows, Cols: x.Cols + 1, Data: make([]float32, x.Rows*(x.Cols+1))}
	for i := range x.Rows {
		sum, unit := 0.0, d.Row(i)
		for _, v := range x.Row(i) {
			sum += float64(float64(v) * float64(v)) // of float32 values: neither overflows nor vanishes
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

// floatRanker ranks vectors. Distances are computed for a tile of queries at a time, so that the base is read from
// memory once for each tile.
type floatRanker struct {
	queries  vectors.Matrix // the block's queries
	first    int            // number of its first query
	base     vectors.Matrix
	from, to int       // the tile: rows of queries whose distances are at hand
	distance []float32 // tile x base
	sorter
}

const tileQueries = 8

func newFloatRanker(queries vectors.Matrix, first int, base vectors.Matrix, cut int) *floatRanker {
	return &floatRanker{
		queries: queries, first: first, base: base, sorter: newSorter(base.Rows, cut),
		distance: make([]float32, min(tileQueries, queries.Rows)*base.Rows),
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
	return r.sort(mark)
}

// sorter ranks items by keys: what to sort by in the high half, the number of the item in the low half.
type sorter struct {
	key  []uint64
	cut  int
	list list
}

func newSorter(items, cut int) sorter {
	cut = min(cut, items)
	return sorter{make([]uint64, 0, items), cut, list{hits: make([]byte, (cut+7)&^7)}}
}

// sort makes the list of the keys.
func (s *sorter) sort(mark []uint8) *list {
	slices.Sort(s.key)
	l := &s.list
	l.items, l.relevant = l.items[:0], l.relevant[:0]
	clear(l.hits)
	for place, key := range s.key {
		if place == 0 || s.key[place-1]>>32 != key>>32 {
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

// Weighted ranking (Weiss, Fergus and Torralba, "Multidimensional spectral hashing", ECCV 2012). Bits come in groups g,
// which look at one dimension each. The affinity of the codes b and b', of values -1 and 1, is
//
//	prod over g of (1 + sum over k in g of w_k b_k b'_k) - 1.
//
// Higher is nearer. Factors are divided by 1 + sum of w_k and the 1 is not taken off: the order stays, and nothing
// overflows. Cost: queries x base x bits, then a sort for each query. The factors of a group of up to 8 bits are laid
// out by the bits that differ.

// RetrievalWeighted ranks the base by weighted affinity to every query and judges the rankings as Retrieval does.
// Affinities are rounded to float32, and equal ones are ties. There is no lookup by radius, and the precision-recall
// curve runs over ranks.
//
// It panics when there is not one weight for each bit, and where Retrieval does.
func RetrievalWeighted(
	ctx context.Context, queries, base hamming.Codes, weights []hamming.BitWeight, truth Truth, o Options,
) (*Report, error) {
	if len(weights) != base.Bits {
		panic("eval: weights are not one per bit")
	}
	for k, w := range weights {
		if !(w.Weight >= 0 && w.Weight <= 1) {
			return nil, fmt.Errorf("bit %d has the weight %v, outside of 0 to 1", k, w.Weight)
		}
	}
	j, err := codeJudgement(queries, base, truth)
	if err != nil {
		return nil, err
	}
	parts := partsOf(weights)
	j.ranker = func(_, _ int, o *Options) ranker {
		return &weightedRanker{queries, base, parts, make([]uint64, base.Words), newSorter(base.Len(), o.Cut)}
	}
	return j.run(ctx, o)
}

// part is a group: its bits, and its factor by the bits that differ.
type part struct {
	bits   []int
	weight []float64
	factor []float64 // by a number whose i-th bit says that bit i of the group differs; nil for large groups
	total  float64   // 1 + sum of w
}

// maxLooked is the greatest number of bits whose factors are laid out.
const maxLooked = 8

func partsOf(weights []hamming.BitWeight) []part {
	place := map[int]int{}
	var parts []part
	for k, w := range weights {
		at, ok := place[w.Group]
		if !ok {
			at = len(parts)
			place[w.Group] = at
			parts = append(parts, part{total: 1})
		}
		p := &parts[at]
		p.bits, p.weight, p.total = append(p.bits, k), append(p.weight, w.Weight), p.total+w.Weight
	}
	for i := range parts {
		p := &parts[i]
		if len(p.bits) > maxLooked {
			continue
		}
		factor := make([]float64, 1<<len(p.bits))
		difference := make([]uint64, p.bits[len(p.bits)-1]/64+1)
		for differ := range factor {
			clear(difference)
			for i, k := range p.bits {
				difference[k/64] |= uint64(differ>>i&1) << (63 - k&63)
			}
			factor[differ] = p.factorFor(difference)
		}
		p.factor = factor
	}
	return parts
}

// factorFor is the group's factor for codes that differ in the given bits.
func (p *part) factorFor(difference []uint64) float64 {
	if p.factor != nil {
		at := 0
		for i, k := range p.bits {
			at |= int(difference[k/64]>>(63-k&63)&1) << i
		}
		return p.factor[at]
	}
	sum := 1.0
	for i, k := range p.bits {
		sum += p.weight[i] * float64(1-2*int(difference[k/64]>>(63-k&63)&1))
	}
	return sum / p.total
}

type weightedRanker struct {
	queries, base hamming.Codes
	parts         []part
	difference    []uint64
	sorter
}

func (r *weightedRanker) rank(q int, mark []uint8) *list {
	query := r.queries.Row(q)
	r.key = r.key[:0]
	for i := range r.base.Len() {
		if mark[i] == Ignored {
			continue
		}
		for w, b := range r.base.Row(i) {
			r.difference[w] = query[w] ^ b
		}
		affinity := 1.0
		for p := range r.parts {
			affinity *= r.parts[p].factorFor(r.difference)
		}
		r.key = append(r.key, uint64(descendingKey(float32(affinity)))<<32|uint64(i))
	}
	return r.sort(mark)
}

// descendingKey maps floats to numbers in the opposite order; 0 and -0 are one.
func descendingKey(v float32) uint32 {
	b := math.Float32bits(v + 0) // -0 + 0 is 0
	if b>>31 != 0 {
		return b // the farther below 0 the greater
	}
	return 1<<31 - 1 - b
}
