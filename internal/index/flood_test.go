package index

import (
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/testkit/budgettest"
)

// plainHash is a known hash, as mergeCodes once used it.
func plainHash(word uint64) uint64 {
	h := word * 0x9e3779b97f4a7c15
	h ^= h >> 29
	return h * 0xbf58476d1ce4e5b9 >> 20
}

// inverse returns the inverse of an odd factor modulo 2^64 (Newton's iteration doubles the correct bits).
func inverse(odd uint64) uint64 {
	x := odd
	for range 6 {
		x *= 2 - odd*x
	}
	return x
}

// TestChosenCodesDoNotCollide: codes chosen to collide under a known hash would make finding equal ones take quadratic
// time, a minute for these, whenever the index is opened.
func TestChosenCodesDoNotCollide(t *testing.T) {
	const n, shared = 400_000, 1<<20 - 1
	codes := hamming.NewCodes(n, 64)
	for i := range n {
		h := uint64(i) << 40 * inverse(0xbf58476d1ce4e5b9) // after the last step the 20 bits from bit 20 on are 0
		h ^= h>>29 ^ h>>58
		w := h * inverse(0x9e3779b97f4a7c15)
		if plainHash(w)&shared != 0 {
			t.Fatalf("code %d is not made right", i)
		}
		codes.Row(i)[0] = w
	}
	slot := make([]uint32, n)
	budgettest.Within(t, 16*budgettest.MiB, func() {
		if distinct := mergeCodes(codes, slot); distinct != n {
			t.Errorf("%d of %d codes were found to be different", distinct, n)
		}
	})
	for i, s := range slot {
		if int(s) != i {
			t.Fatalf("code %d has slot %d: slots do not follow positions", i, s)
		}
	}
}
