//go:build (amd64 || arm64) && !purego

package hamming

import "math/bits"

// belowKernel is below for n codes of one width, all of whose bits count; n is a multiple of turn.
type belowKernel func(dst *uint32, q, codes *uint64, n, limit int) int

// turn is a multiple of the codes that the kernels take at a time.
const turn = 32

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
	if words != stride || last != ^uint64(0) || words != words&-words || words > 8 {
		return belowAny(dst, q, codes, n, stride, last, limit)
	}
	found, m := 0, n&^(turn-1)
	if m > 0 {
		found = kernelOf(bits.TrailingZeros(uint(words)))(&dst[0], &q[0], &codes[0], m, limit)
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
