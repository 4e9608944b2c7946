package boost

import (
	"math/rand/v2"
	"testing"

	"hashgrove/internal/testkit/fencetest"
)

func TestKernelsEqualTheirTwins(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for turn := range 2000 {
		var a, b histogram
		left := int64(totalMass) // no sum is greater
		for _, i := range rng.Perm(len(a))[:rng.IntN(len(a)+1)] {
			m := rng.Int64N(left/8 + 1)
			left -= m
			if a[i] = int32(m); turn%3 == 0 || turn%3 == 1 && rng.IntN(2) == 0 {
				a[i] = -a[i]
			}
			b[i] = rng.Int32() / 4
		}
		low, high := extremes(&a)
		if wantLow, wantHigh := extremesGo(&a); low != wantLow || high != wantHigh {
			t.Fatalf("sums from %d to %d, want %d to %d", low, high, wantLow, wantHigh)
		}
		sum, difference := a, a
		addBins(&sum, &sum, &b)
		subtractBins(&difference, &difference, &b)
		var wantSum, wantDifference histogram
		addBinsGo(&wantSum, &a, &b)
		subtractBinsGo(&wantDifference, &a, &b)
		if sum != wantSum || difference != wantDifference {
			t.Fatalf("turn %d: other sums or differences", turn)
		}
	}
}

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
