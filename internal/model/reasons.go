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

// split is a test of trees.
type split struct {
	feature uint32
	bin     uint8
}

// descend returns the nodes on a vector's way down a tree, the leaf last, and the weight of the tree with the sign of
// its vote.
func descend(m *Binned, e *Ensemble, tree int, x []float32) (nodes []int, vote int64) {
	splits, node := Splits(e.Depth), 0
	for range e.Depth {
		nodes = append(nodes, node)
		at := tree*splits + node
		j := int(e.Feature[at])
		node = 2*node + 1
		if m.Quantizer.Scale(j).Bin(x[j]) > e.Bin[at] {
			node++
		}
	}
	vote = int64(e.Weight[tree])
	if e.leaf(tree, node-splits) == 0 {
		vote = -vote
	}
	return append(nodes, node), vote
}

func treeReasons(m *Binned, e *Ensemble, a, b []float32) []Reason {
	positive := [2]bool{score(m, e, a) >= 0, score(m, e, b) >= 0}
	weight := map[split]int64{}
	for q := range e.Trees() {
		nodes, voteA := descend(m, e, q, a)
		other, voteB := descend(m, e, q, b)
		if voteA > 0 != positive[0] || voteB > 0 != positive[1] {
			continue
		}
		common := 0 // up to the node where the ways part, or the leaf
		for common < e.Depth && nodes[common+1] == other[common+1] {
			common++
		}
		if positive[0] != positive[1] {
			nodes = nodes[common : common+1]
		} else { // where they part is no reason to agree
			nodes = nodes[:common]
		}
		for _, node := range nodes {
			at := q*Splits(e.Depth) + node
			if e.Bin[at] < noTest {
				weight[split{e.Feature[at], e.Bin[at]}] += int64(e.Weight[q])
			}
		}
	}
	var reasons []Reason
	for s, w := range weight {
		j := int(s.feature)
		edge := m.Quantizer.Scale(j).Edge(s.bin) // -Inf for the bin of missing values, which JSON cannot express
		edge = max(-math.MaxFloat32, min(edge, math.MaxFloat32))
		reasons = append(reasons, Reason{Feature: j, Threshold: edge, A: a[j], B: b[j], Weight: w})
	}
	return reasons
}

// score returns the score of trees.
func score(m *Binned, e *Ensemble, x []float32) (sum int64) {
	for q := range e.Trees() {
		_, vote := descend(m, e, q, x)
		sum += vote
	}
	return sum
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
		return score(m, f, x)
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
