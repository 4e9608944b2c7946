//go:build (!amd64 && !arm64) || purego

package hamming

// groupBits returns 0, because there are no kernels.
func groupBits() int { return 0 }

func packBlocks(dst []uint8, codes []uint64, blocks, size, words, stride int) {
	panic("hamming: no kernel")
}

func boundBlocks(dst []nearBlock, planes, tables []uint8, limit, piece int) int {
	panic("hamming: no kernel")
}

// canScan says that there is no kernel that looks up codes without planes.
func canScan(words int) bool { return false }

func scanBlocks(dst []nearBlock, codes []uint64, words int, tables []uint8, limit int) int {
	panic("hamming: no kernel")
}
