package boost

import (
	"hashgrove/vectors"
)

// Histograms: the signed mass of a node's rows in each bin of a column. Filling them is nearly all the time of
// training.
//
//	for each group of candidate columns
//		for each pass                        over the rows of a node, for itself and perhaps its sibling
//			for every four columns
//				countFour                    adds the mass of each row to its bin, in four columns side by side
//				consider                     looks for the best split: split.go
//
// An addition loads a bin, and loads and stores a sum: the machine makes at best one in a cycle, and this loop needs
// 1.3 (Zen 4; assembly with more columns or rows side by side gains 6 %). In a node with few rows whole cache lines are
// fetched for a few bytes of each, and memory sets the pace. So the candidates of a node are in rising order and all
// nodes go over the columns together: a column that several nodes have drawn is still near.
//
// When all columns are candidates, much of this is spared, and as sums are exact, the trees do not change:
//
//   - The histograms of the root are kept from tree to tree. Only rows whose mass has changed are added, with the
//     difference: those that the last tree got wrong, about half, and a few at the limit of trimming.
//   - Two siblings share one pass, over the rows of the smaller. The histograms of the greater are those of the parent
//     less these.

// histogram is the signed mass in each bin of a column.
type histogram = [vectors.Bins]int32

// kept is the memory for histograms that outlive a level.
type kept struct {
	root    []histogram // nil when nothing is kept
	held    []int32     // the signed mass of each row in root
	changed []item      // the difference to the rows that the next tree sees
	counts  []int       // of changes in each block of rows

	// A slot holds the histograms of a node until its children are done. Where the greater child overwrites those of its
	// parent, the smaller gets a slot that is free, as those in use at depth d are len(slots)/2^d apart. The last level
	// keeps nothing.
	slots [][]histogram
}

// keptBytes bounds the memory for the histograms that are kept.
const keptBytes = 64 << 20

func newKept(n, depth, columns int) kept {
	slots := 1 << depth / 4
	if (1+slots)*columns > keptBytes/(4*vectors.Bins) {
		return kept{}
	}
	k := kept{
		root: make([]histogram, columns), held: make([]int32, n), changed: make([]item, n),
		counts: make([]int, (n+siftRows(n)-1)/siftRows(n)), slots: make([][]histogram, slots),
	}
	for i := range k.slots {
		k.slots[i] = make([]histogram, columns)
	}
	return k
}

// pass is one way through the rows of a node.
type pass struct {
	node    *node
	sibling *node  // the greater sibling that gets its histograms from this pass too, or nil
	items   []item // what is added
}

// plan lists the passes of a level.
func (t *Trainer) plan(depth int) {
	t.passes = t.passes[:0]
	if t.kept.root != nil && depth > 0 {
		t.planPairs(depth)
	} else {
		for i := range t.level {
			if v := &t.level[i]; v.open {
				t.passes = append(t.passes, pass{node: v, items: v.items})
			}
		}
		if t.kept.root != nil && len(t.passes) > 0 {
			t.planRoot(t.passes[0].node)
		}
	}
	for _, p := range t.passes {
		t.updates += len(p.items) * len(p.node.columns)
	}
}

// planRoot makes the root's pass one over the changes.
func (t *Trainer) planRoot(v *node) {
	k := &t.kept
	v.kept = k.root
	t.team.Blocks(t.n, t.block, func(b, lo, hi int) {
		changed, count := k.changed[lo:hi], 0
		for r := lo; r < hi; r++ {
			m := int32(0)
			if t.sees(r) {
				m = t.signed(r)
			}
			changed[count] = newItem(r, m-k.held[r])
			if m != k.held[r] {
				count++
			}
			k.held[r] = m
		}
		k.counts[b] = count
	})
	n := t.join(t.items[1], k.changed, k.counts) // the memory of the next level is free
	t.passes[0].items = t.items[1][:n]
}

// planPairs makes a pass for every two siblings.
func (t *Trainer) planPairs(depth int) {
	apart := len(t.kept.slots) >> depth
	for i := 0; i < len(t.level); i += 2 {
		small, great := &t.level[i], &t.level[i+1]
		if len(small.items) > len(great.items) {
			small, great = great, small
		}
		great.kept = t.kept.slots[great.slot]
		if apart > 0 {
			small.slot += apart
			small.kept = t.kept.slots[small.slot]
		}
		switch {
		case great.open:
			small.columns = great.columns // it may be closed
			t.passes = append(t.passes, pass{node: small, sibling: great, items: small.items})
		case small.open:
			t.passes = append(t.passes, pass{node: small, items: small.items})
		}
	}
}

// groupColumns is the number of columns in one turn of the loop over columns and passes; a multiple of 4. Few, so that
// many cores end at the same time.
const groupColumns = 4

// search finds the best split of each node of the level and leaves it in its groups[0].
func (t *Trainer) search() {
	groups := len(t.groups) >> (t.o.Depth - 1)
	t.team.For(len(t.passes)*groups, func(i int) {
		t.fillGroup(t.passes[i%len(t.passes)], i/len(t.passes))
	})
	for i := range t.level {
		if v := &t.level[i]; v.open {
			v.keepBest()
		}
	}
}

// fillGroup makes the histograms of one group of columns and searches them for splits.
func (t *Trainer) fillGroup(p pass, group int) {
	v, w := p.node, p.sibling
	best := unsplit(v.chosen)
	var bestOfSibling split
	if w != nil {
		bestOfSibling = unsplit(w.chosen)
	}
	last := min((group+1)*groupColumns, len(v.columns))
	for k := group * groupColumns; k < last; k += 4 {
		four := v.columns[k:min(k+4, last)]
		var c [4][]uint8
		for i := range c {
			// Where columns are missing the last stands in.
			c[i] = t.x.Column(int(four[min(i, len(four)-1)]))
		}
		var h [4]histogram
		countFour(&h, p.items, c[0], c[1], c[2], c[3])
		for i, f := range four {
			if v.kept != nil {
				if v.at == 0 { // the root: these are changes
					for b, m := range &v.kept[k+i] {
						h[i][b] += m
					}
				}
				v.kept[k+i] = h[i]
			}
			if v.open {
				best.consider(&h[i], v.chosen, f)
			}
			if w != nil {
				rest, all := &w.kept[k+i], &w.parent[k+i]
				for b, m := range &h[i] {
					rest[b] = all[b] - m
				}
				bestOfSibling.consider(rest, w.chosen, f)
			}
		}
	}
	if v.open {
		v.groups[group] = best
	}
	if w != nil {
		w.groups[group] = bestOfSibling
	}
}

// countFour sets h to the histograms of four columns of one length. The sums grow in a local array: through a pointer,
// every row would load it once more to see that it is not nil, which costs 15 %. It is not inlined, as registers are
// scarce in the caller.
//
//go:noinline
func countFour(h *[4]histogram, items []item, c0, c1, c2, c3 []uint8) {
	// One length for all spares three of the four bounds checks.
	c1, c2, c3 = c1[:len(c0)], c2[:len(c0)], c3[:len(c0)]
	var sums [4]histogram
	for _, v := range items {
		m, r := v.mass(), v.row()
		sums[0][c0[r]] += m
		sums[1][c1[r]] += m
		sums[2][c2[r]] += m
		sums[3][c3[r]] += m
	}
	*h = sums
}
