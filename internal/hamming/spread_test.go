package hamming

import (
	"math/rand/v2"
	"testing"
)

// TestSpread: two spread codes differ in half the weighted distance.
func TestSpread(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, of := range [][2]int{{8, 0}, {64, 0}, {9, 1}, {20, 13}, {96, 32}, {130, 65}, {1024, 1000}} {
		bits, detail := of[0], of[1]
		codes := NewCodes(20, bits)
		for i := range codes.Len() {
			for b := range bits {
				codes.SetBit(i, b, rng.IntN(2) == 0)
			}
		}
		wide := Spread(codes, detail)
		for i := range codes.Len() {
			want := Distance(codes.Row(0), codes.Row(i))
			if detail > 0 {
				want = WeightedDistance(codes.Row(0), codes.Row(i), EqualWeights(bits, detail)) / DetailUnits
			}
			if got := Distance(wide.Row(0), wide.Row(i)); got != want {
				t.Errorf("%d bits, %d of detail: spread codes differ in %d bits, want %d", bits, detail, got, want)
			}
		}
	}
}
