package feature

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"
)

// dft is the definition of the transform.
func dft(x []complex128, o int) complex128 {
	sum := complex128(0)
	for i, v := range x {
		sum += v * cmplx.Rect(1, 2*math.Pi*float64(i*o%len(x))/float64(len(x)))
	}
	return sum
}

func TestFFTIsTheDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{2, 3, 4, 6, 8, 12, 16, 18, 42, 66, 72, 74, 90, 96, 100, 126, 128, 192, 256, 288} {
		signals := make([][]complex128, lanes)
		x := make([]complex8, n)
		for l := range signals {
			for i := range n {
				v := complex(rng.Float32()-0.5, rng.Float32()-0.5)
				signals[l] = append(signals[l], complex128(v))
				x[i].re[l], x[i].im[l] = real(v), imag(v)
			}
		}
		var outputs []int
		for range n {
			outputs = append(outputs, rng.IntN(3*n)-n)
		}
		f := newFFT(n, outputs)
		buf, ones := make([]complex8, n), make([]float32, n)
		for i := range ones {
			ones[i] = 1
		}
		gather(buf, x, f.order, ones)
		got := make([]complex8, n)
		f.run(got, buf, make([]complex8, n))
		for i, o := range outputs {
			for l, s := range signals {
				want := dft(s, (o%n+n)%n)
				have := complex(float64(got[i].re[l]), float64(got[i].im[l]))
				if cmplx.Abs(have-want) > 1e-5*math.Sqrt(float64(n)) {
					t.Fatalf("n = %d: output %d of signal %d is %v, want %v", n, o, l, have, want)
				}
			}
		}
	}
}
