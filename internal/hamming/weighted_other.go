//go:build (!amd64 && !arm64) || purego

package hamming

// groupBits returns 0, because there are no kernels.
func groupBits() int { return 0 }

func packWord(dst []uint8, codes []uint64, blocks, size, stride int) { panic("hamming: no kernel") }

func boundBlocks(dst []nearBlock, planes, tables []uint8, limit, piece int) int {
	panic("hamming: no kernel")
}
