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
// A new bit adds one row and column to G, the sums of the codes by the signs of the bit, for each class and for all
// rows. G itself is not kept. Where pairs must be looked at (similar ones of tags, all of the hinge), distances are
// counted in a histogram.

import (
	"context"

	"hashgrove/internal/par"
)

// gram keeps the two sums over ordered pairs, each row also with itself.
type gram struct {
	all, same moments
	row       sums[int64] // of G
	tally     tally
}

// moments are sums of c.c and of (c.c)² over pairs.
type moments struct{ first, second float64 }

// push adds the last bit of the groups.
func (g *gram) push(q *grouped) {
	last := q.p - 1
	all, same := make([]int64, q.p), make([]float64, q.p)
	for u, c := range q.count {
		g.row.reset(q.p)
		for _, sign := range []int64{-1, 1} {
			g.tally.begin(&g.row, sign, c)
			for i := q.first[u]; i < q.first[u+1]; i++ {
				if q.sign(i, last) == sign {
					g.tally.add(q.bits(i), q.size[i])
				}
			}
			g.tally.end()
		}
		for b := range all {
			v := g.row.s // in place of G with itself, which is n: the sum of the bit
			if b < last {
				v = 2*g.row.set[b] - v
			}
			all[b] += v
			same[b] += float64(float64(v) * float64(v))
		}
	}
	for b, v := range all[:last] {
		g.all.second += 2 * float64(float64(v)*float64(v))
		g.same.second += 2 * same[b]
	}
	g.all.first += float64(float64(all[last]) * float64(all[last]))
	g.same.first += same[last]
	total := 0.0
	for u, c := range q.count {
		size := float64(c * int64(q.from[u+1]-q.from[u]))
		g.same.second += float64(size * size)
		total += size
	}
	g.all.second += float64(total * total)
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
		near, err := q.histogram(ctx, false)
		if err != nil {
			return 0, 0, err
		}
		all, err := q.histogram(ctx, true)
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
	near, err := q.histogram(ctx, false)
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

// histogram counts the distances of all similar pairs, or of all pairs.
func (q *grouped) histogram(ctx context.Context, all bool) ([]int64, error) {
	units := len(q.count)
	every := make([]int32, units)
	for u := range every {
		every[u] = int32(u)
	}
	size := max(1, units/256)
	parts := make([][]int64, (units+size-1)/size)
	err := par.Blocks(ctx, q.threads, units, size, func(b, lo, hi int) {
		near, list := q.near.reader(), every
		h := make([]int64, q.p+1)
		for u := lo; u < hi; u++ {
			if !all {
				list = near(int32(u))
			}
			for g := q.first[u]; g < q.first[u+1]; g++ {
				h[0] += q.size[g] * (q.size[g] - q.count[u]) / 2
				code := q.bits(g)
				for _, o := range list {
					if int(o) > u {
						break
					}
					for i := q.first[o]; i < min(q.first[o+1], g); i++ {
						h[distance(code, q.bits(i))] += q.size[g] * q.size[i]
					}
				}
			}
		}
		parts[b] = h
	})
	sum := make([]int64, q.p+1)
	for _, part := range parts {
		for d, c := range part {
			sum[d] += c
		}
	}
	return sum, err
}
