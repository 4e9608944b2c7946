package boost

import (
	"math"
	"math/bits"
	"math/rand/v2"

	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// One complete decision tree (Lin et al., CVPR 2014, Step 2), grown breadth first as in the released code.
//
//	for each level
//		openNodes every node that may be split draws its columns
//		search    histograms and best splits: histogram.go, split.go       nearly all the time
//		divide    the rows of each node between its children               O(rows)
//
// The rows of a node lie together. Those that go left are written from the front, those that go right from the back: so
// each list rises or falls all along, and columns are read in one direction. A node that is not split becomes a subtree
// of splits that send every row left, with the sign of the node at all leaves.

// node is a node of the current level.
type node struct {
	at     int   // its number in heap order
	lo, hi int   // its rows
	sum    int64 // their signed mass
	plus   int   // the number with z = +1
	slot   int   // of its histograms
	open   bool  // whether it is to be split

	// What a split needs.
	columns []uint32    // candidates, rising
	items   []item      // its rows
	groups  []split     // the best of each group of columns, if it may be the best of all
	lead    int64       // the greatest gain so far, while all threads search
	parent  []histogram // its parent's histograms; nil when not kept
	kept    []histogram // its own, for its children; nil when not kept
}

// tree is a complete tree in the form of model.Ensemble.
type tree struct {
	feature []uint32
	bin     []uint8
	leaf    []uint64
}

// isSplit reports whether any node is split.
func (t *tree) isSplit() bool { return t.bin[0] != noBin }

// noBin sends every row left. No real split has it, since something lies to its right.
const noBin = vectors.Bins - 1

// grower holds the memory for one tree. A level has at most 2^(Depth-1) open nodes, and no more rows than all.
type grower struct {
	draws draws
	root  node // set by trim
	tree  tree

	items       [2][]item // of this level and the next, alternating
	level, next []node
	unsettled   []*node // whose split depends on their rows
	pieces      []piece
	passes      []pass
	columns     []uint32
	groups      []split
	kept        kept
	shared      []shared
	updates     int // rows added to histograms so far; the benchmark reads it
}

func (t *cores) newGrower() (err error) {
	o, usable, threads := t.o, len(t.usable), t.team.Size()
	offered, drawn := o.columnsPerTree(usable), o.columnsPerNode(usable)
	width, splits := 1<<(o.Depth-1), model.Splits(o.Depth)
	g := grower{
		draws:   newDraws(usable),
		tree:    tree{make([]uint32, splits), make([]uint8, splits), make([]uint64, model.LeafWords(o.Depth))},
		level:   make([]node, 0, 2*width),
		next:    make([]node, 0, 2*width),
		passes:  make([]pass, 0, width),
		columns: make([]uint32, width*drawn),
		groups:  make([]split, width*((drawn+groupColumns-1)/groupColumns)),
	}
	m := t.x.Spill()
	for i := range g.items {
		if g.items[i], err = allocItems(m, t.n); err != nil {
			return err
		}
	}
	if drawn == offered {
		if g.kept, err = newKept(m, t.n, len(t.blocks), o.Depth, offered); err != nil {
			return err
		}
	}
	if threads >= manyThreads {
		g.shared = make([]shared, threads)
	}
	t.grower = g
	return nil
}

// grow grows a tree from the rows listed by trim. Node i draws from the stream of seed and id + i.
func (t *cores) grow(seed, id uint64) {
	for i := range t.tree.bin {
		t.tree.bin[i] = noBin
	}
	clear(t.tree.leaf)
	t.level = append(t.level[:0], t.root)
	from := 0
	for depth := range t.o.Depth {
		t.openNodes(depth, from, seed, id)
		t.search()
		t.divide(depth, from)
		t.level, t.next = t.next, t.level
		from = 1 - from
	}
	for i := range t.level {
		t.setLeaves(&t.level[i], t.o.Depth)
	}
	// Splits that do nothing test the root's column, so that the model reads no other because of them.
	if !t.tree.isSplit() {
		t.tree.feature[0] = 0
	}
	for i, b := range t.tree.bin {
		if b == noBin {
			t.tree.feature[i] = t.tree.feature[0]
		}
	}
}

// setLeaves gives all leaves below a node its sign.
func (t *cores) setLeaves(v *node, depth int) {
	if v.sum < 0 {
		return
	}
	below := t.o.Depth - depth
	first := (v.at - model.Splits(depth)) << below
	for leaf := first; leaf < first+1<<below; leaf++ {
		t.tree.leaf[leaf/64] |= 1 << (leaf % 64)
	}
}

// openNodes makes the draws of the nodes of the level that may be split, and plans the passes over their rows.
func (t *cores) openNodes(depth, from int, seed, id uint64) {
	least := max(t.o.MinNode, 0)
	drawn := len(t.columns) >> (t.o.Depth - 1)
	groups := len(t.groups) >> (t.o.Depth - 1)
	open := 0
	for i := range t.level {
		v := &t.level[i]
		v.items = t.items[from][v.lo:v.hi]
		v.open = v.plus > least && v.hi-v.lo-v.plus > least && drawn > 0
		if !v.open {
			continue
		}
		t.draws.stream(seed, id+uint64(v.at))
		v.columns = t.columns[open*drawn:][:drawn]
		t.draws.columns(t.drawn.columns, v.columns)
		v.groups = t.groups[open*groups:][:groups]
		open++
	}
	t.plan(depth)
}

// divide makes the next level from the nodes that can be split, and closes the others.
func (t *cores) divide(depth, from int) {
	isFinal := func(v *node) bool { return !v.open || v.groups[0].gain > unsplit(v.sum).gain && !v.groups[0].gap }
	t.unsettled = t.unsettled[:0]
	for i := range t.level {
		if v := &t.level[i]; !isFinal(v) {
			t.unsettled = append(t.unsettled, v)
		}
	}
	t.team.For(len(t.unsettled), func(i int) {
		v := t.unsettled[i]
		v.groups[0], v.open = t.finalSplit(v)
	})
	open := 0
	for i := range t.level {
		v := t.level[i]
		if !v.open {
			t.setLeaves(&v, depth)
			continue
		}
		t.tree.feature[v.at], t.tree.bin[v.at] = v.groups[0].feature, v.groups[0].bin
		t.level[open] = v
		open++
	}
	t.level, t.next = t.level[:open], t.next[:2*open]
	t.cut(from, depth == t.o.Depth-1)
}

// piece is a run of rows of a node, moved to its children in one turn.
type piece struct {
	node   int
	lo, hi int   // its rows
	child        // what goes left
	before child // what goes left in the pieces before it
}

// child describes the rows that go left: their number, signed mass, and number with z = +1.
type child struct {
	rows int
	sum  int64
	plus int
}

// pieceRows is the number of rows in a piece if many threads share a node.
const pieceRows = 1 << 11

// manyThreads is the number of threads above which nodes and groups of columns are shared.
const manyThreads = 4

// cut writes the rows of all nodes for the next level: left from the front, right from the back. It reads a node of
// several pieces twice, first to find where each piece begins. Below the last level only the sums matter.
func (t *cores) cut(from int, last bool) {
	t.pieces = t.pieces[:0]
	for i := range t.level {
		v := &t.level[i]
		rows := v.hi - v.lo
		if t.team.Size() >= manyThreads {
			rows = pieceRows
		}
		for lo := v.lo; lo < v.hi; lo += rows {
			t.pieces = append(t.pieces, piece{node: i, lo: lo, hi: min(lo+rows, v.hi)})
		}
	}
	if last || len(t.pieces) > len(t.level) {
		t.team.For(len(t.pieces), func(i int) {
			p := &t.pieces[i]
			column, bin := t.splitOf(p)
			p.child = countLeft(t.items[from][p.lo:p.hi], column, bin)
		})
		for i := 1; i < len(t.pieces); i++ {
			if p, last := &t.pieces[i], &t.pieces[i-1]; p.node == last.node {
				p.before = child{last.before.rows + last.rows, last.before.sum + last.sum, last.before.plus + last.plus}
			}
		}
	}
	move := len(t.pieces)
	if last {
		move = 0
	}
	t.team.For(move, func(i int) {
		p := &t.pieces[i]
		v := &t.level[p.node]
		column, bin := t.splitOf(p)
		front := v.lo + p.before.rows
		back := v.hi - 1 - (p.lo - v.lo - p.before.rows)
		p.child = moveRows(t.items[1-from], t.items[from][p.lo:p.hi], front, back, column, bin)
	})
	for i := range t.pieces {
		p := &t.pieces[i]
		v := &t.level[p.node]
		if p.hi < v.hi {
			continue
		}
		sum, plus, middle := p.before.sum+p.sum, p.before.plus+p.plus, v.lo+p.before.rows+p.rows
		t.next[2*p.node] = node{at: 2*v.at + 1, lo: v.lo, hi: middle, sum: sum, plus: plus, slot: v.slot, parent: v.kept}
		t.next[2*p.node+1] = node{
			at: 2*v.at + 2, lo: middle, hi: v.hi, sum: v.sum - sum, plus: v.plus - plus, slot: v.slot, parent: v.kept,
		}
	}
}

// splitOf returns the column and bin that cut a piece.
func (t *cores) splitOf(p *piece) ([]uint8, uint8) {
	at := t.level[p.node].at
	return t.x.Column(int(t.tree.feature[at])), t.tree.bin[at]
}

// countLeft counts the rows that go left.
func countLeft(items []item, column []uint8, bin uint8) (c child) {
	for _, w := range items {
		isLeft := 0
		if column[w.row()] <= bin {
			isLeft = 1
		}
		c.rows += isLeft
		c.sum += int64(w.mass()) & -int64(isLeft)
		c.plus += int(^w>>63) & isLeft
	}
	return c
}

// moveRows writes the rows that go left from front upwards, and the others from back downwards.
func moveRows(out, items []item, front, back int, column []uint8, bin uint8) (c child) {
	first := front
	for _, w := range items {
		isLeft := 0
		if column[w.row()] <= bin {
			isLeft = 1
		}
		out[back^(back^front)&-isLeft] = w
		front += isLeft
		back -= 1 - isLeft
		c.sum += int64(w.mass()) & -int64(isLeft)
		c.plus += int(^w>>63) & isLeft
	}
	c.rows = front - first
	return c
}

// The random draws of a node. Every node of every tree of every bit has its own stream, so no draw depends on how
// another node turned out.

// draws is the source of all draws, set to a stream before each use.
type draws struct {
	pcg   *rand.PCG
	rng   *rand.Rand
	drawn []uint64 // a bit for each column

	favoured uint32 // columns from this one on are drawn first
}

func newDraws(columns int) draws {
	pcg := new(rand.PCG)
	return draws{pcg, rand.New(pcg), make([]uint64, (columns+63)/64), math.MaxUint32}
}

// stream starts the stream of the numbers seed and id.
func (d *draws) stream(seed, id uint64) { d.pcg.Seed(seed, id) }

// columns fills out with distinct columns of from, in their order (LazyBoost: Escudero et al., 2000; Lin et al., CVPR
// 2014). Favoured columns, the last ones, are drawn first, up to half of all. All other choices are equally likely
// (Floyd's algorithm: Bentley, 1987). If all fit, nothing is drawn.
func (d *draws) columns(from, out []uint32) {
	if len(out) == len(from) {
		copy(out, from)
		return
	}
	others := len(from)
	for others > 0 && from[others-1] >= d.favoured {
		others--
	}
	first := max(min(len(from)-others, len(out)/2), len(out)-others)
	d.equally(from[:others], out[:len(out)-first])
	d.equally(from[others:], out[len(out)-first:])
}

// equally fills out with distinct columns of from, in their order, every choice being equally likely.
func (d *draws) equally(from, out []uint32) {
	if len(out) == len(from) {
		copy(out, from)
		return
	}
	clear(d.drawn)
	for j := len(from) - len(out); j < len(from); j++ {
		i := int(d.rng.Uint32N(uint32(j + 1)))
		if d.drawn[i/64]>>(i%64)&1 == 1 {
			i = j
		}
		d.drawn[i/64] |= 1 << (i % 64)
	}
	k := 0
	for w, word := range d.drawn {
		for ; word != 0; word &= word - 1 {
			out[k] = from[64*w+bits.TrailingZeros64(word)]
			k++
		}
	}
}
