package hamming

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestWeights(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		margins []float32
		want    []uint8
	}{
		{nil, []uint8{}},
		{[]float32{0, 0, 0}, []uint8{16, 16, 16}},
		{[]float32{-3}, []uint8{16}},
		{[]float32{1, -1, 1, -1}, []uint8{16, 16, 16, 16}},
		{[]float32{1, -3}, []uint8{8, 24}},
		{[]float32{0, 2, 0, -2}, []uint8{0, 32, 0, 32}},
		{[]float32{31, 1}, []uint8{31, 1}},
		{[]float32{63, 1}, []uint8{32, 1}},                                    // 31.5 and 0.5 are rounded up
		{[]float32{0, 0, 0, 0, 0, 0, 0, 9}, []uint8{0, 0, 0, 0, 0, 0, 0, 63}}, // 128 is cut
		{[]float32{1e-40, 3e-40}, []uint8{8, 24}},
		{[]float32{math.MaxFloat32, math.MaxFloat32}, []uint8{16, 16}},
		{[]float32{inf, -inf, 1, 0}, []uint8{32, 32, 0, 0}},
	} {
		if got := Weights(c.margins, 0); !slices.Equal(got, c.want) {
			t.Errorf("margins %v: weights %v, want %v", c.margins, got, c.want)
		}
	}
}

func TestSignsOfScores(t *testing.T) {
	code := []uint64{math.MaxUint64}
	SetSigns(code, []float32{1, -1, 0, float32(math.Copysign(0, -1)), float32(math.Inf(1)), float32(math.Inf(-1))})
	if code[0] != 0b101010<<58 {
		t.Errorf("signs %064b", code[0])
	}
}

// TestDetailFollowsTheClass joins codes of all lengths bit by bit, and weighs their bits by Hamming distance.
func TestDetailFollowsTheClass(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for range 200 {
		class, detail := 1+rng.IntN(130), 1+rng.IntN(130)
		a, b, both := NewCodes(1, class), NewCodes(1, detail), NewCodes(1, class+detail)
		weights := EqualWeights(class+detail, detail)
		for bit := range class + detail {
			of, at, weight := a, bit, BitUnits
			if bit >= class {
				of, at, weight = b, bit-class, DetailUnits
			}
			of.SetBit(0, at, rng.IntN(2) == 0)
			both.SetBit(0, bit, of.Bit(0, at))
			if int(weights[bit]) != weight {
				t.Fatalf("bit %d of %d and %d weighs %d", bit, class, detail, weights[bit])
			}
		}
		joined := NewCodes(1, class+detail)
		if Join(joined.Data, a.Data, class, b.Data); !slices.Equal(joined.Data, both.Data) {
			t.Fatalf("%x and %x of %d and %d bits are joined to %x", a.Data, b.Data, class, detail, joined.Data)
		}
	}
}

// TestWeightsFollowMargins checks what every use relies on: scale and signs change nothing, a larger margin never
// weighs less, and the sum fits in 16 bits.
func TestWeightsFollowMargins(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for _, n := range []int{1, 8, 33, 64, MaxWeightedBits} {
		margins, scaled := make([]float32, n), make([]float32, n)
		for b := range margins {
			margins[b] = float32(math.Exp(3*rng.NormFloat64()) * rng.NormFloat64())
			scaled[b] = -4 * margins[b]
		}
		weights := Weights(margins, 0)
		if again := Weights(scaled, 0); !slices.Equal(weights, again) {
			t.Fatalf("%v and, scaled, %v", weights, again)
		}
		sum := 0
		for b, w := range weights {
			sum += int(w)
			for c, v := range weights {
				if math.Abs(float64(margins[b])) > math.Abs(float64(margins[c])) && w < v {
					t.Fatalf("margins %v and %v weigh %d and %d", margins[b], margins[c], w, v)
				}
			}
		}
		if sum > math.MaxUint16 {
			t.Fatalf("a distance of %d", sum)
		}
	}
	if MaxWeight*MaxWeightedBits > math.MaxUint16 || 4*MaxWeight > math.MaxUint8 {
		t.Error("distances do not fit 16 bits, or four weights do not fit a byte")
	}
}

// weightedByBits is the definition, bit by bit.
func weightedByBits(a, b []uint64, weights []uint8) int {
	d := 0
	for bit, w := range weights {
		if a[bit/64]>>(63-bit%64)&1 != b[bit/64]>>(63-bit%64)&1 {
			d += int(w)
		}
	}
	return d
}
