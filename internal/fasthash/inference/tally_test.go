package inference

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A tally is the sum of its groups one by one, however many there are, and of every mass.
func TestTallyIsTheSumOneByOne(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	var counted tally
	for turn := range 400 {
		words := r.IntN(4)
		unit, by := 1+r.Int64N(20), r.Int64N(5)-2
		var want, got sums[int64]
		want.reset(64 * words)
		got.reset(64 * words)
		counted.begin(&got, by, unit)
		for range []int{0, 1, 7, 8, 9, 300, 1000}[turn%7] {
			code := make([]uint64, words)
			for w := range code {
				code[w] = r.Uint64() | r.Uint64()<<r.IntN(64) // some bits in nearly all codes
				if turn%3 == 0 {
					code[w] |= 1 << 40 // and one in all: no count may overflow
				}
			}
			mass := unit
			if turn%2 > 0 {
				mass *= 1 + r.Int64N(12)
			}
			want.add(code, by*mass)
			counted.add(code, mass)
		}
		counted.end()
		if got.s != want.s || !slices.Equal(got.set, want.set) {
			t.Fatalf("turn %d: %+v, want %+v", turn, got, want)
		}
	}
}
