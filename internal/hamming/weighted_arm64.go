//go:build !purego

package hamming

// groupBits returns the number of bits that the kernels look up at a time, or 0 if there are no kernels. NEON also has
// tables of 64 bytes in four registers, but one such look-up costs several in one register.
func groupBits() int {
	if level == levelGo {
		return 0
	}
	return 4
}

// packNEON writes the planes of 4 bits of one word of the codes of some blocks. The words are stride bytes apart, the
// planes of one block size bytes after those of the one before.
//
//go:noescape
func packNEON(dst *uint8, codes *uint64, blocks, size, stride int)

// boundNEON writes the blocks that have codes whose sum of table entries, at most 255 per piece, is within the limit,
// and returns their number. The planes of one block come size bytes after those of the one before.
//
//go:noescape
func boundNEON(dst *uint64, planes, tables *uint8, blocks, groups, size, limit, piece int) int

// packBlocks writes the planes of the first words of the codes of whole blocks, size bytes a block. The next code is
// stride words further.
func packBlocks(dst []uint8, codes []uint64, blocks, size, words, stride int) {
	_, _ = codes[(blocks*perBlock-1)*stride+words-1], dst[blocks*size-1]
	for w := range words {
		packNEON(&dst[w*size/words], &codes[w], blocks, size, 8*stride)
	}
}

// boundBlocks finds the blocks with codes whose table entries add up to at most the limit, and returns their number.
// dst has space for every block. Bytes are summed over so many groups as make a piece, and these sums in 16 bits.
func boundBlocks(dst []nearBlock, planes, tables []uint8, limit, piece int) int {
	blocks, groups := len(dst), len(tables)/16
	size := len(planes) / blocks
	_ = planes[(blocks-1)*size+groups*perBlock-1]
	return boundNEON(&dst[0].mask, &planes[0], &tables[0], blocks, groups, size, limit, piece)
}

// canScan says that there is no kernel that looks up codes without planes.
func canScan(words int) bool { return false }

func scanBlocks(dst []nearBlock, codes []uint64, words int, tables []uint8, limit int) int {
	panic("hamming: no kernel")
}
