package inference

// Sums that do not depend on the signs, which all candidates of a bit read.

import (
	"context"

	"hashgrove/internal/par"
)

// addBit updates what the groups know of all rows by a new bit, given the halves of old groups that they are. The sum
// of c_i.c_j over the rows similar to a group changes by c_ib times the sum of the bit over these, which is cheaper
// than distances.
func (q *grouped) addBit(halves []int32) {
	last := q.p - 1
	bit, near := make([]int64, len(q.count)), make([]int64, len(q.count))
	q.eachUnit(func(u int) {
		for g := q.first[u]; g < q.first[u+1]; g++ {
			bit[u] += q.size[g] * q.sign(g, last)
		}
	})
	if last&63 == 0 {
		q.all.set = append(q.all.set, make([]int64, 64)...)
	}
	q.all.set[last] = q.all.s
	for _, v := range bit {
		q.all.set[last] += v
	}
	q.all.set[last] /= 2
	_ = nearTotals(context.Background(), q, bit, near)
	inner := make([]int64, len(halves))
	q.eachUnit(func(u int) {
		for g := q.first[u]; g < q.first[u+1]; g++ {
			inner[g] = q.inner[halves[g]/2] + q.sign(g, last)*near[u]
		}
	})
	q.inner = inner
}

// nearSums writes for every unit the sum of x over the groups of the units similar to it.
func nearSums[T number](ctx context.Context, q *grouped, x, t []T) error {
	own := make([]T, len(t))
	q.eachUnit(func(u int) {
		for _, v := range x[q.first[u]:q.first[u+1]] {
			own[u] += v
		}
	})
	return nearTotals(ctx, q, own, t)
}

// nearTotals adds to t for every unit the sum of own over the units similar to it.
func nearTotals[T number](ctx context.Context, q *grouped, own, t []T) error {
	return par.Blocks(ctx, q.threads, len(t), 256, func(_, lo, hi int) {
		near := q.near.reader()
		for u := lo; u < hi; u++ {
			for _, o := range near(int32(u)) {
				t[u] += own[o]
			}
		}
	})
}

// nearDots writes for every group c . sum of x_h c_h over the groups h of the units similar to its own.
func nearDots[T number](ctx context.Context, q *grouped, x, dots []T) error {
	return par.Blocks(ctx, q.threads, len(q.from)-1, 16, func(_, lo, hi int) {
		near := q.near.reader()
		var own sums[T]
		var product dotter[T]
		for u := lo; u < hi; u++ {
			list := near(int32(u))
			first, last := q.first[u], q.first[u+1]
			if len(list) == 1 {
				own.reset(q.p)
				for g := first; g < last; g++ {
					own.add(q.bits(g), x[g])
				}
				product.load(&own, q.p, 1, int(last-first))
				for g := first; g < last; g++ {
					dots[g] = product.dot(q.bits(g))
				}
				continue
			}
			for g := first; g < last; g++ {
				code := q.bits(g)
				var sum T
				for _, o := range list {
					for h := q.first[o]; h < q.first[o+1]; h++ {
						sum += T(x[h] * T(q.p-2*distance(code, q.bits(h))))
					}
				}
				dots[g] = sum
			}
		}
	})
}
