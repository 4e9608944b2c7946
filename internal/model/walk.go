package model

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// Boosted trees on a single row, which walks down every tree. Trees with the same splits are walked once, as one tree
// whose leaves hold the sums of their weights. The most that a tree can add bounds what all trees after it can: heavy
// trees come first, and once the rest cannot change the sign the walk ends (26 of 200 trees on ten Gaussian classes).
// Sums are exact, so neither the order nor the early end changes a bit.
//
// A tree is a run of bytes: what all later trees can add, and a unit, four bytes each; a heap of splits, counted from
// 1, a byte for the bin and two for the place of the column; a byte for each leaf, with how many units it is worth. So
// a tree of depth 6 takes 261 bytes. The trees of a code do not fit the caches of a core, and reading them is much of
// the time. Trees do not wait for each other, so several are walked at a time.

// walkBit is an ensemble for single rows.
type walkBit struct {
	depth int
	trees []byte // a multiple of walked; the last may add nothing
	total int32  // the greatest sum
}

// mostPlaces is the number of columns in a row of bins whose places splits have room for.
const mostPlaces = 1 << 16

// walked is the number of trees that the kernels walk side by side.
const walked = 6

// newWalk prepares ensembles whose columns are at these places of a row of bins.
func newWalk(fs []*Ensemble, columns, places []uint32) []walkBit {
	bits := make([]walkBit, len(fs))
	for k, f := range fs {
		bits[k] = newWalkBit(f, columns, places)
	}
	return bits
}

func newWalkBit(f *Ensemble, columns, places []uint32) walkBit {
	list, splits, total := inUnits(f, bySplits(f)), Splits(f.Depth), int64(0)
	most := func(t sameSplits) (sum int64) {
		for _, w := range f.Weight[t.first:t.last] {
			sum += int64(w)
		}
		return sum
	}
	for _, t := range list {
		total += most(t)
	}
	slices.SortStableFunc(list, func(a, b sameSplits) int { return cmp.Compare(most(b), most(a)) })
	stride := walkStride(f.Depth)
	b := walkBit{
		depth: f.Depth, trees: make([]byte, (len(list)+walked-1)/walked*walked*stride), total: int32(total),
	}
	for q, t := range list {
		tree, unit := b.trees[q*stride:(q+1)*stride], f.Weight[t.first]
		total -= most(t)
		binary.LittleEndian.PutUint32(tree, uint32(total))
		binary.LittleEndian.PutUint32(tree[4:], uint32(unit))
		for i := range splits {
			split := tree[8+3*i:]
			split[0] = f.Bin[t.first*splits+i]
			if c, used := slices.BinarySearch(columns, f.Feature[t.first*splits+i]); used {
				binary.LittleEndian.PutUint16(split[1:], uint16(places[c]))
			}
		}
		leaves := tree[8+3*splits:]
		for l := range leaves {
			for q := t.first; q < t.last; q++ {
				leaves[l] += uint8(f.Weight[q] / unit * int32(f.leaf(q, l)))
			}
		}
	}
	return b
}

// walkStride returns the bytes of a tree.
func walkStride(depth int) int { return 5 + 4<<depth }

// bit returns 1 iff the score of a row with these bins is not negative: the sum is at least half.
func (b *walkBit) bit(bins []uint64) uint64 {
	half := b.total - b.total/2
	if walk(bins, b, half, half) >= half {
		return 1
	}
	return 0
}

// score returns the score of a row with these bins.
func (b *walkBit) score(bins []uint64) int64 {
	return 2*int64(walk(bins, b, math.MaxInt32, math.MinInt32)) - int64(b.total)
}

// sameSplits is a run of trees of an ensemble, from first up to last, with the same splits. Logistic boosting makes
// such runs: one tree for each binary digit of the leaves.
type sameSplits struct{ first, last int }

// bySplits cuts an ensemble into as few such runs as possible.
func bySplits(f *Ensemble) []sameSplits {
	var list []sameSplits
	n := Splits(f.Depth)
	for q := range f.Trees() {
		if q > 0 && slices.Equal(f.Bin[q*n:(q+1)*n], f.Bin[(q-1)*n:q*n]) &&
			slices.Equal(f.Feature[q*n:(q+1)*n], f.Feature[(q-1)*n:q*n]) {
			list[len(list)-1].last++
			continue
		}
		list = append(list, sameSplits{q, q + 1})
	}
	return list
}

// inUnits cuts runs where the leaves would not be up to 255 times the weight of their first tree.
func inUnits(f *Ensemble, runs []sameSplits) []sameSplits {
	var list []sameSplits
	for _, t := range runs {
		for q, units := t.first, int32(0); q < t.last; q++ {
			w, unit := f.Weight[q], f.Weight[t.first]
			if w%unit != 0 || w/unit > math.MaxUint8-units {
				list = append(list, sameSplits{t.first, q})
				t.first, units, unit = q, 0, w
			}
			units += w / unit
		}
		list = append(list, t)
	}
	return list
}
