//go:build !purego

package hamming

import "golang.org/x/sys/cpu"

// groupBits returns the number of bits that the kernels look up at a time, or 0 if there are no kernels.
func groupBits() int {
	switch {
	case level == levelAVX512 && cpu.X86.HasAVX512VBMI:
		return 6
	case level >= levelAVX2:
		return 4
	}
	return 0
}

// canScan says whether there is a kernel that looks up codes of the given words without planes.
func canScan(words int) bool {
	return groupBits() == 6 && cpu.X86.HasAVX512GFNI && (words == 1 || words == 2 || words == scanWide)
}

// packBlocks writes the planes of the first words of the codes of whole blocks, size bytes a block. The next code is
// stride words further.
func packBlocks(dst []uint8, codes []uint64, blocks, size, words, stride int) {
	_, _ = codes[(blocks*perBlock-1)*stride+words-1], dst[blocks*size-1]
	for w := range words {
		to, from := &dst[w*size/words], &codes[w]
		if groupBits() == 6 {
			packAVX512(to, from, blocks, size, 8*stride)
		} else {
			packAVX2(to, from, blocks, size, 8*stride)
		}
	}
}

// boundBlocks finds the blocks with codes whose table entries add up to at most the limit, and returns their number.
// dst has space for every block. Bytes are summed over so many groups as make a piece, and these sums in 16 bits.
func boundBlocks(dst []nearBlock, planes, tables []uint8, limit, piece int) int {
	blocks, groups := len(dst), len(tables)>>groupBits()
	size := len(planes) / blocks
	_ = planes[(blocks-1)*size+groups*perBlock-1]
	if groupBits() == 6 {
		return boundAVX512(&dst[0].mask, &planes[0], &tables[0], blocks, groups, size, limit, piece)
	}
	return boundAVX2(&dst[0].mask, &planes[0], &tables[0], blocks, groups, size, limit, piece)
}

// scanBlocks is boundBlocks for codes of some words, which lie back to back. A piece is a lane of the
// register, or all of a code of up to two words.
func scanBlocks(dst []nearBlock, codes []uint64, words int, tables []uint8, limit int) int {
	to, from, entries, blocks := &dst[0].mask, &codes[0], &tables[0], len(dst)
	_, _ = codes[blocks*perBlock*words-1], tables[words*scanEntries-1]
	switch words {
	case 1:
		return scan64AVX512(to, from, entries, blocks, limit)
	case 2:
		return scan128AVX512(to, from, entries, blocks, limit)
	}
	return scan256AVX512(to, from, entries, blocks, limit)
}

// The kernels. Words of codes are stride bytes apart, the planes of one block size
// bytes after those of the one before; bound takes a multiple of four blocks.

//go:noescape
func packAVX2(dst *uint8, codes *uint64, blocks, size, stride int)

//go:noescape
func packAVX512(dst *uint8, codes *uint64, blocks, size, stride int)

//go:noescape
func boundAVX2(dst *uint64, planes, tables *uint8, blocks, groups, size, limit, piece int) int

//go:noescape
func boundAVX512(dst *uint64, planes, tables *uint8, blocks, groups, size, limit, piece int) int

//go:noescape
func scan64AVX512(dst, codes *uint64, tables *uint8, blocks, limit int) int

//go:noescape
func scan128AVX512(dst, codes *uint64, tables *uint8, blocks, limit int) int

//go:noescape
func scan256AVX512(dst, codes *uint64, tables *uint8, blocks, limit int) int
