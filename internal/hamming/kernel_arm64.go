//go:build !purego

package hamming

// The arm64 kernels use NEON, which every such processor has. They are tested under emulation, not timed on hardware.

// level is the instruction set in use; tests compare the two.
var level = bestLevel()

const (
	levelGo = iota
	levelNEON
)

func bestLevel() int { return levelNEON }

var levelNames = [...]string{"go", "neon"}

// Kernel returns the name of the kernels in use.
func Kernel() string { return levelNames[level] }

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

// belowAnyNEON is below for codes of any length and the bits of mask.
//
//go:noescape
func belowAnyNEON(dst *uint32, q, mask, codes *uint64, n, words, stride, limit int) int

// belowNEON is the kernels for codes of 1, 2, 4 and 8 words.
var belowNEON = [...]belowKernel{below64NEON, below128NEON, below256NEON, below512NEON}

func kernelOf(exponent int) belowKernel { return belowNEON[exponent] }

func belowAny(dst []uint32, q, codes []uint64, n, stride int, last uint64, limit int) int {
	var mask [MaxBits / 64]uint64
	for i := range q {
		mask[i] = ^uint64(0)
	}
	mask[len(q)-1] = last
	return belowAnyNEON(&dst[0], &q[0], &mask[0], &codes[0], n, len(q), stride, limit)
}
