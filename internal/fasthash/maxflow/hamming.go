// Package maxflow finds minimum s-t cuts with integer capacities on flat arrays, for the two graphs of Step 1:
//
//	Hamming   complete graphs whose capacities follow from codes; no capacity is stored
//	Sparse    explicit undirected edges
//
// Both give the smallest sink side among all minimum cuts, which is unique: the nodes that still reach the sink
// when no more flow does. The arcs of source and sink are one signed number per node, its excess. All sums of
// capacities must fit int64, which the caller ensures.
package maxflow

// Cuts of complete graphs whose capacities are Hamming distances: push-relabel (Goldberg & Tarjan, J. ACM 1988)
// without a capacity matrix.
//
// Node g has a code c_g and a mass m_g; the capacity between g and h, in both directions, is
//
//	scale · m_g · m_h · (1 + 2 |c_g - c_h|),     |.| the Hamming distance: never zero.
//
// Nearly every arc is either free or full, and then its capacity, which the codes tell, says the rest: two bits per
// ordered pair. Only arcs that are in between are stored, in a list per node: at most a few per discharge.
//
//	measure          labels = distances to the nearest sink     O(n²/64), mostly much less
//	waves            until no node has both excess and a way to a sink
//		discharge    push to the nodes one label lower; if excess is left, raise the label
//	measure          who still reaches a sink
//
// Nodes of one label stand together in a bucket, so a push looks only at nodes it may push to, and a raise usually
// ends at the first node it looks at. An empty bucket cuts off all above it (the gap heuristic). Labels are measured
// anew after n raises. The second phase of push-relabel is not needed: a preflow gives the cut.
//
// Waves (first in, first out) and not the highest label first: every node has arcs to all others, so the latter spreads
// one node's excess over hundreds that were done already. 4,000 nodes with codes of 64 bits take 0.01 s to 0.1 s.

import (
	"context"
	"math"
	"math/bits"
)

// Hamming finds minimum cuts of complete graphs over codes. The zero value is ready to use, and memory is reused.
type Hamming struct {
	code  []uint64 // words per node
	words int
	mass  []int64
	scale int64

	stride int      // words of a row of out and in
	out    []uint64 // bit h of row g: the arc from g to h is full, and not in arcs
	in     []uint64 // bit h of row g: the arc from h to g is full, and not in arcs
	arcs   [][]arc  // of each node: its arcs that were ever partly full
	at     []int32  // while node g is open: 1 + the place in arcs[g] of the arc to each node, or 0

	excess []int64
	label  []int32 // lower bound of the distance to a sink; unreached if there is no way
	raises int     // since the labels were measured

	wave, active []int32 // nodes with excess: of this wave, of the next one
	queue        []int32

	bucket [][]int32 // the nodes of each label; bucket 0 holds the sinks, the nodes with negative excess
	place  []int32   // of each node in its bucket
	cursor []int32   // of each node: it can push to no node at a higher place of the bucket below its own
	unseen []uint64  // a set of nodes
}

// arc is an arc to a node: its residual capacity, and the place of the opposite arc in that node's list.
type arc struct {
	to, back int32
	rest     int64
}

// MaxNodes is the largest number of nodes in a cut. The two bit matrices then take 256 MB.
const MaxNodes = 1 << 15

// Coded is a complete graph over codes of at most MaxNodes nodes.
type Coded struct {
	Code  []uint64 // of node g the words from g*Words on
	Words int
	Mass  []int64 // positive
	Scale int64
}

// Cut finds the smallest sink side of a minimum cut. A positive excess[g] is the capacity of an arc from the source to
// g, a negative one that of an arc from g to the sink; the slice is overwritten. Afterwards sink[g] says whether g is
// on the sink side.
func (c *Hamming) Cut(ctx context.Context, g Coded, excess []int64, sink []bool) error {
	n := len(g.Mass)
	if len(g.Code) != n*g.Words || len(excess) != n || len(sink) != n {
		panic("maxflow: sizes of codes, masses and excesses differ")
	}
	if n > MaxNodes {
		panic("maxflow: more nodes than MaxNodes")
	}
	c.code, c.words, c.mass, c.scale, c.excess = g.Code, g.Words, g.Mass, g.Scale, excess
	c.reserve(n)
	defer func() { c.code, c.mass, c.excess = nil, nil, nil }()
	c.measure()
	for len(c.active) > 0 && len(c.bucket[0]) > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c.wave, c.active = c.active, c.wave[:0]
		for _, g := range c.wave {
			c.discharge(g)
		}
		if c.raises >= n {
			c.measure()
		}
	}
	c.measure()
	for g := range sink {
		sink[g] = c.label[g] != unreached
	}
	return nil
}

const unreached = math.MaxInt32

func (c *Hamming) reserve(n int) {
	for len(c.arcs) < n {
		c.arcs = append(c.arcs, nil)
		c.bucket = append(c.bucket, nil)
		c.at = append(c.at, 0)
		c.place = append(c.place, 0)
		c.cursor = append(c.cursor, 0)
	}
	c.label = append(c.label[:0], make([]int32, n)...)
	c.stride = (n + 63) / 64
	c.out = append(c.out[:0], make([]uint64, n*c.stride)...)
	c.in = append(c.in[:0], make([]uint64, n*c.stride)...)
	c.unseen = append(c.unseen[:0], make([]uint64, c.stride)...)
	for g := range n {
		c.arcs[g] = c.arcs[g][:0]
	}
}

func (c *Hamming) capacity(g, h int32) int64 {
	d := 0
	if c.words == 1 {
		d = bits.OnesCount64(c.code[g] ^ c.code[h])
	} else {
		a := c.code[int(g)*c.words:][:c.words]
		b := c.code[int(h)*c.words:][:len(a)]
		for i, v := range a {
			d += bits.OnesCount64(v ^ b[i])
		}
	}
	return c.scale * c.mass[g] * c.mass[h] * int64(1+2*d)
}

func (c *Hamming) row(set []uint64, g int32) []uint64 { return set[int(g)*c.stride:][:c.stride] }

func contains(row []uint64, h int32) bool { return row[h>>6]>>(h&63)&1 != 0 }
func toggle(row []uint64, h int32)        { row[h>>6] ^= 1 << (h & 63) }

// openArcs indexes the arcs of g by node; closeArcs undoes it.
func (c *Hamming) openArcs(g int32) {
	for i, a := range c.arcs[g] {
		c.at[a.to] = int32(i + 1)
	}
}

func (c *Hamming) closeArcs(g int32) {
	for _, a := range c.arcs[g] {
		c.at[a.to] = 0
	}
}

// measure sets every label to the distance to the nearest sink: breadth first, backwards from the sinks.
func (c *Hamming) measure() {
	n := len(c.label)
	c.raises, c.active = 0, c.active[:0]
	c.queue = c.queue[:0]
	for g := range int32(n) {
		c.bucket[g] = c.bucket[g][:0]
	}
	for g := range int32(n) {
		c.label[g], c.cursor[g] = unreached, math.MaxInt32
		if c.excess[g] < 0 {
			c.addToBucket(g, 0)
			c.queue = append(c.queue, g)
			c.unseen[g>>6] &^= 1 << (g & 63)
		} else {
			c.unseen[g>>6] |= 1 << (g & 63)
		}
	}
	for next := 0; next < len(c.queue) && len(c.queue) < n; next++ {
		g := c.queue[next]
		c.openArcs(g)
		for w, full := range c.row(c.in, g) {
			for set := c.unseen[w] &^ full; set != 0; set &= set - 1 {
				h := int32(w<<6 + bits.TrailingZeros64(set))
				if a := c.at[h]; a != 0 && c.arcs[h][c.arcs[g][a-1].back].rest == 0 {
					continue
				}
				c.unseen[w] &^= 1 << (h & 63)
				c.addToBucket(h, c.label[g]+1)
				c.queue = append(c.queue, h)
				if c.excess[h] > 0 {
					c.active = append(c.active, h)
				}
			}
		}
		c.closeArcs(g)
	}
}

// addToBucket adds node g to bucket l; removeFromBucket removes it from its bucket.
func (c *Hamming) addToBucket(g, l int32) {
	c.label[g], c.place[g] = l, int32(len(c.bucket[l]))
	c.bucket[l] = append(c.bucket[l], g)
}

func (c *Hamming) removeFromBucket(g int32) {
	s := c.bucket[c.label[g]]
	last := s[len(s)-1]
	s[c.place[g]], c.place[last] = last, c.place[g]
	c.bucket[c.label[g]] = s[:len(s)-1]
}

// discharge pushes the excess of g down by one label and raises g if that is not enough.
func (c *Hamming) discharge(g int32) {
	l := c.label[g]
	if l == unreached {
		return
	}
	// Backwards, because a full sink leaves its bucket and the last one takes its place. A node that joins the bucket
	// below g meanwhile gets nothing from g: the arc to it was saturated before, or g's label would be too high.
	c.openArcs(g)
	below := c.bucket[l-1]
	i := min(int(c.cursor[g]), len(below)-1)
	for ; i >= 0; i-- {
		c.push(g, below[i])
		if c.excess[g] == 0 {
			break
		}
	}
	c.cursor[g] = int32(i)
	if c.excess[g] > 0 {
		c.raise(g)
	}
	c.closeArcs(g)
}

// push sends what it can from g, which is open, to h. A sink takes no more than it lacks, so bucket 0 holds only sinks.
func (c *Hamming) push(g, h int32) {
	out, in := c.row(c.out, g), c.row(c.in, g)
	if contains(out, h) {
		return
	}
	x := c.excess[g]
	if c.label[h] == 0 {
		x = min(x, -c.excess[h])
	}
	if a := c.at[h]; a != 0 {
		e := &c.arcs[g][a-1]
		if x = min(x, e.rest); x == 0 {
			return
		}
		e.rest -= x
		c.arcs[h][e.back].rest += x
	} else {
		both := 2 * c.capacity(g, h)
		rest := both / 2
		if contains(in, h) { // what h sent can be returned
			rest = both
			toggle(in, h)
			toggle(c.row(c.out, h), g)
		}
		if x >= rest {
			x = rest
			toggle(out, h)
			toggle(c.row(c.in, h), g)
		} else {
			i, j := int32(len(c.arcs[g])), int32(len(c.arcs[h]))
			c.arcs[g] = append(c.arcs[g], arc{h, j, rest - x})
			c.arcs[h] = append(c.arcs[h], arc{g, i, both - rest + x})
			c.at[h] = i + 1
		}
	}
	c.excess[g] -= x
	if c.excess[h] == 0 {
		c.active = append(c.active, h)
	}
	c.excess[h] += x
	if c.label[h] == 0 && c.excess[h] == 0 {
		c.removeFromBucket(h)
		c.addToBucket(h, 1)
	}
}

// raise gives g, which is open, the lowest label that its arcs allow.
func (c *Hamming) raise(g int32) {
	c.raises++
	l := c.label[g]
	c.removeFromBucket(g)
	c.label[g], c.cursor[g] = unreached, math.MaxInt32
	if len(c.bucket[l]) == 0 { // a gap: no node above has a way down
		for l++; int(l) < len(c.label) && len(c.bucket[l]) > 0; l++ {
			for _, h := range c.bucket[l] {
				c.label[h] = unreached
			}
			c.bucket[l] = c.bucket[l][:0]
		}
		return
	}
	out := c.row(c.out, g)
	for ; int(l) < len(c.label)-1; l++ {
		for _, h := range c.bucket[l] {
			if a := c.at[h]; a == 0 && !contains(out, h) || a != 0 && c.arcs[g][a-1].rest > 0 {
				c.addToBucket(g, l+1)
				c.active = append(c.active, g)
				return
			}
		}
	}
}
