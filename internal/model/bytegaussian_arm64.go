//go:build !purego

package model

import "golang.org/x/sys/cpu"

// toBytesNEON is toBytesGo for a multiple of 16 values, with the sum of their squares.
//
//go:noescape
func toBytesNEON(dst *byte, x *float32, n int, perStep float32) (squares int32)

//go:noescape
func byteTileNEON(dst *float32, stride int, q *byte, step int, panel *byte, groups int, own, squares *int32,
	scale float32)

// byteTileSDOT is byteTileNEON with products of four bytes in one instruction.
//
//go:noescape
func byteTileSDOT(dst *float32, stride int, q *byte, step int, panel *byte, groups int, own, squares *int32,
	scale float32)

// byteTilings returns the kernels of this machine, the fastest last.
func byteTilings() []*byteTiling {
	all := []*byteTiling{{name: "neon", width: 16, size: 1, together: 4, values: toBytes, tile: byteTileNEON}}
	if cpu.ARM64.HasASIMDDP {
		all = append(all, &byteTiling{name: "sdot", width: 16, size: 1, together: 4, values: toBytes, tile: byteTileSDOT})
	}
	return all
}

// toBytes leaves out the sum, which no kernel here needs.
func toBytes(dst []byte, x []float32, perStep float32) (sum, squares int32) {
	n := len(x) &^ 15
	_, squares = (&byteTiling{size: 1}).restOf(dst[n:], x[n:], perStep)
	if n > 0 {
		squares += toBytesNEON(&dst[:n][0], &x[0], n, perStep)
	}
	return 0, squares
}
