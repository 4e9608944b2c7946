package model

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sync"

	"hashgrove/internal/vectors"
)

// Boosters on 256 rows at a time (design: no branches that depend on the rows, sums in the order of the definition).
//
// For every test (j, t) that some tree makes, let right(j, t) be the rows of the block with x_j >= t. The thresholds of
// a column are sorted, and the rank of a value is the number of those that are not above it; the rows of rank r are in
// the first r sets of the column, so that all its sets cost one search per row and one operation per threshold.
//
// The leaves of a tree are numbered. What a row needs of a tree is the number of its leaf, and the sets of rows whose
// number has bit 0, 1, ... (planes) come from the sets of the tests without looking at a single row:
//
//	complete   of depth D up to 6, filled up with tests that send nobody right: bit i, from the top, of the number says
//	           whether the row goes right at level i, at one of 2^i splits: plane_i = the set of its split, chosen among
//	           2^i by the planes above, with 2^i - 1 merges
//	other      up to 256 leaves: the rows of a node are known from those of its parent; a leaf adds its rows to the
//	           planes of the bits of its number
//
// Then the values of the leaves are added to the sums of the rows, tree after tree. A tree of more leaves is walked row
// by row.
//
// Cost per block of a tree with S splits, in operations on 256 bits: 3 S for complete trees, 2 S + S log(S) / 2 for
// others, and two look-ups per row. One search and the sets of the tests per block are shared by all trees.

const (
	maxComplete = 6   // depth of a tree that is filled up
	maxNumbered = 256 // leaves of a tree whose leaves are numbered
)

// boostedPlan holds boosters prepared for blocks. It does not change once built.
type boostedPlan struct {
	columns []boostedColumn
	tests   int // including test 0, which sends no row right
	outputs []plannedBooster
	scratch sync.Pool // of *boostedScratch
}

// boostedColumn is a column used by tests.
type boostedColumn struct {
	column int
	keys   []int32 // of the thresholds, rising (orderedKey)
	first  int     // test of the first threshold
}

type plannedBooster struct {
	base  float64
	trees []plannedTree
}

// plannedTree is one tree.
type plannedTree struct {
	depth  int       // of a complete tree; 0 for others
	planes int       // bits of the numbers of the leaves; for a tree that is walked, -1
	tests  []uint32  // 4 times the test: of a complete tree in heap order; of another in pre-order, leaves are ^number
	leaves []float64 // by number
	single []float32 // the same; nil if sums are float64
	walk   []Node
}

type boostedScratch struct {
	right  []set
	bucket []set
	planes [8]set
	nodes  [maxPath + 1]set
	sums   [block]float64
	single [block]float32
}

// orderedKey returns an integer that orders like float32, with -0 as 0.
func orderedKey(x float32) int32 {
	b := int32(math.Float32bits(x + 0))
	return b ^ b>>31&math.MaxInt32
}

func newBoostedPlan(e *Boosted) *boostedPlan {
	var keys []uint64 // column and threshold of the tests, in order
	for _, out := range e.Outputs {
		for _, t := range out.Trees {
			for _, n := range t {
				if n.Column >= 0 {
					keys = append(keys, testKey(n))
				}
			}
		}
		slices.Sort(keys)
		keys = slices.Compact(keys)
	}
	p := &boostedPlan{tests: len(keys)}
	most := 0
	for i, key := range keys {
		if i == 0 || key>>32 != keys[i-1]>>32 {
			p.columns = append(p.columns, boostedColumn{column: int(key >> 32), first: 1 + i})
		}
		c := &p.columns[len(p.columns)-1]
		c.keys = append(c.keys, int32(uint32(key)^1<<31))
		most = max(most, len(c.keys))
	}
	for _, out := range e.Outputs {
		planned := plannedBooster{base: out.Base}
		for _, t := range out.Trees {
			planned.trees = append(planned.trees, newPlannedTree(t, keys, e.Double))
		}
		p.outputs = append(p.outputs, planned)
	}
	p.scratch.New = func() any {
		return &boostedScratch{right: make([]set, 1+p.tests), bucket: make([]set, most+1)}
	}
	return p
}

// testKey orders tests by column, then by threshold.
func testKey(n Node) uint64 {
	return uint64(n.Column)<<32 | uint64(uint32(orderedKey(float32(n.Value)))^1<<31)
}

func newPlannedTree(t []Node, keys []uint64, double bool) plannedTree {
	leaves, depth := (len(t)+1)/2, treeDepth(t)
	p := plannedTree{planes: bits.Len(uint(leaves - 1))}
	test := func(n Node) uint32 {
		at, _ := slices.BinarySearchFunc(keys, testKey(n), cmp.Compare[uint64])
		return uint32(4 * (1 + at))
	}
	switch {
	case leaves > maxNumbered:
		p.planes, p.walk = -1, t
		return p
	case depth <= maxComplete && 1<<depth <= 4*leaves:
		p.depth, p.planes = depth, depth
		p.tests, p.leaves = make([]uint32, 1<<depth-1), make([]float64, 1<<depth)
		fillComplete(&p, t, 0, 1, test)
	default:
		for _, n := range t {
			if n.Column >= 0 {
				p.tests = append(p.tests, test(n))
			} else {
				p.tests = append(p.tests, ^uint32(len(p.leaves)))
				p.leaves = append(p.leaves, n.Value)
			}
		}
	}
	for len(p.leaves) < 1<<p.planes {
		p.leaves = append(p.leaves, 0)
	}
	if !double {
		for _, v := range p.leaves {
			p.single = append(p.single, float32(v))
		}
	}
	return p
}

// treeDepth returns the number of splits on the longest path.
func treeDepth(t []Node) int {
	deepest := 0
	var open []int32 // right children to come
	depths := make([]int, 0, 64)
	depth := 0
	for i, n := range t {
		if len(open) > 0 && int(open[len(open)-1]) == i {
			depth = depths[len(depths)-1]
			open, depths = open[:len(open)-1], depths[:len(depths)-1]
		}
		if n.Column >= 0 {
			depth++
			open, depths = append(open, n.Right), append(depths, depth)
		}
		deepest = max(deepest, depth)
	}
	return deepest
}

// fillComplete puts the subtree at node i of t at place h, from 1, of the heap. A leaf above the lowest level becomes a
// split that sends no row right.
func fillComplete(p *plannedTree, t []Node, i int32, h int, test func(Node) uint32) {
	n := t[i]
	if h >= 1<<p.depth {
		p.leaves[h-1<<p.depth] = n.Value
		return
	}
	if n.Column < 0 {
		fillComplete(p, t, i, 2*h, test)
		fillComplete(p, t, i, 2*h+1, test)
		return
	}
	p.tests[h-1] = test(n)
	fillComplete(p, t, i+1, 2*h, test)
	fillComplete(p, t, n.Right, 2*h+1, test)
}

// ready finds the rows that each test sends right.
func (p *boostedPlan) ready(s *boostedScratch, x vectors.Matrix) {
	for i := range p.columns {
		c := &p.columns[i]
		n := len(c.keys)
		bucket := s.bucket[:n+1]
		clear(bucket)
		for lo := 0; lo < x.Rows; lo += searched {
			var keys [searched]int64
			var ranks [searched]int
			for i := range keys {
				keys[i] = int64(orderedKey(x.Data[min(lo+i, x.Rows-1)*x.Cols+c.column]))
			}
			search(c.keys, &keys, &ranks)
			for i, rank := range ranks {
				bucket[rank][lo/64] |= 1 << (lo%64 + i) // beyond the last row, any value
			}
		}
		right := s.right[c.first : c.first+n]
		var rows set
		for t := n - 1; t >= 0; t-- {
			b := &bucket[t+1]
			rows[0] |= b[0]
			rows[1] |= b[1]
			rows[2] |= b[2]
			rows[3] |= b[3]
			right[t] = rows
		}
	}
}

// searched is the number of values searched for side by side, so that their steps do not wait for each other.
const searched = 8

// search writes, for each key, the number of sorted keys not above it. Its steps do not depend on the keys.
func search(sorted []int32, keys *[searched]int64, ranks *[searched]int) {
	for n := len(sorted); n > 0; {
		half := (n + 1) / 2
		for i := range ranks {
			ranks[i] += half & int((int64(sorted[ranks[i]+half-1])-keys[i]-1)>>63)
		}
		n -= half
	}
}

// blockSums calls put with the margins of all outputs for up to a block of rows.
func (p *boostedPlan) blockSums(x vectors.Matrix, double bool, put func(k int, sums []float64)) {
	s := p.scratch.Get().(*boostedScratch)
	defer p.scratch.Put(s)
	p.ready(s, x)
	for k := range p.outputs {
		out := &p.outputs[k]
		if double {
			for r := range s.sums {
				s.sums[r] = out.base
			}
		} else {
			for r := range s.single {
				s.single[r] = float32(out.base)
			}
		}
		for q := range out.trees {
			out.trees[q].add(s, x)
		}
		if !double {
			for r := range x.Rows {
				s.sums[r] = float64(s.single[r])
			}
		}
		put(k, s.sums[:x.Rows])
	}
}

// add adds the leaves of the rows to their sums.
func (t *plannedTree) add(s *boostedScratch, x vectors.Matrix) {
	switch {
	case t.walk != nil:
		for r := range x.Rows {
			v := leaf(t.walk, x.Row(r))
			s.sums[r] += v
			s.single[r] += float32(v)
		}
		return
	case t.depth > 0:
		completePlanes(&s.planes, s.right, t.tests, t.depth)
	default:
		t.nodePlanes(s)
	}
	if t.single != nil {
		addLeaves32(&s.single, &s.planes, t.single, t.planes)
	} else {
		addLeaves64(&s.sums, &s.planes, t.leaves, t.planes)
	}
}

// nodePlanes finds the planes of a tree that is not complete.
func (t *plannedTree) nodePlanes(s *boostedScratch) {
	for j := range t.planes {
		s.planes[j] = set{}
	}
	rows, open := set{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}, 0
	for _, test := range t.tests {
		if number := ^test; int32(test) < 0 {
			for ; number != 0; number &= number - 1 {
				plane := &s.planes[bits.TrailingZeros32(number)]
				plane[0] |= rows[0]
				plane[1] |= rows[1]
				plane[2] |= rows[2]
				plane[3] |= rows[3]
			}
			if open > 0 {
				open--
				rows = s.nodes[open]
			}
			continue
		}
		r := &s.right[test/4]
		s.nodes[open] = set{rows[0] & r[0], rows[1] & r[1], rows[2] & r[2], rows[3] & r[3]}
		rows = set{rows[0] &^ r[0], rows[1] &^ r[1], rows[2] &^ r[2], rows[3] &^ r[3]}
		open++
	}
}
