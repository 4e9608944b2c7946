//go:build !purego

package model

import "golang.org/x/sys/cpu"

// toBytesAVX2 and toWordsAVX2 are toBytesGo for a multiple of 16 values, of one and two bytes each, with their sum and
// that of their squares.
//
//go:noescape
func toBytesAVX2(dst *byte, x *float32, n int, perStep float32, sums *int32)

//go:noescape
func toWordsAVX2(dst *byte, x *float32, n int, perStep float32, sums *int32)

//go:noescape
func byteTileVNNI(dst *float32, stride int, q *byte, step int, panel *byte, groups int, own, squares *int32,
	scale float32)

//go:noescape
func byteTileAVX2(dst *float32, stride int, q *byte, step int, panel *byte, groups int, own, squares *int32,
	scale float32)

// byteTilings returns the kernels of this machine, the fastest last.
func byteTilings() []*byteTiling {
	var all []*byteTiling
	if cpu.X86.HasAVX2 {
		// Words, because AVX2 adds products of bytes in 16 bits, where they do not fit.
		all = append(all, &byteTiling{
			name: "avx2", width: 16, size: 2, together: 1, values: toWords, tile: byteTileAVX2,
		})
	}
	if cpu.X86.HasAVX2 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512VNNI {
		all = append(all, &byteTiling{
			name: "vnni", width: 64, size: 1, together: 1, added: 128, values: toBytes, tile: byteTileVNNI,
		})
	}
	return all
}

func toBytes(dst []byte, x []float32, perStep float32) (sum, squares int32) {
	n := len(x) &^ 15
	sum, squares = (&byteTiling{size: 1}).restOf(dst[n:], x[n:], perStep)
	if n > 0 {
		var sums [2]int32
		toBytesAVX2(&dst[:n][0], &x[0], n, perStep, &sums[0])
		sum, squares = sum+sums[0], squares+sums[1]
	}
	return sum, squares
}

func toWords(dst []byte, x []float32, perStep float32) (sum, squares int32) {
	n := len(x) &^ 15
	sum, squares = (&byteTiling{size: 2}).restOf(dst[2*n:], x[n:], perStep)
	if n > 0 {
		var sums [2]int32
		toWordsAVX2(&dst[:2*n][0], &x[0], n, perStep, &sums[0])
		sum, squares = sum+sums[0], squares+sums[1]
	}
	return sum, squares
}
