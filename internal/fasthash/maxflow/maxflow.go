// Package maxflow finds minimum s-t cuts with integer capacities on flat arrays, for the two graphs of Step 1:
//
//	Hamming   complete graphs whose capacities follow from codes; no capacity is stored
//	Sparse    explicit undirected edges
//
// Both give the smallest sink side among all minimum cuts, which is unique: the nodes that still reach the sink
// when no more flow does. The arcs of source and sink are one signed number per node, its excess. All sums of
// capacities must fit int64, which the caller ensures.
package maxflow

import (
	"context"
	"math"
)

// preflow is the state of push-relabel that does not depend on how the graph is stored.
type preflow struct {
	excess []int64
	label  []int32 // lower bound of the distance to a sink; unreached if there is no way
	raises int     // since the labels were measured

	wave, active []int32 // nodes with excess: of this wave, of the next one
	queue        []int32
}

const unreached = math.MaxInt32

// network is a graph with a preflow.
type network interface {
	measure()          // sets every label to the distance to the nearest sink, and lists the active nodes
	discharge(g int32) // pushes the excess of g down, and raises its label if that is not enough
	sinks() int        // the number of nodes that still lack flow
}

// cut discharges nodes in waves until no node has both excess and a way to a sink, and finds which nodes still reach
// one.
func (p *preflow) cut(ctx context.Context, graph network, sink []bool) error {
	graph.measure()
	for len(p.active) > 0 && graph.sinks() > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		p.wave, p.active = p.active, p.wave[:0]
		for _, g := range p.wave {
			graph.discharge(g)
		}
		if p.raises >= len(sink) {
			graph.measure()
		}
	}
	graph.measure()
	for g := range sink {
		sink[g] = p.label[g] != unreached
	}
	p.excess = nil
	return nil
}
