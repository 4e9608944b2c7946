package boost

import (
	"math/rand/v2"
	"testing"
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
