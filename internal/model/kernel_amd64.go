//go:build !purego

package model

import "golang.org/x/sys/cpu"

// vector reports whether the kernels are used.
var vector = cpu.X86.HasAVX2 && cpu.X86.HasBMI2

// pairing: there are kernels for pairs of trees, in plain Go at the least.
const pairing = true

//go:noescape
func pairs4Vector(say, right *uint64, splits *uint32, leaves *byte, masks *uint64, n int)

//go:noescape
func mergesVector(dst, from, right *uint64, splits *uint32, n int)

//go:noescape
func sumsAVX2(dst, say *uint64, tables *int32, n int, least int32)

//go:noescape
func totalsAVX2(dst *int32, say *uint64, tables *int32, n int)

//go:noescape
func walkAnyAVX2(bins *uint64, trees *byte, depth, n int, plus, minus int32) int32

// walk4AVX2 and walk6AVX2 are for these depths and n times 6 trees.
//
//go:noescape
func walk4AVX2(bins *uint64, trees *byte, depth, n int, plus, minus int32) int32

//go:noescape
func walk6AVX2(bins *uint64, trees *byte, depth, n int, plus, minus int32) int32

func pairs(say, right []set, splits []uint32, leaves []byte) {
	if !vector || len(say) == 0 {
		pairsGo(say, right, splits, leaves)
		return
	}
	_, _ = splits[len(say)/2*Splits(unit)-1], leaves[len(say)/2<<(unit-1)-1]
	pairs4Vector(&say[0][0], &right[0][0], &splits[0], &leaves[0], &pairMasks[0][0][0][0], len(say)/2)
}

func merges(dst, from, right []set, splits []uint32) {
	if !vector || len(splits) == 0 {
		mergesGo(dst, from, right, splits)
		return
	}
	_, _ = dst[2*len(splits)-1], from[4*len(splits)-1]
	mergesVector(&dst[0][0], &from[0][0], &right[0][0], &splits[0], len(splits))
}

func sums(say [][64]set, tables []table, least int32) (rows set) {
	if !vector {
		return sumsGo(say, tables, least)
	}
	_ = say[len(tables)-1]
	sumsAVX2(&rows[0], &say[0][0][0], &tables[0][0][0], len(tables), least)
	return rows
}

func totals(dst *[block]int32, say [][64]set, tables []table) {
	if !vector {
		totalsGo(dst, say, tables)
		return
	}
	_ = say[len(tables)-1]
	totalsAVX2(&dst[0], &say[0][0][0], &tables[0][0][0], len(tables))
}

func walk(bins []uint64, b *walkBit, plus, minus int32) int32 {
	n := len(b.trees) / walkStride(b.depth)
	switch {
	case !vector:
		return walkGo(bins, b, plus, minus)
	case b.depth == 4:
		return walk4AVX2(&bins[0], &b.trees[0], b.depth, n/walked, plus, minus)
	case b.depth == 6:
		return walk6AVX2(&bins[0], &b.trees[0], b.depth, n/walked, plus, minus)
	}
	return walkAnyAVX2(&bins[0], &b.trees[0], b.depth, n, plus, minus)
}
