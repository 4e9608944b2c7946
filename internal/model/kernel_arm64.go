//go:build !purego

package model

// vector reports whether the kernels are used, which need NEON, as every such processor has; tests compare them with
// plain Go.
var vector = true

// pairing: trees one by one by NEON are faster than pairs in plain Go.
const pairing = false

func pairs(say, right []set, splits []uint32, leaves []byte) { pairsGo(say, right, splits, leaves) }

func merges(dst, from, right []set, splits []uint32) { mergesGo(dst, from, right, splits) }

// addTotalsNEON is totalsGo, but adds.
//
//go:noescape
func addTotalsNEON(dst *int32, say *uint64, tables *int32, n int)

// atLeastNEON writes the rows, in the order of totalPlace, whose totals are at least the least.
//
//go:noescape
func atLeastNEON(dst *uint64, totals *int32, least int32)

// walkSix is walkGo for n times 6 trees of any depth; it has no vectors.
//
//go:noescape
func walkSix(bins *uint64, trees *byte, depth, n int, plus, minus int32) int32

func sums(say [][64]set, tables []table, least int32) (rows set) {
	if !vector {
		return sumsGo(say, tables, least)
	}
	var all [block]int32
	_ = say[len(tables)-1]
	addTotalsNEON(&all[0], &say[0][0][0], &tables[0][0][0], len(tables))
	atLeastNEON(&rows[0], &all[0], least)
	return rows
}

func totals(dst *[block]int32, say [][64]set, tables []table) {
	if !vector {
		totalsGo(dst, say, tables)
		return
	}
	clear(dst[:])
	_ = say[len(tables)-1]
	addTotalsNEON(&dst[0], &say[0][0][0], &tables[0][0][0], len(tables))
}

func walk(bins []uint64, b *walkBit, plus, minus int32) int32 {
	n := len(b.trees) / walkStride(b.depth)
	if !vector || n == 0 {
		return walkGo(bins, b, plus, minus)
	}
	return walkSix(&bins[0], &b.trees[0], b.depth, n/walked, plus, minus)
}
