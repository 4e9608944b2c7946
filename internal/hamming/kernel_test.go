package hamming

import (
	"math"
	"slices"
	"testing"
)

// eachKernel runs f with all kernels of this machine.
func eachKernel(t *testing.T, f func(t *testing.T)) {
	defer use(Kernel())
	for _, name := range kernels() {
		use(name)
		t.Run(name, f)
	}
}

// crossCheck compares a kernel with plain Go on n codes at any place in memory.
func crossCheck(t *testing.T, q, codes []uint64, n, words, stride int, last uint64, limit int) {
	t.Helper()
	q = q[:words]
	codes = codes[: n*stride : n*stride]
	hits, wantHits := make([]uint32, n+slack+1), make([]uint32, n+slack)
	hits[n+slack] = 0xdeadbeef
	m := below(hits[:n+slack:n+slack], q, codes, stride, last, limit)
	w := belowGo(wantHits, q, codes, stride, last, limit)
	if !slices.Equal(hits[:m], wantHits[:w]) || hits[n+slack] != 0xdeadbeef {
		t.Fatalf("%d codes of %d words, stride %d, limit %d: hits %x, want %x", n, words, stride, limit, hits[:m], wantHits[:w])
	}
}

// TestKernelsReachAllOnes finds sums that overflow their bytes or words.
func TestKernelsReachAllOnes(t *testing.T) {
	codes := make([]uint64, 64*40)
	for i := range codes {
		codes[i] = math.MaxUint64
	}
	eachKernel(t, func(t *testing.T) {
		for words := 1; words <= 64; words++ {
			crossCheck(t, make([]uint64, 64), codes, 40, words, words, math.MaxUint64, 64*words-1)
			crossCheck(t, make([]uint64, 64), codes, 40, words, words, math.MaxUint64, 64*words)
		}
	})
}
