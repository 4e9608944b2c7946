package model

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"

	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
	"hashgrove/internal/vectors"
)

// Boosted is an encoder of regression trees with real leaves, as gradient boosting libraries train them, one output per
// bit (package export reads their files):
//
//	margin_k(x) = ((base_k + T_1(x)) + T_2(x)) + ...,   bit k is 1 iff margin_k(x) > 0
//
// T_q(x) is the leaf that x reaches in tree q: it goes left iff x[column] < threshold, compared as float32. The sum is
// taken in the order of the trees and rounded after every addition to float32, or to float64 if Double is set: only
// then do the bits match those of the library that made the trees. Additions alone have one result on every machine. Do
// not change an encoder once it has been used.
type Boosted struct {
	Columns int  // dimensions of the vectors
	Double  bool // sums are float64
	Outputs []Booster

	prints  chain
	batches sync.Once
	plan    *boostedPlan // for batches, built when first needed
}

// Booster is the sum of trees behind one bit.
type Booster struct {
	Base  float64 // initial value of the sum
	Trees [][]Node
}

// Node is a split or a leaf of a tree. The nodes of a tree are in pre-order: the root first, and after a split its left
// subtree, then its right one. So a tree can be written in only one way.
type Node struct {
	Column int32   // compared by a split; -1 for a leaf
	Right  int32   // place of the right child of a split; the left one is the next node
	Value  float64 // threshold of a split, a float32 or +Inf; value of a leaf, a float32 unless sums are float64
}

const kindBoosted = "boosted"

// Limits of a tree.
const (
	maxNodes = 1 << 24             // of one tree
	maxPath  = 1 << 10             // splits from the root to a leaf
	maxBytes = 1 << 28             // of one bit in a file
	maxSum   = math.MaxFloat32 / 4 // that a margin can reach
)

// Kind implements Encoder.
func (e *Boosted) Kind() string { return kindBoosted }

// Dim implements Encoder.
func (e *Boosted) Dim() int { return e.Columns }

// Bits implements Encoder.
func (e *Boosted) Bits() int { return len(e.Outputs) }

// Check implements Encoder.
func (e *Boosted) Check() error {
	if err := checkSize(e); err != nil {
		return err
	}
	nodes := int64(0)
	for k := range e.Outputs {
		b := &e.Outputs[k]
		if err := e.checkBooster(b); err != nil {
			return fmt.Errorf("bit %d: %w", k, err)
		}
		for _, t := range b.Trees {
			nodes += int64(len(t))
		}
	}
	if nodes >= 1<<31 {
		return errors.New("the trees have more than 2^31 nodes")
	}
	return nil
}

func (e *Boosted) checkBooster(b *Booster) error {
	if len(b.Trees) < 1 || len(b.Trees) > maxTrees {
		return fault.New("tree-count", "%d trees, outside of 1 to %d", len(b.Trees), maxTrees)
	}
	if !e.isValue(b.Base) {
		return fault.New("base-value", "a sum that starts with %v", b.Base)
	}
	reach := math.Abs(b.Base)
	for q, t := range b.Trees {
		most, err := e.checkTree(t)
		if err != nil {
			return fmt.Errorf("tree %d: %w", q, err)
		}
		if reach += most; !(reach <= maxSum) {
			return fmt.Errorf("tree %d: a margin can reach %g, and at most %g is allowed", q, reach, maxSum)
		}
	}
	return nil
}

// isValue reports whether v can be a leaf.
func (e *Boosted) isValue(v float64) bool {
	return v-v == 0 && (e.Double || float64(float32(v)) == v)
}

// checkTree checks a tree and returns the largest absolute value of its leaves.
func (e *Boosted) checkTree(t []Node) (most float64, err error) {
	if len(t) < 1 || len(t) > maxNodes {
		return 0, fault.New("node-count", "%d nodes, outside of 1 to %d", len(t), maxNodes)
	}
	open := make([]int32, 0, 64) // splits whose right subtrees are still to come
	for i, n := range t {
		if i > 0 && len(open) == 0 {
			return 0, fault.New("node-unreached", "it ends before node %d of %d", i, len(t))
		}
		if i > 0 && t[i-1].Column < 0 { // a leaf ended a left subtree
			last := open[len(open)-1]
			open = open[:len(open)-1]
			if int(t[last].Right) != i {
				return 0, fault.New("right-child", "split %d has its right child at %d instead of %d", last, t[last].Right, i)
			}
		}
		if n.Column < 0 {
			if n.Column != -1 || n.Right != 0 || !e.isValue(n.Value) {
				return 0, fault.New("leaf-value", "leaf %d has the value %v", i, n.Value)
			}
			most = max(most, math.Abs(n.Value))
			continue
		}
		if int(n.Column) >= e.Columns {
			return 0, fault.New("no-such-column", "split %d compares column %d of vectors with %d", i, n.Column, e.Columns)
		}
		if v := n.Value; v != float64(float32(v)) || math.IsInf(v, -1) || v == 0 && math.Signbit(v) {
			return 0, fault.New("split-value", "split %d compares with %v", i, v)
		}
		if open = append(open, int32(i)); len(open) > maxPath {
			return 0, fmt.Errorf("it is deeper than %d splits", maxPath)
		}
	}
	if len(open) > 0 || t[len(t)-1].Column >= 0 {
		return 0, fault.New("nodes-missing", "it lacks nodes")
	}
	return most, nil
}

// Fingerprint implements Encoder.
func (e *Boosted) Fingerprint(bits int) hamming.Fingerprint { return e.prints.fingerprint(e, bits) }

func (e *Boosted) prefix(bits int) Encoder {
	return &Boosted{Columns: e.Columns, Double: e.Double, Outputs: e.Outputs[:bits:bits]}
}

const doubleFlag = 1

func (e *Boosted) appendBase(dst []byte) []byte { return append(dst, bitIf(doubleFlag, e.Double)) }

func (e *Boosted) appendBit(dst []byte, k int) []byte {
	b := &e.Outputs[k]
	dst = e.appendValue(dst, b.Base)
	dst = appendSize(dst, len(b.Trees))
	for _, t := range b.Trees {
		for _, n := range t {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(n.Column+1))
			if n.Column >= 0 {
				dst = appendFloat(dst, float32(n.Value))
			} else {
				dst = e.appendValue(dst, n.Value)
			}
		}
	}
	return dst
}

func (e *Boosted) appendValue(dst []byte, v float64) []byte {
	if e.Double {
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
	}
	return appendFloat(dst, float32(v))
}

// parser returns the inverse of appendBase and appendBit.
func (e *Boosted) parser(dim int) *parser {
	e.Columns = dim
	p := &parser{maxBase: 1, maxBit: maxBytes, encoder: func() Encoder { return e }}
	p.base = func(b []byte) error {
		in := &reader{b: b}
		e.Double = in.flags(doubleFlag) != 0
		if in.bad || len(in.b) > 0 {
			return fmt.Errorf("%d bytes say how sums are taken", len(b))
		}
		return nil
	}
	p.bit = func(b []byte) error {
		in := &reader{b: b}
		out := Booster{Base: e.readValue(in)}
		n := in.u32()
		if in.bad || n < 1 || n > maxTrees || int64(len(in.b)) < 8*int64(n) {
			return fmt.Errorf("%d trees in %d bytes", n, len(b))
		}
		for q := range n {
			t, err := e.readTree(in)
			if err != nil {
				return fmt.Errorf("tree %d: %w", q, err)
			}
			out.Trees = append(out.Trees, t)
		}
		if len(in.b) > 0 {
			return fmt.Errorf("%d bytes after the last tree", len(in.b))
		}
		e.Outputs = append(e.Outputs, out)
		return e.checkBooster(&out)
	}
	return p
}

func (e *Boosted) readValue(in *reader) float64 {
	if !e.Double {
		return float64(math.Float32frombits(in.u32()))
	}
	if b := in.take(8); b != nil {
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	return 0
}

// readTree reads the nodes of one tree. It allocates no more than the available bytes justify.
func (e *Boosted) readTree(in *reader) ([]Node, error) {
	var t []Node
	var open []int32
	for {
		column := in.u32()
		n := Node{Column: int32(column) - 1}
		if column > 0 {
			n.Value = float64(math.Float32frombits(in.u32()))
		} else {
			n.Value = e.readValue(in)
		}
		if in.bad || column > maxDim || len(t) == maxNodes || len(open) > maxPath {
			return nil, fmt.Errorf("it does not fit its bytes after %d nodes", len(t))
		}
		t = append(t, n)
		if column > 0 {
			open = append(open, int32(len(t)-1))
			continue
		}
		if len(open) == 0 {
			return t[:len(t):len(t)], nil
		}
		t[open[len(open)-1]].Right = int32(len(t))
		open = open[:len(open)-1]
	}
}

// leaf walks down a tree.
func leaf(t []Node, x []float32) float64 {
	for i := int32(0); ; {
		n := &t[i]
		switch {
		case n.Column < 0:
			return n.Value
		case x[n.Column] < float32(n.Value):
			i++
		default:
			i = n.Right
		}
	}
}

// sum returns the margin of a row by definition.
func (e *Boosted) sum(b *Booster, x []float32) float64 {
	if e.Double {
		s := b.Base
		for _, t := range b.Trees {
			s += leaf(t, x)
		}
		return s
	}
	s := float32(b.Base)
	for _, t := range b.Trees {
		s += float32(leaf(t, x))
	}
	return float64(s)
}

func (e *Boosted) encode(dst hamming.Codes, first int, x vectors.Matrix) bool {
	e.sums(x, func(lo, k int, sums []float64) {
		for r, s := range sums {
			dst.SetBit(first+lo+r, k, s > 0)
		}
	})
	return finite(x.Data)
}

func (e *Boosted) margins(dst, x vectors.Matrix) bool {
	e.sums(x, func(lo, k int, sums []float64) {
		for r, s := range sums {
			dst.Data[(lo+r)*dst.Cols+k] = float32(s)
		}
	})
	return finite(x.Data)
}

// sums calls put with the margins of bit k for the rows from lo on.
func (e *Boosted) sums(x vectors.Matrix, put func(lo, k int, sums []float64)) {
	for lo := 0; lo < x.Rows; lo += block {
		rows := x.Slice(lo, min(lo+block, x.Rows))
		if rows.Rows < fewBoosted {
			e.rowSums(rows, func(r, k int, sums []float64) { put(lo+r, k, sums) })
			continue
		}
		e.batches.Do(func() { e.plan = newBoostedPlan(e) })
		e.plan.blockSums(rows, e.Double, func(k int, sums []float64) { put(lo, k, sums) })
	}
}

// fewBoosted is the number of rows below which walking the trees row by row is faster than a block.
const fewBoosted = 4

// rowSums computes sums by definition.
func (e *Boosted) rowSums(x vectors.Matrix, put func(lo, k int, sums []float64)) {
	var sums [1]float64
	for r := range x.Rows {
		for k := range e.Outputs {
			sums[0] = e.sum(&e.Outputs[k], x.Row(r))
			put(r, k, sums[:])
		}
	}
}
