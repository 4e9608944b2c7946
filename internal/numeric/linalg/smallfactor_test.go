package linalg

import (
	"math"
	"slices"
	"testing"

	"hashgrove/internal/numeric/gemm"
	"hashgrove/internal/testkit/methodtest"
)

// slowBlock defines the small factor and its inverse: one chain per value, in the order of k.
func slowBlock(a []float32, w int) (inverse []float32) {
	l, v := make([]float64, w*w), make([]float64, w*w)
	for i := range w {
		for j := range i + 1 {
			sum := float64(a[i*w+j])
			for k := range j {
				sum -= float64(l[i*w+k] * l[j*w+k])
			}
			if j == i {
				l[i*w+i] = math.Sqrt(sum)
			} else {
				l[i*w+j] = sum / l[j*w+j]
			}
		}
	}
	for i := range w {
		for j := range i + 1 {
			sum := 0.0
			for k := j; k < i; k++ {
				sum -= float64(l[i*w+k] * v[k*w+j])
			}
			if j == i {
				sum = 1
			}
			v[i*w+j] = sum / l[i*w+i]
		}
	}
	return Float32s(v)
}

func TestSmallFactorIsTheDefinition(t *testing.T) {
	var s smallFactor // whose memory is used again
	for _, w := range []int{1, 2, ridgePanel, 3, 7, 15, 16, 17, 33, ridgePanel - 1, ridgePanel} {
		x := methodtest.RandomRows(uint64(w), w+2, w+2)
		for i := range x.Rows {
			x.Row(i)[i] += float32(4 * w)
		}
		block := make([]float32, w*w)
		for i := range w {
			copy(block[i*w:], x.Row(2 + i)[2:])
		}
		if !s.factor(x, 2, w) {
			t.Fatalf("%d columns: a pivot is not positive", w)
		}
		got := slices.Repeat([]float32{7}, w*w)
		s.invert(gemm.RowMajor(w, w, got))
		if !slices.Equal(got, slowBlock(block, w)) {
			t.Errorf("%d columns: the inverse differs from the definition", w)
		}
		for _, v := range []float64{0, -1, math.NaN(), math.Inf(1)} {
			x.Row(w + 1)[w+1] = float32(v)
			if s.factor(x, 2, w) {
				t.Errorf("%d columns: a pivot of %v was taken", w, v)
			}
		}
	}
}
