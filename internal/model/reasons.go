package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Reason is one cause of a bit: a feature that is compared with a threshold, and how much depends on it.
type Reason struct {
	Feature   int     `json:"feature"`
	Threshold float32 `json:"threshold"` // a vector is left of it or not
	A         float32 `json:"a"`         // the feature in the one vector
	B         float32 `json:"b"`         // and in the other
	Weight    int64   `json:"weight"`    // of the trees, or of the score, that hang on it

	// What the feature adds to the two scores of a hyperplane, beside what its zero adds; 0 for trees.
	PartA int64 `json:"part_a,omitempty"`
	PartB int64 `json:"part_b,omitempty"`
}

// Reasons explains bit k of two vectors by its causes of largest weight, at most most of them.
//
// Trees: if the bits differ, a tree counts if it votes for both, and its cause is the split where the paths of the two
// vectors part. If they agree, a tree counts if both vectors get its vote for the bit, and its causes are the splits on
// their common path. Splits on one feature at one threshold are added up; Weight is the sum of the weights of their
// trees.
//
// Hyperplanes: the score is a sum with a part for every feature, its weight times its bin. Parts are taken from the bin
// of zero, so that a score of zero says nothing; what remains, for all vectors the same, is in no part. The causes of
// different bits are the features that move the score from a to b in the direction of b's bit, weighted by how far; the
// causes of equal bits are those whose parts are for the bit in both, weighted by the smaller one. There are no
// thresholds.
func Reasons(m *Binned, k int, a, b []float32, most int) ([]Reason, error) {
	if k < 0 || k >= m.Bits() {
		return nil, fmt.Errorf("bit %d of a model with %d", k, m.Bits())
	}
	if len(a) != m.Dim() || len(b) != m.Dim() {
		return nil, fmt.Errorf("%w: vectors have %d and %d, the model was trained on %d", ErrDim, len(a), len(b), m.Dim())
	}
	var reasons []Reason
	switch f := m.Functions[k].(type) {
	case *Ensemble:
		reasons = treeReasons(m, f, a, b)
	case *Linear:
		reasons = linearReasons(m, f, a, b)
	default:
		return nil, fmt.Errorf("bit %d is a %T, which cannot be explained", k, f)
	}
	slices.SortStableFunc(reasons, func(x, y Reason) int {
		return cmp.Or(-cmp.Compare(x.Weight, y.Weight), cmp.Compare(x.Feature, y.Feature),
			cmp.Compare(x.Threshold, y.Threshold))
	})
	return reasons[:max(0, min(most, len(reasons)))], nil
}

// path is a vector's path through a tree: the nodes, the leaf, and its vote.
type path struct {
	nodes []int
	leaf  int
	vote  bool
}

// signed returns the weight of a tree with the sign of the vote.
func (p path) signed(w int32) int64 {
	if p.vote {
		return int64(w)
	}
	return -int64(w)
}

func descend(m *Binned, e *Ensemble, tree int, x []float32) path {
	base, node := tree*Splits(e.Depth), 0
	p := path{}
	for range e.Depth {
		p.nodes = append(p.nodes, node)
		j := e.Feature[base+node]
		node = 2*node + 1
		if m.Quantizer.Scale(int(j)).Bin(x[j]) > e.Bin[base+p.nodes[len(p.nodes)-1]] {
			node++
		}
	}
	p.leaf = node - Splits(e.Depth)
	p.vote = e.Leaf[tree*LeafWords(e.Depth)+p.leaf>>6]>>(p.leaf&63)&1 != 0
	return p
}

func treeReasons(m *Binned, e *Ensemble, a, b []float32) []Reason {
	trees := e.Trees()
	pathA, pathB := make([]path, trees), make([]path, trees)
	scoreA, scoreB := int64(0), int64(0)
	for q := range trees {
		pathA[q], pathB[q] = descend(m, e, q, a), descend(m, e, q, b)
		scoreA += pathA[q].signed(e.Weight[q])
		scoreB += pathB[q].signed(e.Weight[q])
	}
	bitA, bitB := scoreA >= 0, scoreB >= 0
	type split struct {
		feature uint32
		bin     uint8
	}
	weight := map[split]int64{}
	var order []split
	for q := range trees {
		if pathA[q].vote != bitA || pathB[q].vote != bitB {
			continue
		}
		// Up to the node where the paths part, or to the leaf.
		common := 0
		for common < e.Depth && pathA[q].nodes[common] == pathB[q].nodes[common] {
			common++
		}
		nodes := pathA[q].nodes[:common]
		switch {
		case bitA != bitB:
			nodes = nodes[common-1:]
		case pathA[q].leaf != pathB[q].leaf:
			nodes = nodes[:common-1] // where they part is no reason to agree
		}
		for _, node := range nodes {
			at := q*Splits(e.Depth) + node
			if e.Bin[at] == 255 {
				continue // sends every vector left: no test at all
			}
			s := split{e.Feature[at], e.Bin[at]}
			if _, ok := weight[s]; !ok {
				order = append(order, s)
			}
			weight[s] += int64(e.Weight[q])
		}
	}
	reasons := make([]Reason, len(order))
	for i, s := range order {
		j := int(s.feature)
		edge := m.Quantizer.Scale(j).Edge(s.bin) // -Inf for the bin of missing values, which JSON cannot express
		edge = max(-math.MaxFloat32, min(edge, math.MaxFloat32))
		reasons[i] = Reason{Feature: j, Threshold: edge, A: a[j], B: b[j], Weight: weight[s]}
	}
	return reasons
}

func linearReasons(m *Binned, l *Linear, a, b []float32) []Reason {
	scoreA, scoreB := l.Bias, l.Bias
	all := make([]Reason, len(a))
	for j, w := range l.Weight {
		scale := m.Quantizer.Scale(j)
		binA, binB, zero := int64(scale.Bin(a[j])), int64(scale.Bin(b[j])), int64(scale.Bin(0))
		scoreA += int64(w) * binA
		scoreB += int64(w) * binB
		all[j] = Reason{Feature: j, A: a[j], B: b[j], PartA: int64(w) * (binA - zero), PartB: int64(w) * (binB - zero)}
	}
	sign := int64(1)
	if scoreB < 0 {
		sign = -1
	}
	var reasons []Reason
	for _, r := range all {
		if r.Weight = sign * (r.PartB - r.PartA); (scoreA < 0) == (scoreB < 0) {
			r.Weight = min(sign*r.PartA, sign*r.PartB)
		}
		if r.Weight > 0 {
			reasons = append(reasons, r)
		}
	}
	return reasons
}

// Score returns the score of bit k, an exact integer, of which the margin is the float32.
func (m *Binned) Score(k int, x []float32) int64 {
	m.prepare()
	switch f := m.Functions[k].(type) {
	case *Linear:
		score := f.Bias
		for j, w := range f.Weight {
			score += int64(w) * int64(m.scales[j].Bin(x[j]))
		}
		return score
	case *Ensemble:
		score := int64(0)
		for q, w := range f.Weight {
			score += descend(m, f, q, x).signed(w)
		}
		return score
	}
	panic(fmt.Sprintf("model: the score of a %T", m.Functions[k]))
}

// ColumnTests says how often trees test a column.
type ColumnTests struct{ Column, Tests int }

// ColumnTests counts how often the trees of all bits test each column, most tested first.
func (m *Binned) ColumnTests() []ColumnTests {
	counts := make([]ColumnTests, m.Dim())
	for j := range counts {
		counts[j].Column = j
	}
	for _, f := range m.Functions {
		if e, ok := f.(*Ensemble); ok {
			for i, j := range e.Feature {
				if e.Bin[i] < 255 { // 255 sends every row left: no test
					counts[j].Tests++
				}
			}
		}
	}
	counts = slices.DeleteFunc(counts, func(c ColumnTests) bool { return c.Tests == 0 })
	slices.SortStableFunc(counts, func(x, y ColumnTests) int { return y.Tests - x.Tests })
	return counts
}
