//go:build !purego

package model

// The kernels of arm64 use NEON, which every such processor has. They are checked under emulation, not timed on
// hardware. A set of rows is two registers here.

// neon reports whether the kernels are used; tests compare them with plain Go.
var neon = true

func finite(x []float32) bool {
	const step = 16
	n := len(x)
	if !neon || n < step {
		return finiteGo(x)
	}
	return finiteNEON(&x[0], n&^(step-1)) && finiteNEON(&x[n-step], step)
}

func quantize(dst []uint64, x []float32, windows []window) {
	if !neon || len(windows) == 0 {
		quantizeGo(dst, x, windows)
		return
	}
	_, _ = dst[len(windows)-1], x[windows[len(windows)-1].at+7] // the last is the rightmost
	quantizeNEON(&dst[0], &x[0], &windows[0].lo[0], len(windows))
}

func quantize4(dst [][64]set, i int, x *[4][]float32, windows []window) {
	if !neon || len(windows) == 0 {
		quantize4Go(dst, i, x, windows)
		return
	}
	_ = dst[len(windows)-1]
	for _, row := range x {
		_ = row[windows[len(windows)-1].at+7]
	}
	quantize4NEON(&dst[0][i][0], &x[0][0], &x[1][0], &x[2][0], &x[3][0], &windows[0].lo[0], len(windows))
}

func transpose(a *[64]set) {
	if neon {
		transposeNEON(&a[0][0])
		return
	}
	transposeGo(a)
}

func ladders(dst []ladder, planes [][64]set, places []uint32) {
	if !neon || len(places) == 0 {
		laddersGo(dst, planes, places)
		return
	}
	_ = dst[len(places)-1]
	laddersNEON(&dst[0][0][0], &planes[0][0][0], &places[0], len(places))
}

func tests(right []set, l []ladder, t []test) {
	if !neon || len(t) == 0 {
		testsGo(right, l, t)
		return
	}
	_ = right[len(t)-1]
	testsNEON(&right[0][0], &l[0][0][0], &t[0].low, len(t))
}

func trees(depth int, say, right []set, splits, invert []uint32) {
	if !neon || len(say) == 0 || depth%2 == 1 {
		treesGo(depth, say, right, splits, invert)
		return
	}
	_, _ = splits[len(say)*Splits(depth)-1], invert[len(say)<<(depth-1)-1]
	if depth == 2 {
		trees2NEON(&say[0][0], &right[0][0], &splits[0], &invert[0], len(say))
	} else {
		trees4NEON(&say[0][0], &right[0][0], &splits[0], &invert[0], len(say))
	}
}

func sums(say [][64]set, tables []table, least int32) (rows set) {
	if !neon {
		return sumsGo(say, tables, least)
	}
	var all [block]int32
	_ = say[len(tables)-1]
	addTotalsNEON(&all[0], &say[0][0][0], &tables[0][0][0], len(tables))
	atLeastNEON(&rows[0], &all[0], least)
	return rows
}

func totals(dst *[block]int32, say [][64]set, tables []table) {
	if !neon {
		totalsGo(dst, say, tables)
		return
	}
	clear(dst[:])
	_ = say[len(tables)-1]
	addTotalsNEON(&dst[0], &say[0][0][0], &tables[0][0][0], len(tables))
}

func walk(bins []uint64, b *walkBit, plus, minus int32) int32 {
	n := len(b.trees) >> (b.depth + 1)
	if !neon || n == 0 {
		return walkGo(bins, b, plus, minus)
	}
	return walkSix(&bins[0], &b.trees[0], b.depth, n/walked, plus, minus)
}
