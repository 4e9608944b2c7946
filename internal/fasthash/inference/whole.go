package inference

// Sums that do not depend on the signs: all candidates of a bit read them, and the first brings them up to date.

import (
	"context"
	"sync"

	"hashgrove/internal/par"
)

// wholeSums holds the sums of all groups.
type wholeSums struct {
	lock sync.Mutex
	done bool // for the bits so far
	all  sums[int64]
}

// update brings the sums up to date with the groups. Afterwards they may be read until the next bit.
func (s *wholeSums) update(q *grouped) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.done {
		return
	}
	s.all.reset(q.p)
	var t tally
	for u := range q.count {
		t.begin(&s.all, 1, q.count[u])
		for g := q.first[u]; g < q.first[u+1]; g++ {
			t.add(q.bits(g), q.size[g])
		}
		t.end()
	}
	s.done = true
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

// rowDots keeps for every group the sum of c_i.c_j over the rows j similar to one of its rows, that row included: Q
// when all signs are +1. A new bit adds c_ib times the sum of that bit over the similar rows, which is cheaper than
// distances.
type rowDots struct {
	lock sync.Mutex
	bits int     // pushed so far
	sum  []int64 // by group
}

// split passes the sums on to new groups, each of which is half of an old one.
func (r *rowDots) split(q *grouped, halves []int32) {
	if r.sum == nil {
		return
	}
	sum := make([]int64, len(halves))
	q.each(len(sum), func(lo, hi int) {
		for k := lo; k < hi; k++ {
			sum[k] = r.sum[halves[k]/2]
		}
	})
	r.sum = sum
}

// groups writes the sum of each group.
func (r *rowDots) groups(ctx context.Context, q *grouped, dots []int64) error {
	err := r.update(ctx, q)
	copy(dots, r.sum)
	return err
}

// update brings the sums up to date with the bits. Afterwards they may be read until the next bit.
func (r *rowDots) update(ctx context.Context, q *grouped) error {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.sum == nil {
		r.sum = make([]int64, len(q.size))
	}
	bit, near := make([]int64, len(q.from)-1), make([]int64, len(q.from)-1)
	for ; r.bits < q.p; r.bits++ {
		q.eachUnit(func(u int) {
			bit[u], near[u] = 0, 0
			for g := q.first[u]; g < q.first[u+1]; g++ {
				bit[u] += q.size[g] * q.sign(g, r.bits)
			}
		})
		if err := nearTotals(ctx, q, bit, near); err != nil {
			return err
		}
		q.eachUnit(func(u int) {
			for g := q.first[u]; g < q.first[u+1]; g++ {
				r.sum[g] += q.sign(g, r.bits) * near[u]
			}
		})
	}
	return nil
}
