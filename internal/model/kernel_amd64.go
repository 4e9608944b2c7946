//go:build !purego

package model

import "golang.org/x/sys/cpu"

//go:generate go -C ../../x/kernels run ./model -out ../../internal/model/kernel_amd64.s -stubs ../../internal/model/stubs_amd64.go -pkg model

// avx2 reports whether the kernels are used.
var avx2 = cpu.X86.HasAVX2 && cpu.X86.HasBMI2

func finite(x []float32) bool {
	const step = 32
	n := len(x)
	if !avx2 || n < step {
		return finiteGo(x)
	}
	return finiteAVX2(&x[0], n&^(step-1)) && finiteAVX2(&x[n-step], step)
}

func quantize(dst []uint64, x []float32, windows []window) {
	if !avx2 || len(windows) == 0 {
		quantizeGo(dst, x, windows)
		return
	}
	_, _ = dst[len(windows)-1], x[windows[len(windows)-1].at+7] // the last is the rightmost
	quantizeAVX2(&dst[0], &x[0], &windows[0].lo[0], len(windows))
}

func quantize4(dst [][64]set, i int, x *[4][]float32, windows []window) {
	if !avx2 || len(windows) == 0 {
		quantize4Go(dst, i, x, windows)
		return
	}
	_ = dst[len(windows)-1]
	for _, row := range x {
		_ = row[windows[len(windows)-1].at+7]
	}
	quantize4AVX2(&dst[0][i][0], &x[0][0], &x[1][0], &x[2][0], &x[3][0], &windows[0].lo[0], len(windows))
}

func transpose(a *[64]set) {
	if avx2 {
		transposeAVX2(&a[0][0])
		return
	}
	transposeGo(a)
}

func ladders(dst []ladder, planes [][64]set, places []uint32) {
	if !avx2 || len(places) == 0 {
		laddersGo(dst, planes, places)
		return
	}
	_ = dst[len(places)-1]
	laddersAVX2(&dst[0][0][0], &planes[0][0][0], &places[0], len(places))
}

func tests(right []set, l []ladder, t []test) {
	if !avx2 || len(t) == 0 {
		testsGo(right, l, t)
		return
	}
	_ = right[len(t)-1]
	testsAVX2(&right[0][0], &l[0][0][0], &t[0].low, len(t))
}

func trees(depth int, say, right []set, splits, invert []uint32) {
	if !avx2 || len(say) == 0 || depth%2 == 1 {
		treesGo(depth, say, right, splits, invert)
		return
	}
	_, _ = splits[len(say)*Splits(depth)-1], invert[len(say)<<(depth-1)-1]
	if depth == 2 {
		trees2AVX2(&say[0][0], &right[0][0], &splits[0], &invert[0], len(say))
	} else {
		trees4AVX2(&say[0][0], &right[0][0], &splits[0], &invert[0], len(say))
	}
}

func sums(say [][64]set, tables []table, least int32) (rows set) {
	if !avx2 {
		return sumsGo(say, tables, least)
	}
	_ = say[len(tables)-1]
	sumsAVX2(&rows[0], &say[0][0][0], &tables[0][0][0], len(tables), least)
	return rows
}

func totals(dst *[block]int32, say [][64]set, tables []table) {
	if !avx2 {
		totalsGo(dst, say, tables)
		return
	}
	_ = say[len(tables)-1]
	totalsAVX2(&dst[0], &say[0][0][0], &tables[0][0][0], len(tables))
}

func walk(bins []uint64, b *walkBit, plus, minus int32) int32 {
	n := len(b.trees) >> (b.depth + 1)
	switch {
	case !avx2:
		return walkGo(bins, b, plus, minus)
	case b.narrow && b.depth == 4:
		return walk4AVX2(&bins[0], &b.trees[0], b.depth, n/walked, plus, minus)
	case b.narrow && b.depth == 6:
		return walk6AVX2(&bins[0], &b.trees[0], b.depth, n/walked, plus, minus)
	}
	return walkAnyAVX2(&bins[0], &b.trees[0], b.depth, n, plus, minus)
}
