package inference

// Solving for groups. Several candidates of a bit can be inferred at the same time: each has its own signs and scratch
// memory, and all read the same groups.

import (
	"context"
	"sync"

	"hashgrove/internal/fasthash/maxflow"
	"hashgrove/internal/par"
)

// grouped is the problem over classes or tags, where all pairs are defined.
type grouped struct {
	*groups
	threads int
	beside  bool // others are solved at the same time

	z   []int8 // of each group
	w   weights
	f   field
	cut cutter
}

// largeCuts is the memory for cuts of many groups, of which there is one at a time: the largest take 256 MB.
type largeCuts struct {
	sync.Mutex
	flow maxflow.Hamming
}

// OwnNodes is the largest number of groups that a candidate cuts in memory of its own, 64 MB, if there are several.
const OwnNodes = 1 << 14

// another implements problem.
func (q *grouped) another(threads int) problem {
	o := &grouped{groups: q.groups, threads: threads, beside: true}
	o.cut.most = q.cut.most
	o.f = newField(o)
	return o
}

func (q *grouped) signs() []int8 { return q.z }

func (q *grouped) setWeights(w weights) { q.w = w }

func (q *grouped) reset(ctx context.Context) error {
	q.z = plusOnes(q.z, len(q.size))
	return q.f.reset(ctx)
}

// plusOnes returns n signs +1, in place of z if they fit.
func plusOnes(z []int8, n int) []int8 {
	if cap(z) < n {
		z = make([]int8, n)
	}
	z = z[:n]
	for i := range z {
		z[i] = 1
	}
	return z
}

// eachRun calls f for runs of groups, on several cores or, if the work is small, directly. work is in steps of about a
// nanosecond.
func (q *grouped) eachRun(ctx context.Context, work int, f func(lo, hi int)) error {
	const size = 512
	threads := q.threads
	if work < 1<<17 {
		threads = 1
	}
	return par.Blocks(ctx, threads, len(q.size), size, func(_, lo, hi int) { f(lo, hi) })
}

// rowBlock is the number of rows or groups that a worker takes for a simple loop, so that starting it pays.
const rowBlock = 1 << 16

// each calls f for runs of rows or groups.
func (q *grouped) each(n int, f func(lo, hi int)) {
	_ = par.Blocks(context.Background(), q.threads, n, rowBlock, func(_, lo, hi int) { f(lo, hi) })
}

// eachUnit calls f for every unit, on several cores if there are many groups.
func (q *grouped) eachUnit(f func(u int)) {
	units := len(q.from) - 1
	size := max(1, units*rowBlock/4/max(1, len(q.size)))
	_ = par.Blocks(context.Background(), q.threads, units, size, func(_, lo, hi int) {
		for u := lo; u < hi; u++ {
			f(u)
		}
	})
}
