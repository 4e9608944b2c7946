package boost

import (
	"math/rand/v2"
	"testing"

	"hashgrove/internal/testkit/fencetest"
)

// TestKernelsStayInside puts histograms of any bins, whose sums overflow too, where memory ends behind them, and lets
// the result be one of the operands or neither.
func TestKernelsStayInside(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	three := [3]*histogram{}
	for i := range three {
		three[i] = &fencetest.Slice[histogram](t, 1)[0]
	}
	for turn := range 1000 {
		for _, h := range three {
			for i := range h {
				h[i] = int32(rng.Uint32()) >> rng.IntN(32)
			}
		}
		if turn < len(three[0]) { // a single bin tells its place
			*three[0] = histogram{}
			three[0][turn] = int32(rng.Uint32())
		}
		low, high := extremes(three[0])
		if wantLow, wantHigh := extremesGo(three[0]); low != wantLow || high != wantHigh {
			t.Fatalf("turn %d: sums from %d to %d, want %d to %d", turn, low, high, wantLow, wantHigh)
		}
		for out := range three {
			for name, f := range map[string][2]func(out, a, b *histogram){
				"sum": {addBins, addBinsGo}, "difference": {subtractBins, subtractBinsGo},
			} {
				var want histogram
				f[1](&want, three[0], three[1])
				before := *three[out]
				f[0](three[out], three[0], three[1])
				if *three[out] != want {
					t.Fatalf("turn %d: another %s, written to histogram %d", turn, name, out)
				}
				*three[out] = before
			}
		}
	}
}
