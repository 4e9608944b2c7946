package boost

import (
	"sync/atomic"

	"hashgrove/internal/vectors"
)

// Histograms: the signed mass of a node's rows in each bin of a column. Filling them takes nearly all of the training
// time.
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
// If all columns are candidates, much of this is avoided, and since sums are exact, the trees do not change:
//
//   - The histograms of the root are kept from tree to tree. Only rows whose mass has changed are added, with the
//     difference: those that the last tree got wrong, about half, and a few at the limit of trimming.
//   - Two siblings share one pass, over the rows of the smaller. The histograms of the greater are those of the parent
//     less these.

// histogram is the signed mass in each bin of a column.
type histogram = [vectors.Bins]int32

// kept holds the histograms that outlive a level.
type kept struct {
	root    []histogram // nil when nothing is kept
	held    []int32     // signed mass of each row in root
	changed []item      // the difference to the rows that the next tree sees, by block of rows
	counts  []int       // of changes in each block
	changes []item      // all of them, in memory of the next level

	// A slot holds the histograms of a node until its children are done. The larger child overwrites those of its
	// parent; the smaller gets a free slot, as those in use at depth d are len(slots)/2^d apart. The last level keeps
	// nothing.
	slots [][]histogram
}

// keptBytes bounds the memory for kept histograms.
const keptBytes = 64 << 20

func newKept(m *vectors.Spill, n, blocks, depth, columns int) (k kept, err error) {
	slots := 1 << depth / 4
	if (1+slots)*columns > keptBytes/(4*vectors.Bins) {
		return k, nil
	}
	k = kept{root: make([]histogram, columns), counts: make([]int, blocks), slots: make([][]histogram, slots)}
	for i := range k.slots {
		k.slots[i] = make([]histogram, columns)
	}
	if k.held, err = vectors.AllocHot[int32](m, n); err != nil {
		return k, err
	}
	k.changed, err = allocItems(m, n)
	return k, err
}

// pass is one pass over the rows of a node.
type pass struct {
	node    *node
	sibling *node  // the larger sibling, which also gets its histograms from this pass, or nil
	items   []item // what is added
}

// plan lists the passes of a level.
func (t *cores) plan(depth int) {
	t.passes = t.passes[:0]
	if t.kept.root != nil && depth > 0 {
		t.planPairs(depth)
	} else {
		for i := range t.level {
			if v := &t.level[i]; v.open {
				t.passes = append(t.passes, pass{node: v, items: v.items})
			}
		}
		switch {
		case t.kept.root == nil:
		case len(t.passes) > 0: // a pass over the changes
			t.passes[0].node.kept, t.passes[0].items = t.kept.root, t.kept.changes
		default: // the changes are lost, so the next tree starts over
			clear(t.kept.root)
			clear(t.kept.held)
		}
	}
	for _, p := range t.passes {
		t.updates += len(p.items) * len(p.node.columns)
	}
}

// listChanges lists how the masses of rows lo to hi change in the histograms of the root.
func (t *cores) listChanges(lo, hi int) (count int) {
	changed, held := t.kept.changed[lo:hi], t.kept.held[lo:hi]
	for i := range changed {
		m := int32(0)
		if t.sees(lo + i) {
			m = t.signed(lo + i)
		}
		changed[count] = newItem(lo+i, m-held[i])
		if m != held[i] {
			count++
		}
		held[i] = m
	}
	return count
}

// planPairs plans one pass for every two siblings.
func (t *cores) planPairs(depth int) {
	apart := len(t.kept.slots) >> depth
	for i := 0; i < len(t.level); i += 2 {
		small, great := &t.level[i], &t.level[i+1]
		if small.hi-small.lo > great.hi-great.lo {
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

// groupColumns is the number of columns in one turn of the loop over columns and passes, those of countFour: few, so
// that many cores finish at the same time.
const groupColumns = 4

// With many threads the last turns of a level are shared: each thread takes up to maxShares of the rows, at least
// shareRows, and the last to finish adds up. Otherwise most threads would wait for a few.
const (
	maxShares = 4
	shareRows = 1 << 13
)

// shared is a turn shared by several threads.
type shared struct {
	done   atomic.Int32
	counts [maxShares][groupColumns]histogram
}

// search finds the best split of each node of the level and stores it in its groups[0].
func (t *cores) search() {
	groups := len(t.groups) >> (t.o.Depth - 1)
	turns := len(t.passes) * groups
	alone := max(turns-len(t.shared), 0)
	t.team.For(alone+(turns-alone)*maxShares, func(i int) {
		if i < alone {
			t.fillGroup(t.passes[i%len(t.passes)], i/len(t.passes))
			return
		}
		k, share := (i-alone)/maxShares, (i-alone)%maxShares
		turn := alone + k
		t.fillShare(&t.shared[k], t.passes[turn%len(t.passes)], turn/len(t.passes), share)
	})
	for i := range t.level {
		if v := &t.level[i]; v.open {
			v.keepBest()
		}
	}
}

// fillShare does one share of fillGroup.
func (t *cores) fillShare(s *shared, p pass, group, share int) {
	n := len(p.items)
	shares := min(max(n/shareRows, 1), maxShares)
	if share >= shares {
		return
	}
	h := &s.counts[share]
	t.countGroup(h, p.node, group, p.items[n*share/shares:n*(share+1)/shares])
	if int(s.done.Add(1)) < shares {
		return
	}
	s.done.Store(0)
	for other := range shares {
		if other == share {
			continue
		}
		for i := range h {
			addBins(&h[i], &h[i], &s.counts[other][i])
		}
	}
	t.splitGroup(h, p, group)
}

// fillGroup computes the histograms of one group of columns and searches them for splits.
func (t *cores) fillGroup(p pass, group int) {
	var h [groupColumns]histogram
	t.countGroup(&h, p.node, group, p.items)
	t.splitGroup(&h, p, group)
}

// groupOf returns the columns of a group.
func (v *node) groupOf(group int) []uint32 {
	return v.columns[group*groupColumns : min((group+1)*groupColumns, len(v.columns))]
}

// countGroup sets h to the histograms of a group of columns.
func (t *cores) countGroup(h *[groupColumns]histogram, v *node, group int, items []item) {
	columns := v.groupOf(group)
	var c [groupColumns][]uint8
	for i := range c {
		// The last column stands in for missing ones.
		c[i] = t.x.Column(int(columns[min(i, len(columns)-1)]))
	}
	countFour(h, items, c[0], c[1], c[2], c[3])
}

// splitGroup searches the histograms of one group of columns, and the sibling's, for splits, and keeps them.
func (t *cores) splitGroup(h *[groupColumns]histogram, p pass, group int) {
	v, w := p.node, p.sibling
	best := unsplit(v.sum)
	var bestOfSibling split
	if w != nil {
		bestOfSibling = unsplit(w.sum)
	}
	for i, f := range v.groupOf(group) {
		k := group*groupColumns + i
		own := &h[i]
		switch {
		case v.kept == nil:
		case v.at == 0: // the root: these are changes
			own = &v.kept[k]
			addBins(own, own, &h[i])
		default:
			v.kept[k] = h[i]
		}
		if v.open {
			best.consider(own, v, f)
		}
		if w != nil {
			subtractBins(&w.kept[k], &w.parent[k], own)
			bestOfSibling.consider(&w.kept[k], w, f)
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
	// Equal lengths save three of the four bounds checks.
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
