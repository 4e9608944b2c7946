package boost

import (
	"context"

	"hashgrove/dataset"
	"hashgrove/internal/par"
	"hashgrove/model"
)

// One complete decision tree (Lin et al., CVPR 2014, Step 2), grown breadth first as in the released code.
//
//	for each level
//		open      every node that may be split draws its columns, and its rows (FastH-N)
//		search    all nodes, a group of columns a turn: split.go      nearly all the time
//		divide    the rows of each node between its children          O(rows)
//
// The rows of a node lie together. Those that go left are written from the front, those that go right from the back: so
// each list rises or falls all along, and columns are read in one direction. A node that is not split becomes a subtree
// of splits that send every row left, with the sign of the node at all leaves.

// node is a node of the level that grows.
type node struct {
	at     int   // its number in heap order
	lo, hi int   // its rows
	sum    int64 // the sum of their words
	plus   int   // how many have z = +1

	// What it needs to be split.
	columns []uint32 // drawn
	rows    []uint32 // the rows that choose: all, or a sample
	words   []int64
	chosen  int64   // the sum of these words
	groups  []split // the best of each group of columns
}

// tree is a complete tree in the form of model.Ensemble.
type tree struct {
	feature []uint32
	bin     []uint8
	leaf    []uint64
}

// split tells whether any node is split.
func (t *tree) split() bool { return t.bin[0] != noBin }

// noBin sends every row left. No real split has it, as something lies to its right.
const noBin = dataset.Bins - 1

// grower is the memory for one tree. A level has at most 2^(Depth-1) open nodes, and no more rows than all.
type grower struct {
	draws draws
	root  node // set by trim
	tree  tree

	rows        [2][]uint32 // of this level and the next, or the other way round
	words       [2][]int64
	level, next []node
	columns     []uint32
	groups      []split
	sampleRows  []uint32
	sampleWords []int64
	updates     int // rows added to histograms so far; the benchmark reads it
}

func newGrower(n int, o Options, usable int) grower {
	if o.NodeFeatures < 0 {
		o.NodeFeatures = usable
	}
	drawn := min(o.NodeFeatures, usable)
	width, splits := 1<<(o.Depth-1), model.Splits(o.Depth)
	g := grower{
		draws:   newDraws(),
		tree:    tree{make([]uint32, splits), make([]uint8, splits), make([]uint64, model.LeafWords(o.Depth))},
		level:   make([]node, 0, 2*width),
		next:    make([]node, 0, 2*width),
		columns: make([]uint32, width*drawn),
		groups:  make([]split, width*((drawn+groupColumns-1)/groupColumns)),
	}
	for i := range g.rows {
		g.rows[i], g.words[i] = make([]uint32, n), make([]int64, n)
	}
	if o.NodeRows > 0 && o.NodeRows < n {
		g.sampleRows, g.sampleWords = make([]uint32, n), make([]int64, n)
	}
	return g
}

// grow grows the tree of the rows that trim has listed. Node i draws from the stream of seed and id + i.
func (t *Trainer) grow(seed, id uint64) {
	for i := range t.tree.bin {
		t.tree.bin[i] = noBin
	}
	clear(t.tree.leaf)
	t.level = append(t.level[:0], t.root)
	from := 0
	for depth := range t.o.Depth {
		t.open(depth, from, seed, id)
		t.search()
		t.divide(depth, from)
		t.level, t.next = t.next, t.level
		from = 1 - from
	}
	for i := range t.level {
		t.close(&t.level[i], t.o.Depth)
	}
	// Splits that do nothing test the root's column, so that they make the model read no other.
	if !t.tree.split() {
		t.tree.feature[0] = 0
	}
	for i, b := range t.tree.bin {
		if b == noBin {
			t.tree.feature[i] = t.tree.feature[0]
		}
	}
}

// close gives all leaves below a node its sign.
func (t *Trainer) close(v *node, depth int) {
	if v.sum>>t.shift < 0 {
		return
	}
	below := t.o.Depth - depth
	first := (v.at - model.Splits(depth)) << below
	for leaf := first; leaf < first+1<<below; leaf++ {
		t.tree.leaf[leaf/64] |= 1 << (leaf % 64)
	}
}

// open closes the nodes of the level that are not to be split, and makes the draws of the others.
func (t *Trainer) open(depth, from int, seed, id uint64) {
	least := max(t.o.MinNode, 0)
	drawn := len(t.columns) >> (t.o.Depth - 1)
	groups := len(t.groups) >> (t.o.Depth - 1)
	open, sampled := 0, 0
	for i := range t.level {
		v := &t.level[i]
		if v.plus <= least || v.hi-v.lo-v.plus <= least || drawn == 0 {
			t.close(v, depth)
			continue
		}
		t.draws.stream(seed, id+uint64(v.at))
		v.columns = t.columns[open*drawn:][:drawn]
		t.draws.columns(t.usable, v.columns)
		v.groups = t.groups[open*groups:][:groups]
		v.rows, v.words, v.chosen = t.rows[from][v.lo:v.hi], t.words[from][v.lo:v.hi], v.sum
		if k := t.o.NodeRows; k > 0 && k < len(v.rows) {
			rows, words := t.sampleRows[sampled:][:k], t.sampleWords[sampled:][:k]
			v.chosen = t.draws.sample(v.rows, v.words, t.shift, rows, words)
			v.rows, v.words = rows, words
			sampled += k
		}
		t.updates += len(v.rows) * drawn
		t.level[open] = *v
		open++
	}
	t.level = t.level[:open]
}

// search finds the best split of each node of the level and leaves it in its groups[0].
func (t *Trainer) search() {
	groups := len(t.groups) >> (t.o.Depth - 1)
	_ = par.For(context.Background(), t.threads, len(t.level)*groups, func(i int) {
		v, group := &t.level[i/groups], i%groups
		columns := v.columns[group*groupColumns : min((group+1)*groupColumns, len(v.columns))]
		v.groups[group] = t.bestSplit(v, columns)
	})
	for i := range t.level {
		found := t.level[i].groups
		for _, s := range found[1:] {
			if s.gain > found[0].gain {
				found[0] = s
			}
		}
	}
}

// divide makes the next level from the nodes that can be split, and closes the others.
func (t *Trainer) divide(depth, from int) {
	open := 0
	for i := range t.level {
		v := t.level[i]
		best := v.groups[0]
		if best == noSplit {
			t.close(&v, depth)
			continue
		}
		t.tree.feature[v.at], t.tree.bin[v.at] = best.feature, best.bin
		t.level[open] = v
		open++
	}
	t.level = t.level[:open]
	t.next = t.next[:2*open]
	_ = par.For(context.Background(), t.threads, open, func(i int) {
		t.next[2*i], t.next[2*i+1] = t.children(&t.level[i], from)
	})
}

// children writes the rows of a node for the next level: left from the front, right from the back.
func (t *Trainer) children(v *node, from int) (left, right node) {
	column, bin := t.x.Column(int(t.tree.feature[v.at])), t.tree.bin[v.at]
	rows, words := t.rows[from][v.lo:v.hi], t.words[from][v.lo:v.hi]
	outRows, outWords := t.rows[1-from][v.lo:v.hi], t.words[1-from][v.lo:v.hi]
	words, outWords = words[:len(rows)], outWords[:len(outRows)]
	front, back := 0, len(rows)-1
	sum, plus := int64(0), 0
	for i, r := range rows {
		w := words[i]
		isLeft := 0
		if column[r] <= bin {
			isLeft = 1
		}
		to := back ^ (back^front)&-isLeft
		outRows[to], outWords[to] = r, w
		front += isLeft
		back -= 1 - isLeft
		sum += w & -int64(isLeft)
		plus += int(^w>>63) & isLeft
	}
	middle := v.lo + front
	left = node{at: 2*v.at + 1, lo: v.lo, hi: middle, sum: sum, plus: plus}
	right = node{at: 2*v.at + 2, lo: middle, hi: v.hi, sum: v.sum - sum, plus: v.plus - plus}
	return left, right
}
