package export

import (
	"math"

	"hashgrove/internal/model"
)

// forest holds the attributes of a TreeEnsemble: nodes and leaves of all trees in flat lists. A branch leads to a
// node, or to a leaf if the flag beside it is set.
type forest struct {
	roots                 []int64
	split                 []float64
	feature               []int64
	trueAt, falseAt       []int64
	trueIsLeaf, falseLeaf []int64
	target                []int64
	weight                []float64
}

// greaterOrEqual is the mode of all nodes: true, which means right, iff x >= split.
const greaterOrEqual = 2

// trees adds the scores of all bits.
func (g *graph) trees(double string, b *model.Binned) string {
	var f forest
	for k, function := range b.Functions {
		e := function.(*model.Ensemble) // Binned has one type, and it is not hyperplanes
		for q := range e.Trees() {
			f.roots = append(f.roots, int64(len(f.split)))
			f.grow(b, e, q, 0, k)
		}
	}
	modes := make([]byte, len(f.split))
	for i := range modes {
		modes[i] = greaterOrEqual
	}
	n := int64(len(f.split))
	return g.add("TreeEnsemble", "", []string{double},
		numberAttribute("n_targets", int64(len(b.Functions))),
		numberAttribute("aggregate_function", 1), // sum
		numberAttribute("post_transform", 0),
		numbersAttribute("tree_roots", f.roots),
		tensorAttribute("nodes_modes", tensor(uint8Type, []int64{n}, modes)),
		tensorAttribute("nodes_splits", doubleTensor(f.split, n)),
		numbersAttribute("nodes_featureids", f.feature),
		numbersAttribute("nodes_truenodeids", f.trueAt),
		numbersAttribute("nodes_falsenodeids", f.falseAt),
		numbersAttribute("nodes_trueleafs", f.trueIsLeaf),
		numbersAttribute("nodes_falseleafs", f.falseLeaf),
		numbersAttribute("leaf_targetids", f.target),
		tensorAttribute("leaf_weights", doubleTensor(f.weight, int64(len(f.weight)))),
	)
}

// grow adds a node of tree q of bit k and everything below it.
func (f *forest) grow(b *model.Binned, e *model.Ensemble, q, node, k int) {
	at, splits := len(f.split), model.Splits(e.Depth)
	split := q*splits + node
	f.split = append(f.split, float64(edgeOf(b, int(e.Feature[split]), e.Bin[split])))
	f.feature = append(f.feature, int64(e.Feature[split]))
	f.trueAt, f.falseAt = append(f.trueAt, 0), append(f.falseAt, 0)
	f.trueIsLeaf, f.falseLeaf = append(f.trueIsLeaf, 0), append(f.falseLeaf, 0)
	for right, child := range []int{2*node + 1, 2*node + 2} {
		to, isLeaf := int64(len(f.split)), int64(0)
		if child >= splits {
			to, isLeaf = int64(len(f.weight)), 1
			f.leaf(e, q, child-splits, k)
		} else {
			f.grow(b, e, q, child, k)
		}
		if right == 1 {
			f.trueAt[at], f.trueIsLeaf[at] = to, isLeaf
		} else {
			f.falseAt[at], f.falseLeaf[at] = to, isLeaf
		}
	}
}

// leaf adds a leaf, which votes for or against the bit with the weight of its tree.
func (f *forest) leaf(e *model.Ensemble, q, leaf, k int) {
	w := float64(e.Weight[q])
	if e.Leaf[q*model.LeafWords(e.Depth)+leaf>>6]>>(leaf&63)&1 == 0 {
		w = -w
	}
	f.target, f.weight = append(f.target, int64(k)), append(f.weight, w)
}

// edgeOf returns the least value that goes right at a split.
func edgeOf(b *model.Binned, column int, bin uint8) float32 {
	if bin == math.MaxUint8 {
		return float32(math.Inf(1))
	}
	return b.Quantizer.Scale(column).Edge(bin)
}
