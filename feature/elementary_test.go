package feature

import (
	"math"
	"testing"
)

func TestElementaryFunctions(t *testing.T) {
	near := func(name string, x, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 4e-16*max(1, math.Abs(want)) {
			t.Fatalf("%s(%v) = %v, want %v", name, x, got, want)
		}
	}
	for x := 1.0; x < 300; x += 0.0137 {
		near("ln", x, ln(x), math.Log(x))
	}
	for x := -60.0; x < 1; x += 0.00371 {
		near("exp", x, exp(x)/math.Exp(x), 1)
	}
	for x := 0.0; x < math.Pi/4; x += 0.0003 {
		sin, cos := sincos(x)
		near("sin", x, sin, math.Sin(x))
		near("cos", x, cos, math.Cos(x))
	}
	for y := -9.0; y < 10; y++ {
		for x := -9.0; x < 10; x++ {
			near("atan2", y*100+x, atan2(y, x), math.Atan2(y, x))
		}
	}
}

func TestCisIsExactWhereItCanBe(t *testing.T) {
	for n := 1; n < 50; n++ {
		for a := -60; a < 60; a++ {
			re, im := cis(a, n)
			sin, cos := math.Sincos(2 * math.Pi * float64(a) / float64(n))
			if math.Abs(re-cos) > 1e-13 || math.Abs(im-sin) > 1e-13 {
				t.Fatalf("cis(%d, %d) = %v, %v", a, n, re, im)
			}
			if 4*a%n == 0 && re*im != 0 {
				t.Errorf("cis(%d, %d) = %v, %v off the axes", a, n, re, im)
			}
		}
	}
}
