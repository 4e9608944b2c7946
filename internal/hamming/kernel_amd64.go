//go:build !purego

package hamming

import (
	"math/bits"

	"golang.org/x/sys/cpu"
)

//go:generate go -C ../../x/kernels run ./hamming -out ../../internal/hamming/kernel_amd64.s -stubs ../../internal/hamming/kernel_amd64_stubs.go -pkg hamming

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

// unit returns how many codes the kernels of a width process at a time.
func unit(words int) int {
	if words == 1 {
		return 32
	}
	return 8
}

// padded is a query and its bit mask, padded with zeros to a whole vector plus one more, as the kernels for any length
// need them.
type padded struct{ q, mask [MaxBits/64 + 8]uint64 }

func (p *padded) set(q []uint64, last uint64) {
	copy(p.q[:], q)
	for i := range q {
		p.mask[i] = ^uint64(0)
	}
	p.mask[len(q)-1] = last
}

// The kernels for codes of 1, 2, 4, 8 and 16 words, by instruction set.
var (
	distancesAVX = [...][5]func(dst *uint16, q, codes *uint64, n int){
		{distances64AVX2, distances128AVX2, distances256AVX2, distances512AVX2, distances1024AVX2},
		{distances64AVX512, distances128AVX512, distances256AVX512, distances512AVX512, distances1024AVX512},
	}
	belowAVX = [...][5]func(dst *uint32, q, codes *uint64, n, limit int) int{
		{below64AVX2, below128AVX2, below256AVX2, below512AVX2, below1024AVX2},
		{below64AVX512, below128AVX512, below256AVX512, below512AVX512, below1024AVX512},
	}
)

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
		var p padded
		p.set(q, last)
		if level == levelAVX512 {
			distancesAnyAVX512(&dst[0], &p.q[0], &p.mask[0], &codes[0], n, words, stride)
		} else {
			distancesAnyAVX2(&dst[0], &p.q[0], &p.mask[0], &codes[0], n, words, stride)
		}
		return
	}
	m := n &^ (unit(words) - 1)
	if m > 0 {
		distancesAVX[level-levelAVX2][bits.TrailingZeros(uint(words))](&dst[0], &q[0], &codes[0], m)
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
	limit = min(limit, MaxBits)
	_, _ = dst[n+slack-1], codes[(n-1)*stride+words-1]
	if words != stride || last != ^uint64(0) || words != words&-words || words > 16 {
		var p padded
		p.set(q, last)
		if level == levelAVX512 {
			return belowAnyAVX512(&dst[0], &p.q[0], &p.mask[0], &codes[0], n, words, stride, limit)
		}
		return belowAnyAVX2(&dst[0], &p.q[0], &p.mask[0], &codes[0], n, words, stride, limit)
	}
	turn := unit(words)
	if level == levelAVX512 {
		turn = max(turn, 16)
	}
	found, m := 0, n&^(turn-1)
	if m > 0 {
		found = belowAVX[level-levelAVX2][bits.TrailingZeros(uint(words))](&dst[0], &q[0], &codes[0], m, limit)
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
