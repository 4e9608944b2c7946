package hamming

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
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

// distanceByBits is the definition: count the bits one by one.
func distanceByBits(q, code []uint64, bits int) int {
	d := 0
	for b := range bits {
		if q[b/64]>>(63-b%64)&1 != code[b/64]>>(63-b%64)&1 {
			d++
		}
	}
	return d
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

func TestKernelsEqualGo(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	data := make([]uint64, 1100*20)
	for i := range data {
		data[i] = rng.Uint64()
	}
	eachKernel(t, func(t *testing.T) {
		for _, words := range []int{1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17} {
			for _, n := range []int{0, 1, 3, 4, 5, 7, 8, 9, 31, 32, 33, 63, 64, 65, 1000} {
				for _, offset := range []int{0, 1, 3} {
					q, codes := data[offset:], data[offset+20:]
					for _, limit := range []int{-1, 0, 64*words/2 - 8, 32 * words, 64 * words} {
						crossCheck(t, q, codes, n, words, words, math.MaxUint64, limit)
					}
					crossCheck(t, q, codes, n, words, words, ^uint64(1<<17-1), 32*words-9)
					crossCheck(t, q, codes, n, words, words+1, ^uint64(1), 32*words)
				}
			}
		}
		for _, words := range []int{32, 63, 64} {
			crossCheck(t, data, data[100:], 9, words, words, math.MaxUint64, 32*words)
			crossCheck(t, data, data[100:], 9, words, words, 1<<63, 32*words)
		}
	})
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

func TestGoKernelCountsBits(t *testing.T) {
	for _, bits := range []int{1, 8, 63, 64, 65, 100, 128, 1024} {
		c := random(33, bits, 7)
		for _, prefix := range []int{1, (bits + 1) / 2, bits} {
			words, last := c.prefix(prefix)
			hits := make([]uint32, c.Len()+slack)
			belowGo(hits, c.Row(3)[:words], c.Data, c.Words, last, MaxBits)
			for i, hit := range hits[:c.Len()] {
				d := hit >> 16
				if want := distanceByBits(c.Row(3), c.Row(i), prefix); int(d) != want {
					t.Fatalf("first %d of %d bits: distance %d, want %d", prefix, bits, d, want)
				}
			}
		}
	}
}

func FuzzKernels(f *testing.F) {
	f.Add([]byte("a few bytes that become a query and some codes, again and again"), uint8(1), uint8(0), uint16(30), uint8(0))
	f.Add(make([]byte, 3000), uint8(4), uint8(1), uint16(0), uint8(5))
	f.Fuzz(func(t *testing.T, b []byte, words, more uint8, limit uint16, cut uint8) {
		w := int(words%64) + 1
		stride := w + int(more%3)
		data := make([]uint64, len(b)/8)
		for i := range data {
			data[i] = binary.LittleEndian.Uint64(b[8*i:])
		}
		if len(data) < w {
			return
		}
		n := (len(data) - w) / stride
		defer use(Kernel())
		for _, name := range kernels() {
			use(name)
			crossCheck(t, data, data[w:], n, w, stride, ^uint64(0)<<(cut%64), int(limit)%(64*w+1))
		}
	})
}
