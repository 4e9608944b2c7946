package boost

import (
	"math/bits"

	"hashgrove/internal/vectors"
)

// Outputs of trees for all training rows, including trimmed ones: one bit per row.

// answersOf returns the memory for the output of the q-th kept tree, possibly in a file.
func (t *cores) answersOf(q int) ([]uint64, error) {
	if q == len(t.said) {
		said, err := vectors.Alloc[uint64](t.x.Spill(), len(t.z))
		if err != nil {
			return nil, err
		}
		t.said = append(t.said, said)
	}
	return t.said[q], nil
}

// isConstant reports whether z has one value for all rows.
func (t *Trainer) isConstant() bool {
	ones := 0
	for _, w := range t.z {
		ones += bits.OnesCount64(w)
	}
	return ones == 0 || ones == t.n
}

// setPaths looks up the columns that the tree tests.
func (t *cores) setPaths() {
	for i, f := range t.tree.feature {
		t.paths[i] = t.x.Column(int(f))
	}
}

// leafOf returns the leaf that a row reaches, given the columns and bins that the tree tests.
func leafOf(row int, columns [][]uint8, bins []uint8) int {
	at := 0
	for at < len(bins) {
		right := 0
		if columns[at][row] > bins[at] {
			right = 1
		}
		at = 2*at + 1 + right
	}
	return at - len(bins)
}

// predict writes the tree's output for every row. It returns the total weight of the rows it gets right, and of the
// others.
func (t *cores) predict(said []uint64) (vRight, vWrong float64) {
	leaves := t.tree.leaf
	t.setPaths()
	t.team.Blocks(t.n, predictBlock, func(b, lo, hi int) {
		sum := [2]float64{}
		for ; lo < hi; lo += 64 {
			last := min(lo+64, hi)
			answer := uint64(0)
			for i := lo; i < last; i++ {
				leaf := leafOf(i, t.paths, t.tree.bin)
				answer |= leaves[leaf/64] >> (leaf % 64) & 1 << (i - lo)
			}
			said[lo/64] = answer
			correct := ^(answer ^ t.z[lo/64])
			for i := lo; i < last; i++ {
				sum[correct&1] += t.u[i]
				correct >>= 1
			}
		}
		t.vs[b] = sum
	})
	for _, s := range t.vs {
		vWrong += s[0]
		vRight += s[1]
	}
	return vRight, vWrong
}

// vote writes the output of the whole ensemble, by the integer rule of model.Function.
func (t *cores) vote(weight []int32, output []int8) {
	total := int64(0)
	for _, w := range weight {
		total += int64(w)
	}
	t.team.Blocks(t.n, predictBlock, func(_, lo, hi int) {
		for ; lo < hi; lo += 64 {
			var yes [64]int32 // the weight of the trees that say +1
			for q, w := range weight {
				for i, said := 0, t.said[q][lo/64]; said != 0; said >>= 1 {
					yes[i%64] += w & -int32(said&1)
					i++
				}
			}
			out := output[lo:min(lo+64, hi)]
			for i := range out {
				out[i] = -1
				if 2*int64(yes[i])-total >= 0 {
					out[i] = 1
				}
			}
		}
	})
}

// countWrong returns the share of training rows where the output differs from z.
func (t *Trainer) countWrong() float64 {
	wrong := 0
	for r := range t.output {
		if !t.isRight(r) {
			wrong++
		}
	}
	return float64(wrong) / float64(t.n)
}

// isRight reports whether the output of a row equals its z.
func (t *Trainer) isRight(row int) bool { return t.output[row] > 0 == (t.z[row/64]>>(row%64)&1 == 1) }
