package boost

import "math/bits"

// Outputs of trees for all training rows, including trimmed ones: one bit per row.

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
func (t *cores) predict() (vRight, vWrong float64) {
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
			t.said[lo/64] = answer
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
