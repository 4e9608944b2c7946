//go:build !purego

package hamming

import "golang.org/x/sys/cpu"

//go:generate go -C ../../x/kernels run ./weighted -out ../../internal/hamming/weighted_amd64.s -stubs ../../internal/hamming/weighted_amd64_stubs.go -pkg hamming

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

// canBoundFour says whether there is a kernel for four queries.
func canBoundFour() bool { return groupBits() == 6 }

// packBlocks writes the planes of the first words of the codes of whole blocks, size bytes a block. The next code is
// stride words further.
func packBlocks(dst []uint8, codes []uint64, blocks, size, words, stride int) {
	_, _ = codes[(blocks*perBlock-1)*stride+words-1], dst[blocks*size-1]
	perWord := size / words
	if groupBits() == 6 && words == stride && words <= len(packAVX512) && packAVX512[words-1] != nil {
		packAVX512[words-1](&dst[0], &codes[0], blocks)
		return
	}
	for w := range words {
		to, from := &dst[w*perWord], &codes[w]
		switch {
		case groupBits() == 6:
			packStridedAVX512(to, from, blocks, size, 8*stride)
		case stride == 1:
			packAVX2(to, from, blocks, size)
		default:
			packStridedAVX2(to, from, blocks, size, 8*stride)
		}
	}
}

// The kernels for codes of so many words; others are read word by word.
var packAVX512 = [4]func(dst *uint8, codes *uint64, blocks int){pack64AVX512, pack128AVX512, nil, pack256AVX512}

// boundBlocks finds the blocks with codes whose table entries add up to at most the limit, and returns their number.
// dst has space for every block. If piece is not 0, bytes are summed over that many groups, and these sums in 16 bits.
func boundBlocks(dst []nearBlock, planes, tables []uint8, limit, piece int) int {
	blocks, groups := len(dst), len(tables)>>groupBits()
	size := len(planes) / blocks
	to, from, entries := &dst[0].sums[0], &planes[0], &tables[0]
	_ = planes[(blocks-1)*size+groups*perBlock-1]
	switch {
	case groupBits() == 6 && piece > 0:
		return boundWideAVX512(to, from, entries, blocks, groups, size, limit, piece)
	case groupBits() == 6:
		return boundAVX512(to, from, entries, blocks, groups, size, limit)
	case piece > 0:
		return boundWideAVX2(to, from, entries, blocks, groups, size, limit, piece)
	}
	return boundAVX2(to, from, entries, blocks, groups, size, limit)
}

// boundFour is boundBlocks for four queries, without pieces. Each has a quarter of dst. The codes of next are brought
// nearer in the meantime.
func boundFour(dst []nearBlock, f *fourQueries, planes []uint8, next []uint64) {
	blocks, groups := len(dst)/together, len(f.tables)/together>>6
	size := len(planes) / blocks
	_ = planes[(blocks-1)*size+groups*perBlock-1]
	clear(f.found[:])
	ahead := &f.atMost[0]
	if len(next) > 0 {
		ahead = &next[0]
	}
	boundFourAVX512(&dst[0].sums[0], &f.found[0], &planes[0], &f.tables[0], &f.atMost[0], ahead, blocks, groups, size)
}

// scanBlocks is boundBlocks for codes of some words, which lie one after the other.
func scanBlocks(dst []nearBlock, codes []uint64, words int, tables []uint8, limit int) int {
	to, from, entries, blocks := &dst[0].sums[0], &codes[0], &tables[0], len(dst)
	_, _ = codes[blocks*perBlock*words-1], tables[words*scanEntries-1]
	switch words {
	case 1:
		return scan64AVX512(to, from, entries, blocks, limit)
	case 2:
		return scan128AVX512(to, from, entries, blocks, limit)
	}
	return scanWide256AVX512(to, from, entries, blocks, limit)
}

// refine is refineGo.
func refine(hits []uint32, q *WeightedQuery, codes []uint64, stride, limit int) int {
	if level != levelAVX512 || len(hits) == 0 {
		return refineGo(hits, q, codes, stride, limit)
	}
	weights := q.byBits()
	_ = codes[int(hits[len(hits)-1]&0xffff)*stride+len(q.code)-1] // hits are in order
	return refineAVX512(&hits[0], len(hits), &q.code[0], &codes[0], &weights[0], len(q.code), 8*stride, limit)
}
