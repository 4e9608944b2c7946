package inference

// W x for real x, over classes and tags, through the same structure as the fields.

import (
	"context"

	"hashgrove/internal/par"
)

// product implements problem.
func (q *grouped) product(ctx context.Context, w weights, x, y []float64) error {
	scaled := make([]float64, len(x))
	for g, v := range x {
		scaled[g] = v * float64(q.size[g])
	}
	var err error
	if q.gram == nil { // the hinge
		clear(y)
		err = tableProduct(ctx, q, w, q.allGroups(), scaled, y)
	} else {
		t, dots := make([]float64, len(q.from)-1), make([]float64, len(x))
		err = nearSums(ctx, q, scaled, t)
		if err == nil && w.near != w.far {
			err = nearDots(ctx, q, scaled, dots)
		}
		if err == nil {
			err = linearProduct(ctx, q, w, linearTerms[float64]{scaled, t, dots}, y)
		}
	}
	for g := range y {
		y[g] += float64(float64(w.near) * x[g])
	}
	return err
}

// totals implements problem.
func (q *grouped) totals(ctx context.Context, w weights, y []float64) error {
	sum := make([]int64, len(y))
	var err error
	if q.gram == nil {
		err = tableProduct(ctx, q, w, q.allGroups(), q.size, sum)
	} else {
		dots := make([]int64, len(y))
		if err = q.inner.groups(ctx, q, dots); err == nil {
			err = linearProduct(ctx, q, w, linearTerms[int64]{q.size, q.alike, dots}, sum)
		}
	}
	for g, v := range sum {
		y[g] = float64(v + w.near)
	}
	return err
}

// allGroups lists all groups.
func (q *grouped) allGroups() []int32 {
	all := make([]int32, len(q.size))
	for g := range all {
		all[g] = int32(g)
	}
	return all
}

// linearTerms is what fields with linear weights are made of: x summed over the rows of each group, T and Q.
type linearTerms[T number] struct{ x, t, dots []T }

// linearProduct writes the fields y for linear weights.
func linearProduct[T number](ctx context.Context, q *grouped, w weights, of linearTerms[T], y []T) error {
	const size = 2048
	x := of.x
	parts := make([]sums[T], (len(x)+size-1)/size)
	err := par.Blocks(ctx, q.threads, len(x), size, func(b, lo, hi int) {
		parts[b].reset(q.p)
		for g := lo; g < hi; g++ {
			parts[b].add(q.bits(int32(g)), x[g])
		}
	})
	if err != nil {
		return err
	}
	for b := range parts[1:] {
		parts[0].addSums(&parts[b+1])
	}
	var all dotter[T]
	all.load(&parts[0], q.p, T(w.far), len(x))
	base := T(w.far*w.farShift) * parts[0].s
	shift := T(w.near*w.nearShift - w.far*w.farShift)
	return q.eachRun(ctx, len(x)*(q.p+8)/8, func(lo, hi int) {
		for g := lo; g < hi; g++ {
			y[g] = base + all.dot(q.bits(int32(g))) + T(shift*of.t[q.owner[g]]) + T(T(w.near-w.far)*of.dots[g])
		}
	})
}
