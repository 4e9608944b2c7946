package inference

// Step 1 over explicit pairs: lists of neighbours with their distances.
//
// Every row is a variable. Each entry in a row's list of neighbours keeps its distance over the bits so far, two bytes,
// updated by every new bit. Fields are sums over lists. A block is solved as in graphcut.go: the two monotone passes,
// here with a list of rows whose field has changed, then a sparse cut over what is left. Unknown pairs have no weight
// and no arc.
//
// Cost of a bit: a few steps per list entry and sweep, plus the cuts.

import (
	"context"
	"slices"

	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/fasthash/maxflow"
	"hashgrove/internal/par"
)

// lists is what all candidates of a bit share.
type lists struct {
	sets  [][]int32 // the blocks; nil: every row is one
	near  adjacency
	far   adjacency
	every []int32 // all rows
	count []int64 // weight of each row: 1, or more to balance classes
	p     int
}

// listed is the problem over explicit pairs.
type listed struct {
	*lists
	threads int

	z []int8
	w weights

	// While a block is solved:
	place  []int32 // of each row in the block, or -1
	u      []int64 // fields of the rows of the block
	sign   []int8  // 0 for undecided
	queue  []int32
	node   []int32 // of each row of the block in the cut, or -1
	excess []int64
	sink   []bool
	flow   maxflow.Sparse
}

// adjacency is one kind of pair: where the list of each row starts, and the distance of each entry.
type adjacency struct {
	row      func(i int) []int32
	start    []int
	distance []uint16
}

func newAdjacency(n int, row func(i int) []int32) adjacency {
	a := adjacency{row: row, start: make([]int, n+1)}
	for i := range n {
		a.start[i+1] = a.start[i] + len(row(i))
	}
	a.distance = make([]uint16, a.start[n])
	return a
}

func (a *adjacency) distances(i int) []uint16 { return a.distance[a.start[i]:a.start[i+1]] }

func newListed(y *affinity.Pairs, count []int64, o Options, seed uint64) *listed {
	n := y.Len()
	q := &lists{near: newAdjacency(n, y.Similar), far: newAdjacency(n, y.Dissimilar), count: count}
	for i := range n {
		q.every = append(q.every, int32(i))
	}
	if o.Method == BlockGC {
		q.sets = pairBlocks(y, seed)
	}
	return &listed{lists: q, threads: o.Threads, place: slices.Repeat([]int32{-1}, n)}
}

// another implements problem.
func (q *listed) another(threads int) problem {
	return &listed{lists: q.lists, threads: threads, place: slices.Repeat([]int32{-1}, len(q.count))}
}

func (q *listed) mass() []int64                                { return q.count }
func (q *listed) signs() []int8                                { return q.z }
func (q *lists) rows() (variable, unit []int32, count []int64) { return q.every, q.every, q.count }

func (q *listed) setWeights(w weights) { q.w = w }

func (q *listed) blocks() (n, rows int) {
	if q.sets == nil {
		return len(q.count), len(q.count)
	}
	for _, block := range q.sets {
		rows += len(block)
	}
	return len(q.sets), rows
}

func (q *listed) reset(context.Context) error {
	q.z = plusOnes(q.z, len(q.count))
	return nil
}

func (q *listed) push(h []int8) {
	_ = par.Blocks(context.Background(), q.threads, len(h), 1024, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			for _, a := range []*adjacency{&q.near, &q.far} {
				d := a.distances(i)
				for k, j := range a.row(i) {
					d[k] += uint16(h[i]^h[j]) >> 15 // the signs differ
				}
			}
		}
	})
	q.p++
}

// field returns the sum of w z over all rows but i. For a row of the block being solved, the others count as -1.
func (q *listed) field(i int) int64 {
	sum := int64(0)
	d := q.near.distances(i)
	for k, j := range q.near.row(i) {
		z := q.z[j]
		if q.place[j] >= 0 {
			z = -1
		}
		sum += q.w.sim[d[k]] * q.count[j] * int64(z)
	}
	d = q.far.distances(i)
	for k, j := range q.far.row(i) { // never in the same block
		sum += q.w.dis[d[k]] * q.count[j] * int64(q.z[j])
	}
	return sum
}

// solve implements problem: it minimises over the rows of block b.
func (q *listed) solve(ctx context.Context, b int) (bool, error) {
	block := []int32{int32(b)}
	if q.sets != nil {
		block = q.sets[b]
	}
	for k, i := range block {
		q.place[i] = int32(k)
	}
	defer func() {
		for _, i := range block {
			q.place[i] = -1
		}
	}()
	q.u = append(q.u[:0], make([]int64, len(block))...)
	q.sign = append(q.sign[:0], make([]int8, len(block))...)
	err := par.Blocks(ctx, q.threads, len(block), 256, func(_, lo, hi int) {
		for k := lo; k < hi; k++ {
			q.u[k] = q.field(int(block[k]))
		}
	})
	if err != nil {
		return false, err
	}
	q.decide(block, +1)
	q.changeFields(block, +2)
	q.decide(block, -1)
	q.changeFields(block, -1)
	if err := q.cut(ctx, block); err != nil {
		return false, err
	}
	moved := false
	for k, i := range block {
		moved = moved || q.z[i] != q.sign[k]
		q.z[i] = q.sign[k]
	}
	return moved, nil
}

// changeFields changes the sign of all undecided rows as the others see them.
func (q *listed) changeFields(block []int32, by int64) {
	for k, i := range block {
		if q.sign[k] == 0 {
			q.updateFields(i, by)
		}
	}
}

// updateFields updates the fields of the rows of the block after z of row i changes.
func (q *listed) updateFields(i int32, by int64) {
	d := q.near.distances(int(i))
	by *= q.count[i]
	for k, j := range q.near.row(int(i)) {
		if to := q.place[j]; to >= 0 {
			q.u[to] += by * q.w.sim[d[k]]
		}
	}
}

// decide fixes the rows that take the given sign while all undecided rows have the opposite one: +1 is the rise, -1 the
// fall. The order does not matter: what can move once can always move.
func (q *listed) decide(block []int32, sign int64) {
	moves := func(k int32) bool {
		return q.sign[k] == 0 && (sign > 0 && q.u[k] < 0 || sign < 0 && q.u[k] >= 0)
	}
	q.queue = q.queue[:0]
	for k := range block {
		if moves(int32(k)) {
			q.queue = append(q.queue, int32(k))
		}
	}
	for len(q.queue) > 0 {
		k := q.queue[len(q.queue)-1]
		q.queue = q.queue[:len(q.queue)-1]
		if q.sign[k] != 0 {
			continue
		}
		q.sign[k] = int8(sign)
		q.updateFields(block[k], 2*sign)
		for _, j := range q.near.row(int(block[k])) {
			if to := q.place[j]; to >= 0 && moves(to) {
				q.queue = append(q.queue, to)
			}
		}
	}
}

// cut decides the undecided rows, whose fields exclude each other: the sink side is +1.
func (q *listed) cut(ctx context.Context, block []int32) error {
	q.node, q.excess = q.node[:0], q.excess[:0]
	nodes := int32(0)
	for k := range block {
		q.node = append(q.node, -1)
		if q.sign[k] == 0 {
			q.node[k] = nodes
			nodes++
			q.excess = append(q.excess, q.count[block[k]]*q.u[k])
		}
	}
	if nodes == 0 {
		return nil
	}
	q.flow.Start()
	for k, i := range block {
		if q.node[k] < 0 {
			continue
		}
		d := q.near.distances(int(i))
		for e, j := range q.near.row(int(i)) {
			if to := q.place[j]; to >= 0 && q.node[to] >= 0 {
				q.flow.Add(q.node[to], -q.w.sim[d[e]]*q.count[i]*q.count[j])
			}
		}
		q.flow.Close()
	}
	q.sink = append(q.sink[:0], make([]bool, nodes)...)
	if err := q.flow.Cut(ctx, q.excess, q.sink); err != nil {
		return err
	}
	for k, v := range q.node {
		switch {
		case v < 0:
		case q.sink[v]:
			q.sign[k] = 1
		default:
			q.sign[k] = -1
		}
	}
	return nil
}

// product implements problem.
func (q *listed) product(ctx context.Context, w weights, x, y []float64) error {
	return par.Blocks(ctx, q.threads, len(x), 512, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			sum := 0.0
			d := q.near.distances(i)
			for k, j := range q.near.row(i) {
				sum += float64(float64(w.sim[d[k]]*q.count[j]) * x[j])
			}
			d = q.far.distances(i)
			for k, j := range q.far.row(i) {
				sum += float64(float64(w.dis[d[k]]*q.count[j]) * x[j])
			}
			y[i] = sum
		}
	})
}

// totals implements problem.
func (q *listed) totals(ctx context.Context, w weights, y []float64) error {
	return q.product(ctx, w, slices.Repeat([]float64{1}, len(y)), y)
}

// fields implements problem.
func (q *listed) fields(ctx context.Context, w weights, h []int8, rows []float64) error {
	x := make([]float64, len(h))
	for i, v := range h {
		x[i] = float64(v)
	}
	return q.product(ctx, w, x, rows)
}

// losses implements problem.
func (q *listed) losses(_ context.Context, l *Pair, length int) (similar, dissimilar float64, err error) {
	return l.sum(q.histogram(&q.near), length, true), l.sum(q.histogram(&q.far), length, false), nil
}

// counts implements problem.
func (q *listed) counts() (similar, dissimilar int64) {
	for _, c := range q.histogram(&q.near) {
		similar += c
	}
	for _, c := range q.histogram(&q.far) {
		dissimilar += c
	}
	return similar, dissimilar
}

// histogram counts the distances of the pairs, each of which is in two lists.
func (q *listed) histogram(a *adjacency) []int64 {
	h := make([]int64, q.p+1)
	for i, c := range q.count {
		d := a.distances(i)
		for k, j := range a.row(i) {
			h[d[k]] += c * q.count[j]
		}
	}
	for d := range h {
		h[d] /= 2
	}
	return h
}
