package feature

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestKernelsAgree compares every kernel with what it means, bit by bit.
func TestKernelsAgree(t *testing.T) {
	if !hasKernels {
		t.Skip("this machine has the plain kernels only")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	floats := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = rng.Float32()*4 - 2
		}
		return v
	}
	numbers := func(n int) []complex8 {
		v := make([]complex8, n)
		for i := range v {
			copy(v[i].re[:], floats(lanes))
			copy(v[i].im[:], floats(lanes))
		}
		return v
	}
	for _, n := range []int{0, 1, 2, 3, 7, 16, 33} {
		x, order, scale := numbers(50), make([]int32, n), floats(n)
		for i := range order {
			order[i] = int32(rng.IntN(len(x)))
		}
		got, want := numbers(n), numbers(n)
		gather(got, x, order, scale)
		gatherGo(want, x, order, scale)
		if !slices.Equal(got, want) {
			t.Errorf("gather of %d differs", n)
		}

		var a, b vector
		magnitude(&a, x[:n])
		magnitudeGo(&b, x[:n])
		if a != b {
			t.Errorf("magnitude of %d differs", n)
		}

		for p := 1; p < 8; p++ {
			const m = 5
			x, start, w := numbers(p*m), make([]int32, n), floats(2*(p-1)*n)
			for i := range start {
				start[i] = int32(rng.IntN(m))
			}
			combine(got, x, start, p, m, w)
			combineGo(want, x, start, p, m, w)
			if !slices.Equal(got, want) {
				t.Errorf("combine of %d outputs of %d terms differs", n, p)
			}
		}

		for _, m := range []int{1, 3} {
			for _, w := range []*[6]vector{nil, turns(2, 12)} {
				x := numbers(4 * m * n)
				y := slices.Clone(x)
				radix4(x, m, n, w)
				radix4Go(y, m, n, w)
				if !slices.Equal(x, y) {
					t.Errorf("radix4 of %d blocks differs", n)
				}
			}
		}

		z := floats(16 * n)
		for i := range z {
			if rng.IntN(4) == 0 {
				z[i] = float32(rng.IntN(3)-1) * 0 // both zeros
			}
		}
		for how := sumAbove; how <= minBelow; how++ {
			var acc, like, shift [16]float32
			copy(shift[:12], floats(12))
			foldRows(how, &acc, &shift, z)
			foldGo(how, &like, &shift, z)
			for j := range acc {
				if math.Float32bits(acc[j]) != math.Float32bits(like[j]) {
					t.Errorf("fold %d of %d rows differs in column %d: %v and %v", how, n, j, acc[j], like[j])
				}
			}
		}
	}
}
