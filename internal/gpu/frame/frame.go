// Package frame is what a training and hashgrove-gpu say to each other: gobs, over the pipes of the child. What grows
// with the rows is bytes as they lie in memory, since both ends are of one release and on one machine. A request is
// answered once or, for trees, several times.
package frame

import "hashgrove/internal/fasthash/boost"

// Request asks the child for something.
type Request struct {
	Do   string // open, columns, begin, run, close
	ID   int    // of a session
	Plan *boost.Plan
	From int      // the first column, or the first round
	To   int      // the end of the rounds
	Data [][]byte // arrays, in the order in which the worker expects them
}

// Answer is what the child says.
type Answer struct {
	Error    string
	Refused  string // why only this was not done
	Hello    string // first of all: the name of the device
	From, To int    // of the rounds
	Rounds   *Rounds
}

// Nodes is more than a tree of the greatest depth has splits, and as many as it has leaves.
const Nodes = 256

// Rounds is what some rounds leave.
type Rounds struct {
	Features []uint32  // by round and split
	Bins     []uint8   // by round and split
	Leaves   []uint64  // by round, of AdaBoost: the signs of the leaves, Nodes bits
	Results  []float64 // by round, of AdaBoost: V- and V+
	Digits   []uint8   // by round and leaf, of logistic boosting, Nodes of each round
	Units    []int32   // by round
}
