// Package maxflow finds minimum s-t cuts with integer capacities on flat arrays, for the two graphs of Step 1:
//
//	Hamming   complete graphs whose capacities follow from codes; no capacity is stored
//	Sparse    explicit undirected edges
//
// Both give the smallest sink side among all minimum cuts, which is unique: the nodes that still reach the sink
// when no more flow does. The arcs of source and sink are one signed number per node, its excess. All sums of
// capacities must fit int64, which the caller ensures.
package maxflow
