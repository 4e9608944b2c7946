//go:build (!amd64 && !arm64) || purego

package model

// This architecture has only the Go kernels.
func finite(x []float32) bool { return finiteGo(x) }

func quantize(dst []uint64, x []float32, windows []window) { quantizeGo(dst, x, windows) }

func quantize4(dst [][64]set, i int, x *[4][]float32, windows []window) {
	quantize4Go(dst, i, x, windows)
}

func transpose(a *[64]set) { transposeGo(a) }

func ladders(dst []ladder, planes [][64]set, places []uint32) { laddersGo(dst, planes, places) }

func tests(right []set, l []ladder, t []test) { testsGo(right, l, t) }

func trees(depth int, say, right []set, splits, invert []uint32) {
	treesGo(depth, say, right, splits, invert)
}

const pairing = true // in plain Go they are faster too

func pairs(say, right []set, splits []uint32, leaves []byte) { pairsGo(say, right, splits, leaves) }

func merges(dst, from, right []set, splits []uint32) { mergesGo(dst, from, right, splits) }

func sums(say [][64]set, tables []table, least int32) set { return sumsGo(say, tables, least) }

func totals(dst *[block]int32, say [][64]set, tables []table) { totalsGo(dst, say, tables) }

func walk(bins []uint64, b *walkBit, plus, minus int32) int32 { return walkGo(bins, b, plus, minus) }
