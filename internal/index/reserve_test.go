package index

import (
	"math"
	"testing"
)

// TestReserve: space is reserved for the claimed number, but at most for four times the actual one.
func TestReserve(t *testing.T) {
	for _, claimed := range []int{0, 10, 5000, math.MaxInt} {
		b, made := NewBatch(64), 0
		for n := 0; n < 100_000; n += 100 {
			was := cap(b.IDs)
			b.Reserve(100, claimed)
			if cap(b.IDs) != was {
				made++
			}
			if got := cap(b.IDs); got < n+100 || got > max(4*(n+100), 1<<16)*5/4 || cap(b.Codes.Data) < n+100 {
				t.Fatalf("room for %d items of %d, %d claimed", got, n+100, claimed)
			}
			b.IDs, b.Codes.Data = b.IDs[:n+100], b.Codes.Data[:n+100]
		}
		if made > 20 {
			t.Errorf("room was made %d times", made)
		}
	}
	b := NewBatch(64)
	b.Reserve(1, 5000)
	if n := cap(b.IDs); n < 5000 || n > 6000 {
		t.Errorf("room for %d items of 5000", n)
	}
}
