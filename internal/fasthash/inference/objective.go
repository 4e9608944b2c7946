package inference

// The loss of the bits so far, summed over all similar and over all dissimilar pairs.
//
// KSH is quadratic in the inner product c.c of two codes of p bits (2d = p - c.c):
//
//	K² L = (p - c.c)²   similar        K² L = (2K - p + c.c)²   dissimilar
//
// and the sums over all ordered pairs of a set of rows need no pairs, only its Gram matrix G = sum of c_i c_i':
//
//	sum of c_i.c_j = sum over bits b of (sum over i of c_ib)²       sum of (c_i.c_j)² = sum over a, b of G_ab²
//
// A new bit adds one row and column to G: one popcount for 64 rows and each earlier bit, per class and for all rows.
// G itself is not kept. Where pairs must be looked at (similar ones of tags, all of the hinge), distances are counted
// in a histogram.

import (
	"context"
	"math/bits"
	"slices"

	"hashgrove/internal/par"
	"hashgrove/internal/vectors"
)

// gram keeps the two sums over ordered pairs, each row also with itself.
type gram struct {
	spans     []int32    // runs of rows that are similar to each other, or one of all rows
	count     []int      // weight of a row of each run
	columns   [][]uint64 // the bits so far, over the rows in the order of their units
	room      []uint64   // for all of them, if stored in a file
	all, same moments
}

// moments are sums of c.c and of (c.c)² over pairs.
type moments struct{ first, second float64 }

// newGram allocates the sums for codes of this many bits.
func newGram(q *grouped, classes bool, bits int) (g *gram, err error) {
	g = &gram{spans: []int32{0, int32(len(q.unit))}, count: []int{1}}
	if classes {
		g.spans, g.count = q.from, make([]int, len(q.count))
		for u, c := range q.count {
			g.count[u] = int(c)
		}
	}
	if q.memory != nil {
		g.room, err = vectors.Alloc[uint64](q.memory, bits*((len(q.unit)+63)/64))
	}
	return g, err
}

func (g *gram) push(q *grouped, h []int8) {
	var column []uint64
	if words := (len(q.unit) + 63) / 64; q.memory == nil {
		column = make([]uint64, words)
	} else {
		column = g.room[len(g.columns)*words:][:words]
	}
	next := slices.Clone(q.from)
	for r, u := range q.unit {
		i := next[u]
		next[u]++
		if h[r] > 0 {
			column[i>>6] |= 1 << (i & 63)
		}
	}
	g.columns = append(g.columns, column)
	part := make([]struct{ all, same float64 }, len(g.columns))
	zero := make([]uint64, len(column))
	_ = par.Blocks(context.Background(), q.threads, len(part), 4, func(_, lo, hi int) {
		for b := lo; b < hi; b++ {
			other := g.columns[b]
			if b == len(part)-1 { // in place of G with itself, which is n: the sum of the bit
				other = zero
			}
			all := 0
			for u := range g.spans[1:] {
				from, to := int(g.spans[u]), int(g.spans[u+1])
				v := g.count[u] * (to - from - 2*countDifferent(column, other, from, to))
				all += v
				part[b].same += float64(float64(v) * float64(v))
			}
			part[b].all = float64(all) * float64(all)
		}
	})
	last := len(part) - 1
	for _, v := range part[:last] {
		g.all.second += 2 * v.all
		g.same.second += 2 * v.same
	}
	g.all.first += part[last].all
	g.same.first += part[last].same
	total := 0.0
	for u := range g.spans[1:] {
		size := float64(g.count[u] * int(g.spans[u+1]-g.spans[u]))
		g.same.second += float64(size * size)
		total += size
	}
	g.all.second += float64(total * total)
}

// countDifferent counts the places in [from, to) where two bit sets differ.
func countDifferent(a, b []uint64, from, to int) int {
	if from >= to {
		return 0
	}
	lo, hi := from>>6, (to-1)>>6
	head, tail := ^uint64(0)<<(from&63), ^uint64(0)>>(63-(to-1)&63)
	if lo == hi {
		return bits.OnesCount64((a[lo] ^ b[lo]) & head & tail)
	}
	d := bits.OnesCount64((a[lo]^b[lo])&head) + bits.OnesCount64((a[hi]^b[hi])&tail)
	for i := lo + 1; i < hi; i++ {
		d += bits.OnesCount64(a[i] ^ b[i])
	}
	return d
}

// ofPairs removes the pairs of a row with itself from the sums over rows and p bits, given the sum of the squared
// weights of the rows, and counts every other pair once.
func (m moments) ofPairs(squares int64, p int) moments {
	own := float64(float64(squares) * float64(p))
	return moments{float64((m.first - own) / 2), float64((m.second - float64(own*float64(p))) / 2)}
}

// quadratic returns the sum of (a + s c.c)² over count pairs, with s = 1 or -1.
func (m moments) quadratic(a, s, count float64) float64 {
	return float64(float64(a*a)*count) + float64(2*float64(a*s)*m.first) + m.second
}

// losses implements problem.
func (q *grouped) losses(ctx context.Context, l *Pair, length int) (similar, dissimilar float64, err error) {
	if q.gram == nil {
		near, err := q.nearHistogram(ctx)
		if err != nil {
			return 0, 0, err
		}
		all, err := q.histogram(ctx)
		for d, c := range near {
			all[d] -= c
		}
		return l.sum(near, length, true), l.sum(all, length, false), err
	}
	k, p := float64(length), float64(q.p)
	scale := 1 / float64(k*k)
	s, d := float64(q.pairs[0]), float64(q.pairs[1])
	all := q.gram.all.ofPairs(q.squares, q.p)
	if q.near.tags == nil {
		same := q.gram.same.ofPairs(q.squares, q.p)
		rest := moments{all.first - same.first, all.second - same.second}
		return scale * same.quadratic(p, -1, s), scale * rest.quadratic(2*k-p, 1, d), nil
	}
	near, err := q.nearHistogram(ctx)
	whole := float64(scale * all.quadratic(float64(2*k)-p, 1, s+d))
	return l.sum(near, length, true), whole - l.sum(near, length, false), err
}

// sum returns the sum of the loss over a histogram of distances.
func (l *Pair) sum(histogram []int64, length int, similar bool) float64 {
	sum := 0.0
	for d, c := range histogram {
		sum += float64(float64(c) * l.value(float64(d), float64(length), similar))
	}
	return sum
}

// nearHistogram counts the distances of all similar pairs.
func (q *grouped) nearHistogram(ctx context.Context) ([]int64, error) {
	return q.addHistograms(ctx, len(q.from)-1, func(near func(int32) []int32, u int, h []int64) {
		for g := q.first[u]; g < q.first[u+1]; g++ {
			h[0] += q.size[g] * (q.size[g] - q.count[u]) / 2
			code := q.bits(g)
			for _, o := range near(int32(u)) {
				if int(o) > u {
					break
				}
				for i := q.first[o]; i < min(q.first[o+1], g); i++ {
					h[distance(code, q.bits(i))] += q.size[g] * q.size[i]
				}
			}
		}
	})
}

// histogram counts the distances of all pairs.
func (q *grouped) histogram(ctx context.Context) ([]int64, error) {
	return q.addHistograms(ctx, len(q.size), func(_ func(int32) []int32, g int, h []int64) {
		h[0] += q.size[g] * (q.size[g] - q.count[q.owner[g]]) / 2
		code := q.bits(int32(g))
		for i := range int32(g) {
			h[distance(code, q.bits(i))] += q.size[g] * q.size[i]
		}
	})
}

// addHistograms adds up the histograms that f makes for 0 to n-1.
func (q *grouped) addHistograms(ctx context.Context, n int,
	f func(near func(int32) []int32, i int, h []int64)) ([]int64, error) {
	size := max(64, n/256)
	parts := make([][]int64, (n+size-1)/size)
	err := par.Blocks(ctx, q.threads, n, size, func(b, lo, hi int) {
		near := q.near.reader()
		parts[b] = make([]int64, q.p+1)
		for i := lo; i < hi; i++ {
			f(near, i, parts[b])
		}
	})
	sum := make([]int64, q.p+1)
	if err != nil {
		return sum, err
	}
	for _, part := range parts {
		for d, c := range part {
			sum[d] += c
		}
	}
	return sum, nil
}
