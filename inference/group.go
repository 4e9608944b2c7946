package inference

// Groups: rows that no loss can tell apart are one variable.
//
// A unit is a set of rows that are alike in Y and similar to each other: a class, or the rows with the same tags. Rows
// of a unit with the same bits so far have the same pair weights, to all others and among themselves. The function that
// a block minimises is submodular and so has one smallest minimiser; swapping two such rows leaves the function as it
// is, hence also this minimiser: it gives them the same sign. A group is a unit's rows with one code; its mass is their
// number. Merging is exact.
//
// Rows stand in the order of their units and groups in the order of theirs, so a unit has a run of both. A new
// bit splits groups, in O(n).

import (
	"context"
	"math/bits"
	"slices"
	"sync/atomic"

	"hashgrove/affinity"
	"hashgrove/internal/maxflow"
	"hashgrove/internal/par"
)

// units is what classes and tags have in common.
type units interface {
	affinity.Matrix
	Units() int
	Rows(u int32) []int32
}

// grouped is the problem over classes or tags, where all pairs are defined.
type grouped struct {
	threads int
	merge   bool
	near    *neighbours
	sets    [][]int32 // the blocks, as units

	order []int32 // the rows, unit by unit
	from  []int32 // rows of unit u: order[from[u]:from[u+1]]
	count []int64 // what a row of unit u counts: 1, or more to balance classes

	group []int32  // of each place in order
	first []int32  // groups of unit u: first[u] to first[u+1]
	owner []int32  // unit of each group
	size  []int64  // rows of each group, by what they count
	code  []uint64 // words per group; bit b of the code is bit b%64 of word b/64
	words int
	p     int // bits so far

	z []int8 // of each group
	w weights
	f field

	pairs   [2]int64 // similar, dissimilar
	squares int64    // sum of the squares of what rows count
	alike   []int64  // of each unit: the rows similar to one of its rows, that row included
	inner   rowDots
	gram    *gram // for linear losses
	cut     cutter
}

func newGrouped(y units, tags *affinity.Tags, count []int64, o Options, seed uint64) *grouped {
	q := &grouped{threads: o.Threads, merge: !o.noMerge && o.Method != ICM,
		near: newNeighbours(tags, o.Threads, maxStored)}
	q.count = count
	q.cut.most = maxflow.MaxNodes
	n := y.Len()
	q.order = make([]int32, 0, n)
	q.from = make([]int32, y.Units()+1)
	for u := range int32(y.Units()) {
		q.order = append(q.order, y.Rows(u)...)
		q.from[u+1] = int32(len(q.order))
	}
	q.first = make([]int32, y.Units()+1)
	q.group = make([]int32, n)
	old := 0
	for u := range q.from[1:] {
		for i := q.from[u]; i < q.from[u+1]; i++ {
			if !q.merge || i == q.from[u] {
				q.size = append(q.size, 0)
				q.owner = append(q.owner, int32(u))
				old = len(q.size) - 1
			}
			q.group[i] = int32(old)
			q.size[old] += count[u]
		}
		q.first[u+1] = int32(len(q.size))
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
	if o.Loss.isLinear() {
		q.f = &linearField{q: q, apart: tags != nil || o.Method == ICM}
		q.gram = newGram(q, tags == nil)
	} else {
		q.f = &tableField{q: q}
	}
	return q
}

func (q *grouped) mass() []int64 { return q.size }
func (q *grouped) signs() []int8 { return q.z }
func (q *grouped) blocks() int   { return len(q.sets) }

func (q *grouped) setWeights(w weights) { q.w = w }

func (q *grouped) reset(ctx context.Context) error {
	q.z = slices.Repeat([]int8{1}, len(q.size))
	return q.f.reset(ctx)
}

func (q *grouped) field(v int) int64 { return q.f.value(int32(v)) }

func (q *grouped) flip(v int) {
	q.z[v] = -q.z[v]
	q.f.noteFlips([]int32{int32(v)})
}

func (q *grouped) rowSigns(z []int8) {
	for i, g := range q.group {
		z[q.order[i]] = q.z[g]
	}
}

func (q *grouped) rowValues(y, rows []float64) {
	for i, g := range q.group {
		rows[q.order[i]] = y[g]
	}
}

func (q *grouped) rowCounts(rows []float64) {
	for i, g := range q.group {
		rows[q.order[i]] = float64(q.count[q.owner[g]])
	}
}

func (q *grouped) counts() (similar, dissimilar int64) { return q.pairs[0], q.pairs[1] }

// bits lends the code of group g.
func (q *grouped) bits(g int32) []uint64 { return q.code[int(g)*q.words:][:q.words] }

// distance is the Hamming distance of two codes.
func distance(a, b []uint64) int {
	d := 0
	b = b[:len(a)]
	for i, v := range a {
		d += bits.OnesCount64(v ^ b[i])
	}
	return d
}

// push splits the groups by a new bit.
func (q *grouped) push(h []int8) {
	if q.gram != nil {
		q.gram.push(q, h)
	}
	words := (q.p + 64) / 64
	bit := uint64(1) << (q.p & 63)
	fresh := make([]int32, 2*len(q.size)) // 1 + number of the new group, by old group and bit
	var (
		code  []uint64
		size  []int64
		owner []int32
	)
	for u := range q.from[1:] {
		for i := q.from[u]; i < q.from[u+1]; i++ {
			g := q.group[i]
			slot := &fresh[2*g]
			if h[q.order[i]] > 0 {
				slot = &fresh[2*g+1]
			}
			if *slot == 0 {
				at := len(code)
				code = append(code, make([]uint64, words)...)
				copy(code[at:], q.bits(g))
				if h[q.order[i]] > 0 {
					code[at+q.p>>6] |= bit
				}
				size, owner = append(size, 0), append(owner, int32(u))
				*slot = int32(len(size))
			}
			q.group[i] = *slot - 1
			size[*slot-1] += q.count[u]
		}
		q.first[u+1] = int32(len(size))
	}
	q.code, q.size, q.owner, q.words = code, size, owner, words
	q.p++
}

// eachRun runs f over runs of groups on several cores, or at once when the work is small. work is in steps of about a
// nanosecond.
func (q *grouped) eachRun(ctx context.Context, work int, f func(lo, hi int)) error {
	const size = 512
	threads := q.threads
	if work < 1<<17 {
		threads = 1
	}
	return par.Blocks(ctx, threads, len(q.size), size, func(_, lo, hi int) { f(lo, hi) })
}

// neighbours tells which units are similar to a unit: only itself when there are no tags. The lists of tags are stored
// when they are not too long, else found again whenever they are needed.
type neighbours struct {
	tags  *affinity.Tags
	first []int
	list  []int32
}

// maxStored is the most list entries that an Inference stores: a quarter of a gigabyte.
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

// reader returns a function for one goroutine that lends the units similar to u, u included, ascending.
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
