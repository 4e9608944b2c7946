package inference

// Groups: rows that no loss can tell apart are one variable.
//
// A unit is a set of rows that are alike in Y and similar to each other: a class, or the rows with the same tags. Rows
// of a unit with the same bits so far have the same pair weights, to all others and among themselves. The function that
// a block minimises is submodular and so has one smallest minimiser; swapping two such rows leaves the function as it
// is, hence also this minimiser, which gives them the same sign. A group holds a unit's rows with one code; its mass is
// their number. Merging is exact.
//
// Groups are stored in the order of their units, so a unit has a run of them. A new bit splits groups, in O(n). Arrays
// with an entry per row are read and written from the first row to the last, since they may be in a file.

import (
	"context"
	"math/bits"
	"sync"
	"sync/atomic"

	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/fasthash/maxflow"
	"hashgrove/internal/par"
	"hashgrove/internal/vectors"
)

// units is the interface that classes and tags share.
type units interface {
	affinity.Matrix
	Units() int
	Size(u int32) int
	RowUnits() []int32
}

// groups is what all candidates of a bit share: between two pushes it is only read, except for caches with a lock.
type groups struct {
	memory *vectors.Spill
	merge  bool
	apart  bool // some rows are similar to rows outside their block
	near   *neighbours
	sets   [][]int32 // the blocks, as units; nil: every group is one

	unit  []int32 // of each row
	from  []int32 // places of the rows of unit u, with rows in the order of their units: from[u] to from[u+1]
	count []int64 // weight of a row of unit u: 1, or more to balance classes

	group []int32  // of each row
	first []int32  // groups of unit u: first[u] to first[u+1]
	owner []int32  // unit of each group
	size  []int64  // rows of each group, by weight
	code  []uint64 // words per group; bit b of the code is bit b%64 of word b/64
	words int
	p     int // bits so far

	pairs   [2]int64    // similar, dissimilar
	squares int64       // sum of the squared weights of rows
	alike   []int64     // of each unit: the rows similar to one of its rows, including that row
	gram    *gram       // for linear losses, as is what follows
	all     sums[int64] // of the weights of all rows
	inner   []int64     // of each group: the sum of c_i.c_j over the rows j similar to one of its rows, with that row
	large   largeCuts
	parts   *atomic.Int64 // cuts of undecided groups that were too many for one
}

func newGrouped(y units, tags *affinity.Tags, count []int64, parts *atomic.Int64, o Options,
	seed uint64) (*grouped, error) {

	q := &grouped{threads: o.Threads, groups: &groups{memory: o.Spill, merge: !o.noMerge && o.Method != ICM,
		apart: tags != nil || o.Method == ICM, near: newNeighbours(tags, o.Threads, maxStored)}}
	q.count, q.parts = count, parts
	q.cut.most = maxflow.MaxNodes
	q.unit = y.RowUnits()
	q.from = make([]int32, y.Units()+1)
	for u := range int32(y.Units()) {
		q.from[u+1] = q.from[u] + int32(y.Size(u))
	}
	if err := q.firstGroups(); err != nil {
		return nil, err
	}
	if o.Method == BlockGC {
		if tags != nil {
			q.sets = tagBlocks(q.near, y.Units(), seed)
		} else {
			for u := range y.Units() {
				q.sets = append(q.sets, []int32{int32(u)})
			}
		}
	}
	q.alike = make([]int64, y.Units())
	_ = nearSums(context.Background(), q, q.size, q.alike)
	for g, u := range q.owner { // ordered, and each row with itself
		q.pairs[0] += q.size[g] * q.alike[u]
	}
	all := int64(0)
	for u, c := range count {
		rows := int64(q.from[u+1] - q.from[u])
		all += c * rows
		q.squares += c * c * rows
	}
	q.pairs[0] = (q.pairs[0] - q.squares) / 2
	q.pairs[1] = (all*all-q.squares)/2 - q.pairs[0]
	if o.pair().linear {
		q.gram, q.all.s, q.inner = &gram{}, all, make([]int64, len(q.size))
	}
	q.f = newField(q)
	return q, nil
}

// firstGroups makes a group of every unit, or of every row.
func (q *groups) firstGroups() (err error) {
	if q.group, err = vectors.Alloc[int32](q.memory, len(q.unit)); err != nil {
		return err
	}
	q.first = make([]int32, len(q.from))
	next := make([]int32, len(q.count)) // the group of the next row of each unit
	for u, c := range q.count {
		next[u] = int32(len(q.size))
		rows := int64(q.from[u+1] - q.from[u])
		switch {
		case q.merge && rows > 0:
			q.size, q.owner = append(q.size, c*rows), append(q.owner, int32(u))
		case !q.merge:
			for range rows {
				q.size, q.owner = append(q.size, c), append(q.owner, int32(u))
			}
		}
		q.first[u+1] = int32(len(q.size))
	}
	for i, u := range q.unit {
		q.group[i] = next[u]
		if !q.merge {
			next[u]++
		}
	}
	return nil
}

func (q *groups) mass() []int64 { return q.size }

func (q *groups) blocks() (n, rows int) {
	if q.sets == nil {
		return len(q.size), len(q.unit)
	}
	for _, units := range q.sets {
		for _, u := range units {
			rows += int(q.from[u+1] - q.from[u])
		}
	}
	return len(q.sets), rows
}

func (q *groups) rows() (variable, unit []int32, count []int64) { return q.group, q.unit, q.count }

func (q *groups) counts() (similar, dissimilar int64) { return q.pairs[0], q.pairs[1] }

// bits returns the code of group g, without copying.
func (q *groups) bits(g int32) []uint64 { return q.code[int(g)*q.words:][:q.words] }

// sign returns a bit of group g, +1 or -1.
func (q *groups) sign(g int32, bit int) int64 {
	return int64(q.bits(g)[bit>>6]>>(bit&63)&1)*2 - 1
}

// distance returns the Hamming distance of two codes.
func distance(a, b []uint64) int {
	d := 0
	b = b[:len(a)]
	for i, v := range a {
		d += bits.OnesCount64(v ^ b[i])
	}
	return d
}

// push splits the groups by a new bit. Groups are numbered unit by unit, and within a unit by their first rows.
func (q *grouped) push(h []int8) {
	halves, rows := q.halve(h)
	halves = q.byUnit(halves)
	words := (q.p + 64) / 64
	code, size, owner := make([]uint64, len(halves)*words), make([]int64, len(halves)), make([]int32, len(halves))
	q.each(len(halves), func(lo, hi int) {
		for k := lo; k < hi; k++ {
			side := halves[k]
			copy(code[k*words:], q.bits(side/2))
			code[k*words+q.p>>6] |= uint64(side&1) << (q.p & 63)
			owner[k] = q.owner[side/2]
			size[k] = int64(rows[side]) * q.count[owner[k]]
			rows[side] = int32(k) // from now on the number of the new group
		}
	})
	q.each(len(q.group), func(lo, hi int) {
		group := q.group[lo:hi]
		for i, v := range h[lo:hi] {
			group[i] = rows[half(group[i], v)]
		}
	})
	q.code, q.size, q.owner, q.words = code, size, owner, words
	q.p++
	if q.gram != nil {
		q.gram.push(q)
		q.addBit(halves)
	}
}

// half numbers the halves of old groups: twice the group's number, and one more where the bit is +1.
func half(group int32, bit int8) int32 { return 2*group + int32(uint8(^bit)>>7) }

// halve lists the halves of groups that have rows, in the order of their first rows, and counts the rows of each half.
func (q *groups) halve(h []int8) (halves, rows []int32) {
	rows = make([]int32, 2*len(q.size))
	halves = make([]int32, 0, min(len(rows), len(h)))
	for i, g := range q.group {
		side := half(g, h[i])
		if rows[side] == 0 {
			halves = append(halves, side)
		}
		rows[side]++
	}
	return halves, rows
}

// byUnit sorts halves of groups by unit, and within a unit leaves them in their order. It sets where the groups of each
// unit begin.
func (q *groups) byUnit(halves []int32) []int32 {
	next := make([]int32, len(q.first)) // where the next half of each unit goes
	for _, side := range halves {
		next[q.owner[side/2]+1]++
	}
	for u := range next[1:] {
		next[u+1] += next[u]
	}
	copy(q.first, next)
	sorted := make([]int32, len(halves))
	for _, side := range halves {
		at := &next[q.owner[side/2]]
		sorted[*at] = side
		*at++
	}
	return sorted
}

// neighbours finds the units similar to a unit: only itself if there are no tags. Lists of tags are stored if they are
// not too long, and otherwise recomputed.
type neighbours struct {
	tags  *affinity.Tags
	first []int
	list  []int32
}

// maxStored is the largest number of list entries that an Inference stores: a quarter of a gigabyte.
const maxStored = 64 << 20

func newNeighbours(tags *affinity.Tags, threads int, most int64) *neighbours {
	s := &neighbours{tags: tags}
	if tags == nil {
		return s
	}
	const size = 256
	var total atomic.Int64
	units := tags.Units()
	lists := make([][]int32, units)
	_ = par.Blocks(context.Background(), threads, units, size, func(_, lo, hi int) {
		similar := tags.SimilarUnits()
		for u := lo; u < hi && total.Load() <= most; u++ {
			found := similar(int32(u))
			lists[u] = append([]int32(nil), found...)
			total.Add(int64(len(found)))
		}
	})
	if total.Load() > most {
		return s
	}
	s.first, s.list = make([]int, units+1), make([]int32, 0, total.Load())
	for u, l := range lists {
		s.list = append(s.list, l...)
		s.first[u+1] = len(s.list)
		lists[u] = nil
	}
	return s
}

// reader returns a function, for one goroutine, that lists the units similar to u, including u, ascending.
func (s *neighbours) reader() func(u int32) []int32 {
	switch {
	case s.list != nil:
		return func(u int32) []int32 { return s.list[s.first[u]:s.first[u+1]] }
	case s.tags != nil:
		return s.tags.SimilarUnits()
	}
	own := make([]int32, 1)
	return func(u int32) []int32 {
		own[0] = u
		return own
	}
}

// Solving for groups. Several candidates of a bit can be inferred at the same time: each has its own signs and scratch
// memory, and all read the same groups.

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
