package boost

import (
	"math"
	"slices"
	"sync"

	"hashgrove/internal/vectors"
)

// Trees from columns in a file, for more rows than memory. They are the same trees, to the last bit: a tree depends
// only on sums of integers, whose order does not matter.
//
// The lists of rows by node, 16 bytes for every row, and the histograms that are kept from tree to tree, 12 bytes, are
// left out. In their place every row has the number of its node in the level that grows, one byte, and every step is a
// sweep over the rows from the first to the last, in blocks that fit the caches. So a file is read from front to back,
// and its next part is fetched while the last one is counted.
//
//	trimStream     the rows that the tree sees are in node 0                          masses once, or up to 5 times
//	searchStream   block by block, lists of the rows by node and their histograms     all candidate columns once a level
//	finalSplits    the bins that the rows of undecided nodes have                     usually nothing
//	cutStream      rows go to the children of their nodes                             the columns of the splits once
//
// A row has 4 bytes of mass, 1 of node and 8 of weight, for AdaBoost an eighth for each tree, for logistic boosting 4
// of score. The columns are read once for each level of a tree.

// streamRows is the number of rows in a block: 128 KB of every column.
const streamRows = 1 << 17

// streamBytes bounds the memory of the histograms of all threads.
const streamBytes = 64 << 20

// noNode marks rows that are in no open node.
const noNode = math.MaxUint8

// stream holds the memory for sweeps over the rows; place is nil if rows are listed instead.
type stream struct {
	place      []uint8         // of each row: its node in the level, or noNode
	becomes    [noNode + 1]int // by node of the level: its number among the open ones, or -1
	passOf     [noNode + 1]int // by node: its pass, or -1
	swept      []uint32        // columns of a sweep, rising
	counters   chan *counter   // one for each thread
	sweepTotal []histogram     // of all passes and the columns of a sweep
}

// counter holds the histograms of one thread.
type counter struct {
	items [][]item    // of a block of rows, by pass
	sums  []histogram // by pass and column
}

func (t *cores) newStream() (err error) {
	m := t.x.Spill()
	t.block = streamRows
	if t.place, err = vectors.AllocHot[uint8](m, t.n); err != nil {
		return err
	}
	t.counters = make(chan *counter, t.team.Size())
	for range t.team.Size() {
		t.counters <- &counter{}
	}
	return nil
}

// fetch starts reading the block of columns that a thread will need after this one.
func (t *cores) fetch(columns []uint32, lo, hi int) {
	if t.place == nil {
		return
	}
	from := hi + (t.team.Size()-1)*streamRows
	if lo == 0 {
		from = 0
	}
	for _, j := range columns {
		t.x.Fetch(int(j), from, hi+t.team.Size()*streamRows)
	}
}

// trimStream is the streaming version of trim.
func (t *cores) trimStream() {
	t.least = math.MinInt64
	if isShare(t.o.TrimMass) {
		t.least = t.leastStreamKey()
	}
	t.root = node{}
	t.team.Blocks(t.n, t.block, func(b, lo, hi int) {
		var part node
		for r := lo; r < hi; r++ {
			if t.place[r] = noNode; t.sees(r) {
				t.place[r] = 0
				m := t.signed(r)
				part.hi++
				part.sum += int64(m)
				part.plus += int(uint32(^m) >> 31)
			}
		}
		t.parts[b] = part
	})
	for _, part := range t.parts {
		t.root.hi += part.hi
		t.root.sum += part.sum
		t.root.plus += part.plus
	}
}

// leastStreamKey is leastKey without a list of rows: it sums the masses of the magnitude where the share is reached by
// ever narrower ranges, down to one mass; of the rows with that mass, the first are kept.
func (t *cores) leastStreamKey() int64 {
	at, limit := t.edgeMagnitude()
	over := max(at>>6-1, 0)
	lo, width := int32(at-over<<6)<<over, int32(1)<<over
	for width > 1 {
		share := max(width/magnitudes, 1)
		t.team.Blocks(t.n, t.block, func(b, first, end int) {
			sums := &t.blocks[b]
			clear(sums[:])
			for _, m := range t.mass[first:end] {
				if m >= lo && m-lo < width {
					sums[(m-lo)/share%magnitudes] += int64(m)
				}
			}
		})
		k := int(width/share) - 1
		for ; k >= 0; k-- {
			here := int64(0)
			for b := range t.blocks {
				here += t.blocks[b][k]
			}
			if limit < here {
				break
			}
			limit -= here
		}
		if k < 0 {
			return math.MinInt64
		}
		lo, width = lo+int32(k)*share, share
	}
	wanted := int(limit/int64(max(lo, 1))) + 1 // rows of this mass that together pass the limit
	t.team.Blocks(t.n, t.block, func(b, first, end int) {
		t.trimmer.counts[b] = 0
		for _, m := range t.mass[first:end] {
			if m == lo {
				t.trimmer.counts[b]++
			}
		}
	})
	for b, count := range t.trimmer.counts {
		if wanted > count {
			wanted -= count
			continue
		}
		for i := b * t.block; ; i++ {
			if t.mass[i] == lo {
				if wanted--; wanted == 0 {
					return t.key(i)
				}
			}
		}
	}
	return math.MinInt64
}

// searchStream is the streaming version of search.
func (t *cores) searchStream() {
	groups := len(t.groups) >> (t.o.Depth - 1)
	if len(t.passes) == 0 {
		return
	}
	t.setPasses()
	each := len(t.passes) * groupColumns * 4 * vectors.Bins
	per := min(max(streamBytes/(each*(t.team.Size()+1)), 1), groups)
	for first := 0; first < groups; first += per {
		t.sweepGroups(first, min(first+per, groups))
	}
	for i := range t.level {
		if v := &t.level[i]; v.open {
			v.keepBest()
		}
	}
}

// setPasses numbers the passes by node.
func (t *cores) setPasses() {
	for i := range t.passOf {
		t.passOf[i] = -1
	}
	for i := range t.level {
		t.passOf[i] = slices.IndexFunc(t.passes, func(p pass) bool { return p.node == &t.level[i] })
	}
}

// sweepGroups computes the histograms of some groups of columns and searches them for splits.
func (t *cores) sweepGroups(first, end int) {
	t.swept = t.swept[:0]
	for _, p := range t.passes {
		for g := first; g < end; g++ {
			t.swept = append(t.swept, p.node.groupOf(g)...)
		}
	}
	slices.Sort(t.swept)
	t.swept = slices.Compact(t.swept)
	size := len(t.passes) * (end - first) * groupColumns
	for range cap(t.counters) {
		c := <-t.counters
		c.sums = slices.Grow(c.sums[:0], size)[:size]
		clear(c.sums)
		for len(c.items) < len(t.passes) {
			c.items = append(c.items, nil)
		}
		t.counters <- c
	}
	t.team.Blocks(t.n, streamRows, func(_, lo, hi int) {
		t.fetch(t.swept, lo, hi)
		c := <-t.counters
		t.countBlock(c, first, end, lo, hi)
		t.counters <- c
	})
	t.sweepTotal = slices.Grow(t.sweepTotal[:0], size)[:size]
	clear(t.sweepTotal)
	for range cap(t.counters) {
		c := <-t.counters
		for k := range t.sweepTotal {
			addBins(&t.sweepTotal[k], &t.sweepTotal[k], &c.sums[k])
		}
		t.counters <- c
	}
	t.team.For(len(t.passes)*(end-first), func(i int) {
		p, g := i/(end-first), i%(end-first)
		t.splitGroup((*[groupColumns]histogram)(t.sweepTotal[i*groupColumns:]), t.passes[p], first+g)
	})
}

// countBlock adds the rows lo to hi to the histograms of some groups of columns.
func (t *cores) countBlock(c *counter, first, end, lo, hi int) {
	for p := range c.items {
		c.items[p] = c.items[p][:0]
	}
	for r, v := range t.place[lo:hi] {
		if p := t.passOf[v]; p >= 0 {
			c.items[p] = append(c.items[p], newItem(lo+r, t.signed(lo+r)))
		}
	}
	var h [groupColumns]histogram
	for g := first; g < end; g++ {
		for p := range t.passes {
			if len(c.items[p]) == 0 {
				continue
			}
			t.countGroup(&h, t.passes[p].node, g, c.items[p])
			sums := c.sums[(p*(end-first)+g-first)*groupColumns:]
			for i := range h {
				addBins(&sums[i], &sums[i], &h[i])
			}
		}
	}
}

// binSet is the set of bins that some rows have in a column.
type binSet [vectors.Bins / 64]uint64

// next returns the lowest bin after b, or vectors.Bins.
func (s *binSet) next(b int) int {
	for b++; b < vectors.Bins && s[b/64]>>(b%64)&1 == 0; b++ {
	}
	return b
}

// question asks for the bins of a column that the rows of a node have.
type question struct {
	node   int // in the level
	column uint32
	bins   binSet
}

// finalSplits sets the final splits of the unsettled nodes, as finalSplit does for one.
func (t *cores) finalSplits() {
	for try := 0; ; try++ {
		var asked []question
		for i := range t.level {
			v := &t.level[i]
			s := v.groups
			switch {
			case !slices.Contains(t.unsettled, v):
			case try == 0 && s[0].gain > unsplit(v.sum).gain: // its bin is in a gap
				asked = append(asked, question{node: i, column: s[0].feature})
			case s[0].gain > unsplit(v.sum).gain: // its bin is found
			case try >= len(v.columns):
				v.open = false
			default:
				asked = append(asked, question{node: i, column: v.columns[try]})
			}
		}
		if len(asked) == 0 {
			return
		}
		t.answer(asked)
		for i := range asked {
			q := &asked[i]
			v := &t.level[q.node]
			s := &v.groups[0]
			if s.gain > unsplit(v.sum).gain {
				s.bin = uint8((int(s.bin) + q.bins.next(int(s.bin)) - 1) / 2)
			} else if first := q.bins.next(-1); q.bins.next(first) < vectors.Bins {
				s.feature, s.bin = q.column, uint8((first+q.bins.next(first)-1)/2)
				t.unsettled = slices.DeleteFunc(t.unsettled, func(u *node) bool { return u == v })
			}
		}
	}
}

// answer finds the bins asked for.
func (t *cores) answer(asked []question) {
	t.swept = t.swept[:0]
	for i := range t.passOf {
		t.passOf[i] = -1
	}
	for i, q := range asked {
		t.passOf[q.node] = i
		t.swept = append(t.swept, q.column)
	}
	var mu sync.Mutex
	t.team.Blocks(t.n, streamRows, func(_, lo, hi int) {
		t.fetch(t.swept, lo, hi)
		columns, found := make([][]uint8, len(asked)), make([]binSet, len(asked))
		for i := range asked { // but not their bins, which other threads may be adding to
			columns[i] = t.x.Column(int(asked[i].column))
		}
		for r, v := range t.place[lo:hi] {
			if i := t.passOf[v]; i >= 0 {
				b := columns[i][lo+r]
				found[i][b/64] |= 1 << (b % 64)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		for i := range asked {
			for w := range found[i] {
				asked[i].bins[w] |= found[i][w]
			}
		}
	})
}

// cutStream is the streaming version of cut. The nodes of the level are the open ones, numbered by becomes.
func (t *cores) cutStream(last bool) {
	columns, bins := make([][]uint8, len(t.level)), make([]uint8, len(t.level))
	t.swept = t.swept[:0]
	for k, v := range t.level {
		columns[k], bins[k] = t.x.Column(int(t.tree.feature[v.at])), t.tree.bin[v.at]
		t.swept = append(t.swept, t.tree.feature[v.at])
	}
	left := make([]child, len(t.level))
	var mu sync.Mutex
	t.team.Blocks(t.n, streamRows, func(_, lo, hi int) {
		t.fetch(t.swept, lo, hi)
		part := make([]child, len(t.level))
		place := t.place[lo:hi]
		for i, v := range place {
			k := t.becomes[v]
			if k < 0 {
				place[i] = noNode
				continue
			}
			to := 2*k + 1
			if columns[k][lo+i] <= bins[k] {
				to--
				m := t.signed(lo + i)
				part[k].rows++
				part[k].sum += int64(m)
				part[k].plus += int(uint32(^m) >> 31)
			}
			if !last {
				place[i] = uint8(to)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		for k, p := range part {
			left[k] = child{left[k].rows + p.rows, left[k].sum + p.sum, left[k].plus + p.plus}
		}
	})
	for k, c := range left {
		v := &t.level[k]
		middle := v.lo + c.rows
		t.next[2*k] = node{at: 2*v.at + 1, lo: v.lo, hi: middle, sum: c.sum, plus: c.plus, slot: v.slot, parent: v.kept}
		t.next[2*k+1] = node{at: 2*v.at + 2, lo: middle, hi: v.hi, sum: v.sum - c.sum, plus: v.plus - c.plus,
			slot: v.slot, parent: v.kept}
	}
}
