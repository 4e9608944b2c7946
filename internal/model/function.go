// Package model holds the result of training: hash functions that turn vectors into codes, and their file format. It
// imports no training code, so programs that only encode do not link any.
package model

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"hashgrove/internal/par"
	"hashgrove/internal/vectors"
)

// Function is one bit of a code as a function of quantised columns. Its score is an exact integer; the bit is 1
// (the paper's +1) iff the score is not negative. Every encoder gives the same bit on every machine.
type Function interface {
	// Check reports a function that cannot be evaluated on vectors of the given dimension.
	Check(dim int) error

	code(c *codec)
}

// Version is the release of Hashgrove recorded in models.
const Version = "0.1.0"

// Limits of a model, which bound what a hostile file can ask for; docs/formats.md lists them.
const (
	MaxDepth = 8       // of a tree
	maxTrees = 1 << 16 // of one bit
	maxDim   = 1 << 24 // of a vector
)

// Ensemble is a hash function made of boosted decision trees (Lin et al., CVPR 2014, eq:btree):
//
//	h(x) = sign(sum over q of w_q T_q(x)),   T_q(x) in {-1, +1}.
//
// All trees are complete and of one depth D: tree q has splits q*(2^D-1) on, in heap order (the children of node
// i are 2i+1, left, and 2i+2, right). A row goes left iff its bin in the column is at most the node's bin; a node
// with bin 255 sends every row left. Leaf l, counted from the left, is bit l of the tree's leaf words.
type Ensemble struct {
	Depth   int
	Feature []uint32 // column tested by each split
	Bin     []uint8  // left iff bin(x[Feature]) <= Bin
	Leaf    []uint64 // LeafWords words per tree; bit l is 1 where leaf l says +1; bits beyond the leaves are 0
	Weight  []int32  // w_q, scaled; positive, and their sum is below 2^31
}

// Splits returns the number of splits of a complete tree of the given depth.
func Splits(depth int) int { return 1<<depth - 1 }

// LeafWords returns the number of words that hold the leaf signs of a tree of the given depth.
func LeafWords(depth int) int { return max(1, 1<<depth/64) }

// Trees returns the number of trees.
func (e *Ensemble) Trees() int { return len(e.Weight) }

// Check implements Function.
func (e *Ensemble) Check(dim int) error {
	if e.Depth < 1 || e.Depth > MaxDepth {
		return fmt.Errorf("trees of depth %d, outside of 1 to %d", e.Depth, MaxDepth)
	}
	n, splits := e.Trees(), Splits(e.Depth)
	if n == 0 || n > maxTrees || len(e.Feature) != n*splits || len(e.Bin) != n*splits ||
		len(e.Leaf) != n*LeafWords(e.Depth) {
		return fmt.Errorf("%d trees of depth %d with %d columns, %d bins and %d leaf words",
			n, e.Depth, len(e.Feature), len(e.Bin), len(e.Leaf))
	}
	for i, f := range e.Feature {
		if int64(f) >= int64(dim) {
			return fmt.Errorf("tree %d tests column %d of vectors with %d", i/splits, f, dim)
		}
	}
	if e.Depth < 6 {
		for q, leaves := range e.Leaf {
			if leaves>>(1<<e.Depth) != 0 {
				return fmt.Errorf("tree %d of depth %d has the leaf signs %#x, more than it has leaves", q, e.Depth, leaves)
			}
		}
	}
	sum := int64(0)
	for q, w := range e.Weight {
		if w <= 0 {
			return fmt.Errorf("tree %d has weight %d", q, w)
		}
		sum += int64(w)
	}
	if sum > math.MaxInt32 {
		return fmt.Errorf("tree weights sum to %d, over %d", sum, math.MaxInt32)
	}
	return nil
}

// Linear is a hash function that is a hyperplane over the bins (0..255) of all columns:
//
//	score(x) = Bias + sum over j of Weight[j] * bin_j(x).
type Linear struct {
	Weight []int32
	Bias   int64
}

// Check implements Function.
func (l *Linear) Check(dim int) error {
	if len(l.Weight) != dim {
		return fmt.Errorf("hyperplane of %d weights for vectors of %d dimensions", len(l.Weight), dim)
	}
	// The score stays within 2^62, so no partial sum can overflow.
	bound := uint64(max(l.Bias, -l.Bias)) // 2^63 at most, even if the negative of the least number overflows
	for _, w := range l.Weight {
		bound += uint64(max(int64(w), -int64(w))) * (vectors.Bins - 1) // below 2^63 for all weights
	}
	if bound > 1<<62 {
		return fmt.Errorf("hyperplane with bias %d whose score can pass 2^62", l.Bias)
	}
	return nil
}

// Outputs writes h(x), +1 or -1, for every row of the columns: the bit as training sees it. The function must fit the
// columns.
func Outputs(ctx context.Context, f Function, x *vectors.Columns, threads int, dst []int8) error {
	if len(dst) != x.Rows {
		panic("model: Outputs for another number of rows")
	}
	if err := f.Check(x.Dim()); err != nil {
		return err
	}
	if l, ok := f.(*Linear); ok {
		return par.Blocks(ctx, threads, x.Rows, 1024, func(_, lo, hi int) {
			scores := slices.Repeat([]int64{l.Bias}, hi-lo)
			for j, w := range l.Weight {
				for r, b := range x.Column(j)[lo:hi] {
					scores[r] += int64(w) * int64(b)
				}
			}
			for r, s := range scores {
				dst[lo+r] = 1 + 2*int8(s>>63)
			}
		})
	}
	fs := []*Ensemble{f.(*Ensemble)}
	columns := columnsOf(fs)
	places := make([]uint32, len(columns))
	for c := range places {
		places[c] = uint32(c)
	}
	p := newPlan(fs, columns, places)
	return par.Blocks(ctx, threads, x.Rows, block, func(_, lo, hi int) {
		s := p.scratch.Get().(*scratch)
		defer p.scratch.Put(s)
		var bins [8][block]uint8
		for w := range s.planes {
			for c, j := range columns[8*w : min(8*w+8, len(columns))] {
				copy(bins[c][:], x.Column(int(j))[lo:hi])
			}
			gather(&s.planes[w], &bins)
			transpose(&s.planes[w])
		}
		var code [64]set
		p.encode(0, s, &code)
		for r := range dst[lo:hi] {
			dst[lo+r] = int8(code[r%64][r/64]>>63)*2 - 1
		}
	})
}

// gather puts the bins of each row, one from each of eight columns, into a word. It transposes 8 x 8 bytes at a time,
// as transposeGo does with bits.
func gather(dst *[64]set, bins *[8][block]uint8) {
	for r := 0; r < block; r += 8 {
		var a [8]uint64
		for c := range a {
			a[c] = binary.LittleEndian.Uint64(bins[c][r:])
		}
		for k, mask := range [3]uint64{0x00000000ffffffff, 0x0000ffff0000ffff, 0x00ff00ff00ff00ff} {
			apart := 4 >> k
			for i := range a {
				if i&apart == 0 {
					t := (a[i]>>(8*apart) ^ a[i+apart]) & mask
					a[i] ^= t << (8 * apart)
					a[i+apart] ^= t
				}
			}
		}
		for i, word := range a {
			dst[r%64+i][r/64] = word
		}
	}
}
