package maxflow

// Cuts of sparse undirected graphs: push-relabel (Goldberg & Tarjan, J. ACM 1988) on compressed rows.
//
//	measure          labels = distances to the nearest sink                     O(n + arcs)
//	waves            until no node has both excess and a way to a sink
//		discharge    push along arcs to the next lower label, from the cursor on; if excess is left, raise the label
//	measure          who still reaches a sink
//
// Labels are measured anew after n raises; a label that no node has cuts off all labels above it (the gap heuristic).

import (
	"cmp"
	"context"
	"math"

	"hashgrove/internal/message"
)

// Sparse finds minimum cuts of graphs with explicit edges. The zero value is ready to use, and memory is reused. Call
// Start, then for every node Add for all its arcs in ascending order and Close, then Cut.
type Sparse struct {
	first []int   // arcs of node g: first[g] to first[g+1]
	to    []int32 // ascending within a node
	back  []int32 // the place of the opposite arc
	rest  []int64 // residual capacity

	preflow
	count  []int32 // nodes of each label
	cursor []int   // of each node: earlier arcs are done

	most int // arcs; 0 means maxArcs; for tests
}

// maxArcs bounds the arcs, whose places are int32.
const maxArcs = math.MaxInt32

// Start begins a graph.
func (c *Sparse) Start() {
	c.first = append(c.first[:0], 0)
	c.to, c.rest = c.to[:0], c.rest[:0]
}

// Add adds an arc from the current node. The opposite arc must be added at the other node with the same capacity.
func (c *Sparse) Add(to int32, capacity int64) {
	c.to = append(c.to, to)
	c.rest = append(c.rest, capacity)
}

// Close ends the arcs of the current node and moves to the next.
func (c *Sparse) Close() { c.first = append(c.first, len(c.to)) }

// Cut finds the smallest sink side of a minimum cut. A positive excess[g] is the capacity of an arc from the source to
// g, a negative one that of an arc from g to the sink; the slice and the graph are overwritten. Afterwards sink[g] says
// whether g is on the sink side. More than 2^31 - 1 arcs are an error.
func (c *Sparse) Cut(ctx context.Context, excess []int64, sink []bool) error {
	n := len(c.first) - 1
	if len(excess) != n || len(sink) != n {
		panic("maxflow: sizes of graph and excesses differ")
	}
	if most := cmp.Or(c.most, maxArcs); len(c.to) > most {
		return message.New("too-many-pairs", "%d rows that are undecided together have %d similar pairs among them, each "+
			"counted twice, and a cut takes at most %d; learn from fewer pairs", n, len(c.to), most)
	}
	c.excess = excess
	c.label = append(c.label[:0], make([]int32, n)...)
	c.count = append(c.count[:0], make([]int32, n+1)...)
	c.cursor = append(c.cursor[:0], c.first[:n]...)
	c.pairArcs()
	return c.cut(ctx, c, sink)
}

func (c *Sparse) sinks() int { return int(c.count[0]) }

// pairArcs finds the opposite of every arc. Arcs are ascending, so arcs into a node appear in the order in which their
// opposites are stored there.
func (c *Sparse) pairArcs() {
	n := len(c.first) - 1
	c.back = append(c.back[:0], make([]int32, len(c.to))...)
	next := c.cursor
	for g := range n {
		for a := c.first[g]; a < c.first[g+1]; a++ {
			h := c.to[a]
			b := next[h]
			next[h]++
			if b >= c.first[h+1] || c.to[b] != int32(g) {
				panic("maxflow: an arc without its opposite")
			}
			c.back[a] = int32(b)
		}
	}
}

// measure sets every label to the distance to the nearest sink: breadth first, backwards from the sinks.
func (c *Sparse) measure() {
	c.raises, c.active, c.queue = 0, c.active[:0], c.queue[:0]
	clear(c.count)
	for g, e := range c.excess {
		c.label[g], c.cursor[g] = unreached, c.first[g]
		if e < 0 {
			c.label[g] = 0
			c.count[0]++
			c.queue = append(c.queue, int32(g))
		}
	}
	for next := 0; next < len(c.queue); next++ {
		g := c.queue[next]
		l := c.label[g] + 1
		for a := c.first[g]; a < c.first[g+1]; a++ {
			h := c.to[a]
			if c.label[h] != unreached || c.rest[c.back[a]] == 0 {
				continue
			}
			c.label[h] = l
			c.count[l]++
			c.queue = append(c.queue, h)
			if c.excess[h] > 0 {
				c.active = append(c.active, h)
			}
		}
	}
}

// discharge pushes the excess of g down by one label and raises g if that is not enough. A sink takes no more than it
// lacks, so label 0 means a sink.
func (c *Sparse) discharge(g int32) {
	l := c.label[g]
	if l == unreached {
		return
	}
	if l > 0 && c.count[l-1] == 0 { // a gap: no node is one step nearer
		c.count[l]--
		c.label[g] = unreached
		return
	}
	e := c.excess[g]
	a, end := c.cursor[g], c.first[g+1]
	for ; a < end; a++ {
		h := c.to[a]
		if c.label[h] != l-1 {
			continue
		}
		x := min(e, c.rest[a])
		if l == 1 {
			x = min(x, -c.excess[h])
		}
		if x == 0 {
			continue
		}
		c.rest[a] -= x
		c.rest[c.back[a]] += x
		if c.excess[h] == 0 {
			c.active = append(c.active, h)
		}
		c.excess[h] += x
		if l == 1 && c.excess[h] == 0 {
			c.label[h] = 1
			c.count[0]--
			c.count[1]++
		}
		if e -= x; e == 0 {
			break
		}
	}
	c.excess[g], c.cursor[g] = e, a
	if e > 0 {
		c.raise(g)
	}
}

// raise gives g the lowest label that its arcs allow.
func (c *Sparse) raise(g int32) {
	c.raises++
	low := int32(unreached)
	for a := c.first[g]; a < c.first[g+1]; a++ {
		if c.rest[a] > 0 {
			low = min(low, c.label[c.to[a]])
		}
	}
	c.count[c.label[g]]--
	c.label[g], c.cursor[g] = unreached, c.first[g]
	if low != unreached && c.count[low] > 0 && int(low)+1 < len(c.count) {
		c.label[g] = low + 1
		c.count[low+1]++
		c.active = append(c.active, g)
	}
}
