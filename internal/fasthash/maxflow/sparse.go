package maxflow

// Cuts of sparse undirected graphs: blocking flows (Dinic, Soviet Math. Doklady 1970) on compressed rows.
//
//	repeat until nothing moves
//		measure    labels = distances to the nearest sink                          O(n + arcs)
//		send       from every node with excess, along arcs to the next lower label, from the cursor on
//
// The last labels say who still reaches a sink.

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

	excess []int64
	label  []int32 // distance to the nearest sink; unreached if there is no way
	cursor []int   // of each node: earlier arcs are done
	queue  []int32

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
	c.cursor = append(c.cursor[:0], c.first[:n]...)
	c.pairArcs()
	for moved := true; moved; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c.measure()
		moved = false
		for g, e := range excess {
			if e > 0 && c.label[g] != unreached {
				sent := c.send(int32(g), e)
				excess[g] -= sent
				moved = moved || sent > 0
			}
		}
	}
	for g := range sink {
		sink[g] = c.label[g] != unreached
	}
	return nil
}

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
	c.queue = c.queue[:0]
	for g, e := range c.excess {
		c.label[g], c.cursor[g] = unreached, c.first[g]
		if e < 0 {
			c.label[g] = 0
			c.queue = append(c.queue, int32(g))
		}
	}
	for next := 0; next < len(c.queue); next++ {
		g := c.queue[next]
		for a := c.first[g]; a < c.first[g+1]; a++ {
			if h := c.to[a]; c.label[h] == unreached && c.rest[c.back[a]] > 0 {
				c.label[h] = c.label[g] + 1
				c.queue = append(c.queue, h)
			}
		}
	}
}

// send sends up to x from g to sinks, every arc one label down, and returns how much arrives.
func (c *Sparse) send(g int32, x int64) (sent int64) {
	if c.label[g] == 0 {
		sent = min(x, -c.excess[g])
		c.excess[g] += sent
		return sent
	}
	for ; c.cursor[g] < c.first[g+1]; c.cursor[g]++ {
		a := c.cursor[g]
		if h := c.to[a]; c.rest[a] > 0 && c.label[h] == c.label[g]-1 {
			y := c.send(h, min(x-sent, c.rest[a]))
			c.rest[a] -= y
			c.rest[c.back[a]] += y
			if sent += y; sent == x {
				break // the arc may have room for more
			}
		}
	}
	return sent
}
