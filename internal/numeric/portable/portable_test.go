package portable

import (
	"math"
	"math/rand/v2"
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
		near("ln", x, Ln(x), math.Log(x))
	}
	for x := -60.0; x < 1; x += 0.00371 {
		near("exp", x, Exp(x)/math.Exp(x), 1)
	}
	for x := 0.0; x < math.Pi/4; x += 0.0003 {
		sin, cos := sincos(x)
		near("sin", x, sin, math.Sin(x))
		near("cos", x, cos, math.Cos(x))
	}
	for y := -9.0; y < 10; y++ {
		for x := -9.0; x < 10; x++ {
			near("atan2", y*100+x, Atan2(y, x), math.Atan2(y, x))
		}
	}
}

func TestCisIsExactWhereItCanBe(t *testing.T) {
	for n := 1; n < 50; n++ {
		for a := -60; a < 60; a++ {
			re, im := Cis(a, n)
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

func TestExpBelow(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 8))
	worst := 0.0
	for i := range 200_000 {
		x := -104 * rng.Float64()
		if i%2 == 0 {
			x = -rng.ExpFloat64()
		}
		worst = max(worst, math.Abs(ExpBelowZero(x)/math.Exp(x)-1))
	}
	if worst > 5e-16 { // two units in the last place
		t.Errorf("off by %g", worst)
	}
	for x, want := range map[float64]float64{0: 1, math.Copysign(0, -1): 1, -1000: 0, math.Inf(-1): 0,
		-math.MaxFloat64: 0, -1e-300: 1} {
		if got := ExpBelowZero(x); got != want {
			t.Errorf("exp %g = %g", x, got)
		}
	}
	// Fixed for ever, on every machine.
	for x, want := range map[float64]uint64{-0.1: 0x3fecf46d99d52b3a, -1: 0x3fd78b56362cef38, -17.25: 0x3e614f49dbc5078c,
		-100: 0x36ea8c1f14e2af5d} {
		if got := math.Float64bits(ExpBelowZero(x)); got != want {
			t.Errorf("exp %g = %#x, want %#x", x, got, want)
		}
	}
}

func TestLn(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	check := func(x float64) {
		if got, want := PreciseLn(x), math.Log(x); math.Abs(got-want) > 1e-14*max(1, math.Abs(want)) ||
			math.Abs(got-want) > 1e-14*math.Abs(want)+1e-300 {
			t.Errorf("ln %v = %v, want %v", x, got, want)
		}
	}
	for _, x := range []float64{1, 2, 0.5, 1e8, math.Sqrt2, math.Sqrt2 / 2, 1e-300, math.MaxFloat64, 1 + 1e-9, 1 - 1e-9} {
		check(x)
	}
	for range 100_000 {
		check(math.Exp(40 * (rng.Float64() - 0.5)))
		check(1 + (rng.Float64()-0.5)/4)
	}
}

func TestTanh(t *testing.T) {
	for x := -60.0; x < 60; x += 0.00371 {
		if got, want := Tanh(x), math.Tanh(x); math.Abs(got-want) > 4e-16 {
			t.Fatalf("tanh(%v) = %v, want %v", x, got, want)
		}
	}
	if Tanh(math.Inf(-1)) != -1 || Tanh(0) != 0 {
		t.Errorf("tanh of -Inf and 0: %v, %v", Tanh(math.Inf(-1)), Tanh(0))
	}
}

// TestNormalIsThatOfRand draws what math/rand draws from the same stream: equal but for the last bits of the tail.
func TestNormalIsThatOfRand(t *testing.T) {
	ours, theirs := rand.New(rand.NewPCG(1, 2)), rand.New(rand.NewPCG(1, 2))
	beyond := 0
	for i := range 1_000_000 {
		got, want := Normal(ours), theirs.NormFloat64()
		if math.Abs(want) > tailStart {
			beyond++
			if math.Abs(got-want) <= 1e-14 {
				continue
			}
		}
		if got != want {
			t.Fatalf("number %d is %v, want %v", i, got, want)
		}
	}
	if beyond < 100 {
		t.Errorf("only %d numbers are in the tail", beyond)
	}
}
