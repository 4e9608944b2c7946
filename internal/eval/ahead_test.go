package eval

import (
	"math"
	"testing"
)

// TestAhead: without classes this is the mean difference and two standard errors of it; with classes, one query of a rare
// class moves the mean by half its class, and the interval with it.
func TestAhead(t *testing.T) {
	a, b := []float64{0.5, 0.7, 0.9, -1, 0.2}, []float64{0.4, 0.4, 0.4, 0.9, 0.4}
	ahead, chance := Ahead(a, b, nil)
	mean := (0.1 + 0.3 + 0.5 - 0.2) / 4
	variance := 0.0
	for _, d := range []float64{0.1, 0.3, 0.5, -0.2} {
		variance += (d - mean) * (d - mean) / 3
	}
	if math.Abs(ahead-mean) > 1e-12 || math.Abs(chance-2*math.Sqrt(variance/4)) > 1e-12 {
		t.Errorf("%v ahead, %v by chance, want %v and %v", ahead, chance, mean, 2*math.Sqrt(variance/4))
	}
	ahead, wider := Ahead(a, b, []int32{0, 0, 0, 2, 1})
	if want := mean/2 + (0.3-0.2)/4; math.Abs(ahead-want) > 1e-12 || wider <= chance {
		t.Errorf("%v ahead of classes, want %v; chance %v beside %v", ahead, want, wider, chance)
	}
	if ahead, chance := Ahead(a[:1], b[:1], nil); ahead != 0 || chance != 0 {
		t.Errorf("one query: %v, %v", ahead, chance)
	}
}
