package model

import (
	"cmp"
	"slices"
)

// walkBit is an ensemble for single rows. A row walks down every tree. Heavy trees come first: once those that say +1,
// or the others, have more than half of the weight, the rest is not looked at (26 of 200 trees on ten Gaussian
// classes). Sums are exact, so neither the order nor the early end changes a bit.
//
// A tree of depth 4 is one cache line: 15 splits, and its leaves in the word that a heap counted from 1 leaves free.
// Trees do not wait for each other, so several are under way at a time: 33 microseconds for all of 64 bits x 200
// trees, of random leaves, which end late (one core of an AMD EPYC).
type walkBit struct {
	depth, stride, leaves int // of a tree, see walkGo
	trees                 []uint32
	weight                []int32
	plus, minus           int64 // weights that decide
}

// newWalk makes ensembles ready whose columns are at places of a row of bins.
func newWalk(fs []*Ensemble, columns, places []uint32) []walkBit {
	bits := make([]walkBit, len(fs))
	for k, f := range fs {
		bits[k] = newWalkBit(f, columns, places)
	}
	return bits
}

func newWalkBit(f *Ensemble, columns, places []uint32) walkBit {
	n, splits := f.Trees(), Splits(f.Depth)
	b := walkBit{depth: f.Depth, stride: 1 << f.Depth}
	if words := 1 << f.Depth / 32; words > 0 { // leaf 2^depth, the first, is in word leaves + words
		b.leaves = b.stride - words
		b.stride += words
	}
	order := make([]int, n)
	for q := range order {
		order[q] = q
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(f.Weight[b], f.Weight[a]) })
	b.trees = make([]uint32, n*b.stride)
	total := int64(0)
	for t, q := range order {
		tree := b.trees[t*b.stride : (t+1)*b.stride]
		for i := range splits {
			c, used := slices.BinarySearch(columns, f.Feature[q*splits+i])
			tree[1+i] = uint32(f.Bin[q*splits+i])
			if used {
				tree[1+i] |= places[c] << 8
			}
		}
		for l := range 1 << f.Depth {
			i := 1<<f.Depth + l
			tree[b.leaves+i/32] |= uint32(f.leaf(q, l)) << (i % 32)
		}
		b.weight = append(b.weight, f.Weight[q])
		total += int64(f.Weight[q])
	}
	b.plus = (total + 1) / 2
	b.minus = total - b.plus + 1
	return b
}

// bit is 1 iff the score of a row with these bins is not negative.
func (b *walkBit) bit(bins []uint64) uint64 {
	if walk(bins, b.trees, b.weight, b.depth, b.stride, b.leaves, b.plus, b.minus) {
		return 1
	}
	return 0
}
