//go:build !purego

package model

import "golang.org/x/sys/cpu"

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
