package dictionary

import (
	"math"
	"math/rand/v2"
	"testing"

	"hashgrove/internal/testkit/fencetest"
	"hashgrove/internal/testkit/needs"
)

// TestKernelAgrees compares the kernel with plain Go, bit by bit.
func TestKernelAgrees(t *testing.T) {
	needs.Kernels(t, hasKernels)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 3, 7, 16, 33} {
		z := make([]float32, 16*n)
		for i := range z {
			z[i] = float32(rng.IntN(9)-4) / 2 // many ties
		}
		var v, u [16]float32
		var i, k [16]int32
		greatest(&v, &i, z)
		greatestGo(&u, &k, z)
		if v != u || i != k {
			t.Errorf("greatest of %d rows differs", n)
		}
	}
}

// TestKernelStaysInside does the same for up to 70 rows of values of all sizes, with memory ending right after
// everything the kernel may touch.
func TestKernelStaysInside(t *testing.T) {
	needs.Kernels(t, hasKernels)
	rng := rand.New(rand.NewPCG(3, 4))
	for n := range 71 {
		z := fencetest.Slice[float32](t, 16*n)
		for i := range z {
			z[i] = math.Float32frombits(rng.Uint32() &^ (1 << 30) >> (rng.IntN(2) * rng.IntN(32)))
			if i >= 16 && rng.IntN(3) == 0 { // a tie, perhaps with the other sign
				z[i] = z[i-16] * float32(1-2*rng.IntN(2))
			}
		}
		value, index := &fencetest.Slice[[16]float32](t, 1)[0], &fencetest.Slice[[16]int32](t, 1)[0]
		var wantValue [16]float32
		var wantIndex [16]int32
		greatest(value, index, z)
		greatestGo(&wantValue, &wantIndex, z)
		for j := range value {
			if math.Float32bits(value[j]) != math.Float32bits(wantValue[j]) || index[j] != wantIndex[j] {
				t.Errorf("column %d of %d rows: %v in row %d, want %v in row %d",
					j, n, value[j], index[j], wantValue[j], wantIndex[j])
			}
		}
	}
}
