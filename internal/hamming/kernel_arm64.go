//go:build !purego

package hamming

import "math/bits"

// The arm64 kernels use NEON, which every such processor has. They are tested under emulation, not timed on hardware.

// level is the instruction set in use; tests compare the two.
var level = levelNEON

const (
	levelGo = iota
	levelNEON
)

var levelNames = [...]string{"go", "neon"}

// Kernel returns the name of the kernels in use.
func Kernel() string { return levelNames[level] }

// unit returns how many codes the kernels of a width process at a time.
func unit(words int) int {
	if words <= 2 {
		return 16
	}
	return 8
}

// distances64NEON writes the distances of q to n codes of 64 bits; n is a multiple of 16.
//
//go:noescape
func distances64NEON(dst *uint16, q, codes *uint64, n int)

// distances128NEON writes the distances of q to n codes of 128 bits; n is a multiple of 16.
//
//go:noescape
func distances128NEON(dst *uint16, q, codes *uint64, n int)

// distances256NEON writes the distances of q to n codes of 256 bits; n is a multiple of 8.
//
//go:noescape
func distances256NEON(dst *uint16, q, codes *uint64, n int)

// distances512NEON writes the distances of q to n codes of 512 bits; n is a multiple of 8.
//
//go:noescape
func distances512NEON(dst *uint16, q, codes *uint64, n int)

// distances1024NEON writes the distances of q to n codes of 1024 bits; n is a multiple of 8.
//
//go:noescape
func distances1024NEON(dst *uint16, q, codes *uint64, n int)

// below64NEON writes distance<<16 | i for every code i of n with at most the limit, which is below 256, and returns
// their number; n is a multiple of 16.
//
//go:noescape
func below64NEON(dst *uint32, q, codes *uint64, n, limit int) int

// below128NEON is below64NEON for 128 bits.
//
//go:noescape
func below128NEON(dst *uint32, q, codes *uint64, n, limit int) int

// below256NEON writes distance<<16 | i for every code i of n with at most the limit, and returns their number; n is a
// multiple of 8.
//
//go:noescape
func below256NEON(dst *uint32, q, codes *uint64, n, limit int) int

// below512NEON is below256NEON for 512 bits.
//
//go:noescape
func below512NEON(dst *uint32, q, codes *uint64, n, limit int) int

// below1024NEON is below256NEON for 1024 bits.
//
//go:noescape
func below1024NEON(dst *uint32, q, codes *uint64, n, limit int) int

// distancesAnyNEON writes the distances of q to n codes in the bits of mask, both of as many words, at most 64.
//
//go:noescape
func distancesAnyNEON(dst *uint16, q, mask, codes *uint64, n, words, stride int)

// belowAnyNEON is below for codes of any length and the bits of mask.
//
//go:noescape
func belowAnyNEON(dst *uint32, q, mask, codes *uint64, n, words, stride, limit int) int

// The kernels for codes of 1, 2, 4, 8 and 16 words.
var (
	distancesNEON = [...]func(dst *uint16, q, codes *uint64, n int){
		distances64NEON, distances128NEON, distances256NEON, distances512NEON, distances1024NEON,
	}
	belowNEON = [...]func(dst *uint32, q, codes *uint64, n, limit int) int{
		below64NEON, below128NEON, below256NEON, below512NEON, below1024NEON,
	}
)

// ones returns a mask with all bits set in words words, except for some in the last.
func ones(words int, last uint64) (mask [MaxBits / 64]uint64) {
	for i := range mask[:words] {
		mask[i] = ^uint64(0)
	}
	mask[words-1] = last
	return mask
}

func distances(dst []uint16, q, codes []uint64, stride int, last uint64) {
	n, words := len(dst), len(q)
	if n == 0 {
		return
	}
	if level == levelGo || words > MaxBits/64 {
		distancesGo(dst, q, codes, stride, last)
		return
	}
	_ = codes[(n-1)*stride+words-1]
	if words != stride || last != ^uint64(0) || words != words&-words || words > 16 {
		mask := ones(words, last)
		distancesAnyNEON(&dst[0], &q[0], &mask[0], &codes[0], n, words, stride)
		return
	}
	m := n &^ (unit(words) - 1)
	if m > 0 {
		distancesNEON[bits.TrailingZeros(uint(words))](&dst[0], &q[0], &codes[0], m)
	}
	distancesGo(dst[m:], q, codes[m*stride:], stride, last)
}

func below(dst []uint32, q, codes []uint64, stride int, last uint64, limit int) int {
	words := len(q)
	n := (len(codes) + stride - words) / stride
	if n == 0 || limit < 0 {
		return 0
	}
	if level == levelGo || words > MaxBits/64 {
		return belowGo(dst, q, codes, stride, last, limit)
	}
	limit = min(limit, 64*words)
	_, _ = dst[n+slack-1], codes[(n-1)*stride+words-1]
	if words != stride || last != ^uint64(0) || words != words&-words || words > 16 {
		mask := ones(words, last)
		return belowAnyNEON(&dst[0], &q[0], &mask[0], &codes[0], n, words, stride, limit)
	}
	found, m := 0, n&^(unit(words)-1)
	if m > 0 {
		found = belowNEON[bits.TrailingZeros(uint(words))](&dst[0], &q[0], &codes[0], m, limit)
	}
	if m == n {
		return found
	}
	rest := dst[found:]
	more := belowGo(rest, q, codes[m*stride:], stride, last, limit)
	for i := range rest[:more] {
		rest[i] += uint32(m)
	}
	return found + more
}
