//go:build !purego

package hamming

import "golang.org/x/sys/cpu"

// level is the instruction set in use.
var level = bestLevel()

const (
	levelGo = iota
	levelAVX2
	levelAVX512
)

var levelNames = [...]string{"go", "avx2", "avx512"}

func bestLevel() int {
	x := &cpu.X86
	switch {
	case x.HasAVX2 && x.HasBMI1 && x.HasPOPCNT && x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL &&
		x.HasAVX512VPOPCNTDQ:
		return levelAVX512
	case x.HasAVX2:
		return levelAVX2
	}
	return levelGo
}

// Kernel returns the name of the kernels in use.
func Kernel() string { return levelNames[level] }

// padded is a query and its bit mask, padded with zeros to a whole vector plus one more, as the kernel for any length
// needs them.
type padded struct{ q, mask [MaxBits/64 + 4]uint64 }

func (p *padded) set(q []uint64, last uint64) {
	copy(p.q[:], q)
	for i := range q {
		p.mask[i] = ^uint64(0)
	}
	p.mask[len(q)-1] = last
}

// The kernels of one width are belowKernels. Those of AVX2 take a multiple of 16 codes of 64 bits, or of 8 others, and
// those of AVX-512 twice as many. belowAnyAVX2 is below for codes of any length and the bits of mask, padded.

//go:noescape
func below64AVX2(dst *uint32, q, codes *uint64, n, limit int) int

//go:noescape
func below128AVX2(dst *uint32, q, codes *uint64, n, limit int) int

//go:noescape
func below256AVX2(dst *uint32, q, codes *uint64, n, limit int) int

//go:noescape
func below512AVX2(dst *uint32, q, codes *uint64, n, limit int) int

//go:noescape
func below64AVX512(dst *uint32, q, codes *uint64, n, limit int) int

//go:noescape
func below128AVX512(dst *uint32, q, codes *uint64, n, limit int) int

//go:noescape
func below256AVX512(dst *uint32, q, codes *uint64, n, limit int) int

//go:noescape
func below512AVX512(dst *uint32, q, codes *uint64, n, limit int) int

//go:noescape
func belowAnyAVX2(dst *uint32, q, mask, codes *uint64, n, words, stride, limit int) int

// belowAVX is the kernels for codes of 1, 2, 4 and 8 words, by instruction set.
var belowAVX = [...][4]belowKernel{
	{below64AVX2, below128AVX2, below256AVX2, below512AVX2},
	{below64AVX512, below128AVX512, below256AVX512, below512AVX512},
}

func kernelOf(exponent int) belowKernel { return belowAVX[level-levelAVX2][exponent] }

func belowAny(dst []uint32, q, codes []uint64, n, stride int, last uint64, limit int) int {
	var p padded
	p.set(q, last)
	return belowAnyAVX2(&dst[0], &p.q[0], &p.mask[0], &codes[0], n, len(q), stride, limit)
}
