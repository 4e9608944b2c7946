package feature

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/testkit/fencetest"
	"hashgrove/internal/testkit/needs"
)

// TestKernelsAgree compares every kernel with plain Go, bit by bit.
func TestKernelsAgree(t *testing.T) {
	needs.Kernels(t, hasKernels)
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

// anyFloats fills v with values of all sizes below 2, zeros of both signs among them.
func anyFloats(rng *rand.Rand, v []float32) {
	for i := range v {
		switch rng.IntN(8) {
		case 0: // a zero, or a value below the normal range
			v[i] = math.Float32frombits(rng.Uint32() & (1<<31 | (1<<rng.IntN(24) - 1)))
		case 1:
			v[i] = math.Float32frombits(rng.Uint32() &^ (1 << 30))
		default:
			v[i] = rng.Float32()*2 - 1
		}
	}
}

// anyNumbers returns n complex numbers of all sizes at the end of mapped memory.
func anyNumbers(t *testing.T, rng *rand.Rand, n int) []complex8 {
	v := fencetest.Slice[complex8](t, n)
	for i := range v {
		anyFloats(rng, v[i].re[:])
		anyFloats(rng, v[i].im[:])
	}
	return v
}

func anyIndices(t *testing.T, rng *rand.Rand, n, below int) []int32 {
	v := fencetest.Slice[int32](t, n)
	for i := range v {
		v[i] = int32(rng.IntN(below))
	}
	return v
}

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

func sameNumbers(a, b []complex8) bool {
	return slices.EqualFunc(a, b, func(x, y complex8) bool {
		return sameBits(x.re[:], y.re[:]) && sameBits(x.im[:], y.im[:])
	})
}

// TestTransformsStayInside compares the kernels of the Fourier transform with plain Go, bit by bit, with memory ending
// right after everything they may touch.
func TestTransformsStayInside(t *testing.T) {
	needs.Kernels(t, hasKernels)
	rng := rand.New(rand.NewPCG(3, 4))
	for n := range 71 {
		x, scale := anyNumbers(t, rng, 70), fencetest.Slice[float32](t, n)
		anyFloats(rng, scale)
		got, want := anyNumbers(t, rng, n), make([]complex8, n)
		order := anyIndices(t, rng, n, len(x))
		gather(got, x, order, scale)
		gatherGo(want, x, order, scale)
		if !sameNumbers(got, want) {
			t.Errorf("gather of %d differs", n)
		}

		sum, like := &fencetest.Slice[vector](t, 1)[0], new(vector)
		magnitude(sum, x[len(x)-n:])
		magnitudeGo(like, x[len(x)-n:])
		if !sameBits(sum[:], like[:]) {
			t.Errorf("magnitude of %d differs", n)
		}

		p, m := 1+n%9, 1+rng.IntN(7)
		x, start, w := anyNumbers(t, rng, p*m), anyIndices(t, rng, n, m), fencetest.Slice[float32](t, 2*(p-1)*n)
		anyFloats(rng, w)
		combine(got, x, start, p, m, w)
		combineGo(want, x, start, p, m, w)
		if !sameNumbers(got, want) {
			t.Errorf("combine of %d outputs of %d terms, %d apart, differs", n, p, m)
		}

		factors := &fencetest.Slice[[6]vector](t, 1)[0]
		for i := range factors {
			anyFloats(rng, factors[i][:])
		}
		for _, w := range []*[6]vector{nil, factors} {
			x := anyNumbers(t, rng, max(0, 4*m*n-m+1)) // the last number of the last block is the last of all
			y := slices.Clone(x)
			radix4(x, m, n, w)
			radix4Go(y, m, n, w)
			if !sameNumbers(x, y) {
				t.Errorf("radix4 of %d blocks, %d apart, differs", n, m)
			}
		}
	}
}

// TestFoldsStayInside does the same for folding rows.
func TestFoldsStayInside(t *testing.T) {
	needs.Kernels(t, hasKernels)
	rng := rand.New(rand.NewPCG(5, 6))
	shift := &fencetest.Slice[[16]float32](t, 1)[0]
	acc, like := &fencetest.Slice[[16]float32](t, 1)[0], new([16]float32)
	for n := range 71 {
		z := fencetest.Slice[float32](t, 16*n)
		anyFloats(rng, z)
		anyFloats(rng, shift[:8])
		for j := range 8 { // zeros stay what they are, with their signs
			shift[8+j] = float32(math.Copysign(0, -1))
		}
		for i := range z { // columns of nothing but zeros: of two equal ones the first stays
			if i%16 >= 12 {
				z[i] = float32(math.Copysign(0, rng.Float64()-0.5))
			}
		}
		for how := sumAbove; how <= minBelow; how++ {
			clear(acc[:])
			if how == maxAbove || how == minBelow { // either zero may come first
				anyFloats(rng, acc[:4])
				acc[13] = float32(math.Copysign(0, -1))
			}
			*like = *acc
			foldRows(how, acc, shift, z)
			foldGo(how, like, shift, z)
			if !sameBits(acc[:], like[:]) {
				t.Errorf("fold %d of %d rows differs: %v and %v", how, n, *acc, *like)
			}
		}
	}
}
