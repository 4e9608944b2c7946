package boost

import (
	"math"
	"testing"
)

// TestMassesOfManyRows: above 8 million rows masses had fewer than 64 units on average although there was room for more.
func TestMassesOfManyRows(t *testing.T) {
	for _, n := range []int{1, 1000, coarseRows, coarseRows + 1, 10_000_000, 30_000_000, 100_000_000, maxRows} {
		for _, share := range []float64{0.5, 1, 1.7, swell} { // of the sum of the weights in n
			sum := share * float64(n)
			scale := weightScale(n, sum)
			// Rounded up, all masses together stay below the total, whatever the weights are.
			if most := float64(scale*sum) + float64(n); most >= totalMass {
				t.Errorf("%d rows of weight %v: masses of up to %v", n, sum, most)
			}
			if n <= coarseRows { // as models have always been made
				if want := float64(totalMass-1-n) / (swell * float64(n)); scale != want {
					t.Errorf("%d rows: scale %v, want %v", n, scale, want)
				}
				continue
			}
			if mean, want := scale*share, float64(totalMass)/float64(n)-1; math.Abs(mean-want) > 0.01*want {
				t.Errorf("%d rows of weight %v: the mean mass is %v, and there is room for %v", n, sum, mean, want)
			}
		}
	}
	if coarseRows < 8_000_000 || coarseRows > 9_000_000 {
		t.Errorf("masses are coarse from %d rows on", coarseRows)
	}
}
