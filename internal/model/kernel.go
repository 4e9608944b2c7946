package model

import (
	"encoding/binary"
	"math"
)

// The kernels in plain Go, which define what they compute. plan.go, layout.go and walk.go explain their use. An
// architecture may provide faster ones, under the same names without "Go": amd64 does, with AVX2, and arm64, with NEON.
// Trees have kernels for the depths of the default settings: 2 and 4 for blocks, 4 and 6 for single rows.

// block is the number of rows encoded together: the bits of an AVX2 register, or of two NEON registers.
const block = 256

// set is a set of rows of a block: row r is bit r%64 of word r/64.
type set [block / 64]uint64

// merge takes l where m is 0 and r where m is 1.
func merge(l, r, m *set) set {
	return set{l[0] ^ m[0]&(l[0]^r[0]), l[1] ^ m[1]&(l[1]^r[1]), l[2] ^ m[2]&(l[2]^r[2]), l[3] ^ m[3]&(l[3]^r[3])}
}

// finiteGo reports whether there is no NaN and no infinity.
func finiteGo(x []float32) bool {
	const exponent = 0x7f800000
	for _, v := range x {
		if math.Float32bits(v)&exponent == exponent {
			return false
		}
	}
	return true
}

// window is eight neighbouring columns, starting at at, and how they are quantised.
type window struct {
	lo, perUnit [8]float64
	at          int
}

// bins returns the bins of a row in the window, as in vectors.Scale.Bin: that of column at+i in byte i, from the
// lowest.
func (w *window) bins(x []float32) uint64 {
	word := uint64(0)
	for i, v := range x[w.at : w.at+8] {
		t := float64((float64(v)-w.lo[i])*w.perUnit[i]) + 0.5
		if t >= 255 {
			word |= 255 << (8 * i)
		} else if t >= 1 {
			word |= uint64(t) << (8 * i)
		}
	}
	return word
}

// quantizeGo writes the bins of a row in each window.
func quantizeGo(dst []uint64, x []float32, windows []window) {
	for w := range windows {
		dst[w] = windows[w].bins(x)
	}
}

// quantize4Go writes the bins of the four rows i, 64+i, 128+i and 192+i of a block.
func quantize4Go(dst [][64]set, i int, x *[4][]float32, windows []window) {
	for w := range windows {
		for l, row := range x {
			dst[w][i][l] = windows[w].bins(row)
		}
	}
}

// transposeGo exchanges rows and columns of four 64 x 64 matrices of bits, one per word of a set: bit j of word i and
// bit i of word j. At each step the off-diagonal quarters of every square of a matrix change places.
func transposeGo(a *[64]set) {
	mask := uint64(1<<32 - 1)
	for size := 32; size > 0; {
		for i := 0; i < 64; i = (i + size + 1) &^ size {
			for l := range a[i] {
				t := (a[i][l]>>size ^ a[i+size][l]) & mask
				a[i][l] ^= t << size
				a[i+size][l] ^= t
			}
		}
		size /= 2
		mask ^= mask << size
	}
}

// ladder holds everything a block needs to know of a column: for both hexadecimal digits of the bin, the rows whose
// digit is above v. Rung 1+v is that of the high digit, from all rows (v = -1) to none (v = 15); rung 31-v that of the
// low one.
type ladder [32]set

// laddersGo makes the ladders of the columns at some places: bit i of the bin of place 8 w + c is plane 8 c + i of
// window w.
func laddersGo(dst []ladder, planes [][64]set, places []uint32) {
	for c, at := range places {
		for l := range dst[c][0] {
			var above [2][16]uint64
			for digit := range above {
				// Take v's bits from the lowest up: a 1 keeps the rows that also have it, a 0 adds the rows that have a
				// 1.
				gt := above[digit][:1]
				for _, p := range planes[at/8][at%8*8+4*uint32(digit):][:4] {
					for _, g := range gt {
						gt = append(gt, g&p[l])
					}
					for v := range len(gt) / 2 {
						gt[v] |= p[l]
					}
				}
			}
			for v := range 16 {
				dst[c][1+v][l], dst[c][31-v][l] = above[1][v], above[0][v]
			}
			dst[c][0][l] = math.MaxUint64
		}
	}
}

// test is a comparison with a bin: 4 times the rungs of its digits, low and high, counted from the first of some
// ladders.
type test struct{ low, high uint16 }

// testsGo writes the rows that each test sends right: those whose high digit is above the test's, or is not below it
// while the low digit is above.
func testsGo(right []set, l []ladder, t []test) {
	for i := range t {
		low, high := t[i].low/4, t[i].high/4
		a, b, c := &l[low/32][low%32], &l[high/32][high%32], &l[high/32][high%32+1]
		right[i] = set{a[0]&b[0] | c[0], a[1]&b[1] | c[1], a[2]&b[2] | c[2], a[3]&b[3] | c[3]}
	}
}

// unit is the largest depth of a tree that the kernel takes.
const unit = 4

// treesGo writes, for trees of depth at most unit, the rows for which each says +1. Splits are 4 times the test, in
// heap order; invert, one for each of the lowest splits, is all ones if its left leaf says +1 and the right one -1.
func treesGo(depth int, say, right []set, splits, invert []uint32) {
	var v [1 << (unit - 1)]set
	half := 1 << (depth - 1)
	for q := range say {
		tree, low := splits[q*(2*half-1):(q+1)*(2*half-1)], invert[q*half:(q+1)*half]
		for i, s := range tree[half-1:] {
			x, r := uint64(int32(low[i])), &right[s/4]
			v[i] = set{r[0] ^ x, r[1] ^ x, r[2] ^ x, r[3] ^ x}
		}
		for n := half / 2; n > 0; n /= 2 {
			for i, s := range tree[n-1 : 2*n-1] {
				v[i] = merge(&v[2*i], &v[2*i+1], &right[s/4])
			}
		}
		say[q] = v[0]
	}
}

// pairsGo writes, for pairs of trees of depth unit with the same splits, the rows for which each says +1: first the
// one, then the other. A leaf is 16 times the number of its masks in pairMasks.
func pairsGo(say, right []set, splits []uint32, leaves []byte) {
	const half = 1 << (unit - 1)
	var v [half][2]set
	for q := range len(say) / 2 {
		tree, low := splits[q*(2*half-1):(q+1)*(2*half-1)], leaves[q*half:(q+1)*half]
		for i, s := range tree[half-1:] {
			for t := range 2 {
				m := pairMasks[low[i]/16][t]
				for l, r := range right[s/4] {
					v[i][t][l] = r&m[0][l] ^ m[1][l]
				}
			}
		}
		for n := half / 2; n > 0; n /= 2 {
			for i, s := range tree[n-1 : 2*n-1] {
				for t := range 2 {
					v[i][t] = merge(&v[2*i][t], &v[2*i+1][t], &right[s/4])
				}
			}
		}
		copy(say[2*q:], v[0][:])
	}
}

// pairMasks holds, for a lowest split and either tree of a pair, the mask of the rows that go right, and what inverts
// them: by the leaves left and right of the first tree and of the second, from the highest bit of the index.
var pairMasks = func() (masks [16][2][2]set) {
	for c := range masks {
		for t := range masks[c] {
			left, right := -uint64(c>>(3-2*t)&1), -uint64(c>>(2-2*t)&1)
			for l := range block / 64 {
				masks[c][t][0][l], masks[c][t][1][l] = left^right, left
			}
		}
	}
	return masks
}()

// mergesGo joins the children of splits above those of pairsGo: 4 n sets become 2 n.
func mergesGo(dst, from, right []set, splits []uint32) {
	for i, s := range splits {
		for t := range 2 {
			dst[2*i+t] = merge(&from[4*i+t], &from[4*i+2+t], &right[s/4])
		}
	}
}

// fold is the number of trees whose weights are looked up together. Half a word holds foldsPerHalf such folds.
const (
	fold         = 3
	foldsPerHalf = 10
)

// table holds, for the trees of one word, the sum of the weights for every choice of the trees of a fold.
type table [2 * foldsPerHalf][1 << fold]int32

// sumsGo returns the rows for which the weights of the trees that say +1 add up to at least the least. Word l of
// say[g][i] is the output of the trees of table g for row 64 l + i.
func sumsGo(say [][64]set, tables []table, least int32) set {
	var rows set
	for i := range 64 {
		for l := range rows {
			if sumOf(say, tables, i, l) >= least {
				rows[l] |= 1 << i
			}
		}
	}
	return rows
}

// sumOf returns the weight of the trees that say +1 for row 64 l + i.
func sumOf(say [][64]set, tables []table, i, l int) int32 {
	sum := int32(0)
	for g := range tables {
		word := say[g][i][l]
		for f := range foldsPerHalf {
			sum += tables[g][f][word>>(fold*f)%(1<<fold)]
			sum += tables[g][foldsPerHalf+f][word>>(32+fold*f)%(1<<fold)]
		}
	}
	return sum
}

// totalsGo writes the weights themselves: that of row 64 l + i at totalPlace(i, l).
func totalsGo(dst *[block]int32, say [][64]set, tables []table) {
	for i := range 64 {
		for l := range block / 64 {
			dst[totalPlace(i, l)] = sumOf(say, tables, i, l)
		}
	}
}

// totalPlace returns the place of row 64 l + i among the sums: two rows i fill a register of eight.
func totalPlace(i, l int) int { return i/2*8 + l/2*4 + i%2*2 + l%2 }

// walkGo returns the sum of the leaves that a row reaches. It may end early if the sum is at least plus, or is sure to
// stay below minus.
func walkGo(bins []uint64, b *walkBit, plus, minus int32) int32 {
	sum := int32(0)
	for tree := b.trees; len(tree) > 0; tree = tree[walkStride(b.depth):] {
		i := uint32(1)
		for range b.depth {
			split := tree[5+3*i:]
			place := binary.LittleEndian.Uint16(split[1:])
			i = 2*i + (uint32(split[0])-uint32(bins[place/8]>>(place%8*8)&255))>>31
		}
		sum += int32(tree[5+2<<b.depth+i]) * int32(binary.LittleEndian.Uint32(tree[4:]))
		if sum >= plus || sum+int32(binary.LittleEndian.Uint32(tree)) < minus {
			break
		}
	}
	return sum
}
