package svm

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/testkit/fencetest"
	"hashgrove/internal/testkit/needs"
)

// TestKernelsStayInside compares the kernels with what they mean, bit by bit, where memory ends behind all that they
// may touch. The floats are of all sizes, zeros of both signs among them.
func TestKernelsStayInside(t *testing.T) {
	needs.Kernels(t, hasKernels)
	rng := rand.New(rand.NewPCG(10, 10))
	fill := func(v []float32) {
		for i := range v {
			switch rng.IntN(8) {
			case 0: // a zero, or a value below the normal range
				v[i] = math.Float32frombits(rng.Uint32() & (1<<31 | (1<<rng.IntN(24) - 1)))
			case 1: // any value below 2
				v[i] = math.Float32frombits(rng.Uint32() &^ (1 << 30))
			default:
				v[i] = rng.Float32()*2 - 1
			}
		}
	}
	same := func(a, b []float32) bool {
		return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
	}
	for turns := range 71 {
		n := turns * turn
		var x [4][]uint8
		for r := range x {
			x[r] = fencetest.Slice[uint8](t, n)
			for j := range x[r] {
				x[r][j] = uint8(rng.IntN(256)) * uint8(min(rng.IntN(4), 1)) // zeros too
			}
		}
		v, y := fencetest.Slice[float32](t, n), fencetest.Slice[float32](t, n)
		fill(v)
		fill(y)
		got, want := &fencetest.Slice[[turn]float32](t, 1)[0], new([turn]float32)
		dotBytes(got, x[0], v)
		dotGo(want, x[0], v)
		if !same(got[:], want[:]) {
			t.Errorf("dot of %d values differs", n)
		}
		a := &fencetest.Slice[[4]float32](t, 1)[0]
		fill(a[:])
		z := slices.Clone(y)
		addBytes(y, a, x[0], x[1], x[2], x[3])
		addGo(z, a, x[0], x[1], x[2], x[3])
		if !same(y, z) {
			t.Errorf("sum of %d values differs", n)
		}
	}
}
