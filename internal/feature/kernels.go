package feature

import (
	"math"
)

// The inner loops of this package in plain Go, which define their meaning. kernels_amd64.go has them with AVX2 and
// kernels_arm64.go with NEON. None fuses a product with a sum, so all give the same bits everywhere.

// lanes is the number of pictures that GIST processes at once.
const lanes = 8

// vector holds one number of each of eight pictures.
type vector [lanes]float32

// complex8 holds one complex number of each of eight pictures.
type complex8 struct{ re, im vector }

// gatherGo sets dst[i] = src[order[i]] * scale[i].
func gatherGo(dst, src []complex8, order []int32, scale []float32) {
	for i, from := range order {
		s, d, v := scale[i], &dst[i], &src[from]
		for l := range lanes {
			d.re[l], d.im[l] = v.re[l]*s, v.im[l]*s
		}
	}
}

// radix4Go does one butterfly in each of the blocks of 4m numbers: it multiplies numbers m, 2m and 3m by w (real and
// imaginary part of each, the same in all lanes; nil for ones) and replaces numbers 0, m, 2m and 3m with their discrete
// Fourier transform of length 4.
func radix4Go(x []complex8, m, blocks int, w *[6]vector) {
	for b := range blocks {
		x := x[b*4*m:]
		x0, x1, x2, x3 := &x[0], &x[m], &x[2*m], &x[3*m]
		for l := range lanes {
			var re, im [4]float32
			for r, v := range [4]*complex8{x0, x1, x2, x3} {
				re[r], im[r] = v.re[l], v.im[l]
				if w != nil && r > 0 {
					wr, wi := w[2*r-2][l], w[2*r-1][l]
					re[r], im[r] = float32(wr*v.re[l])-float32(wi*v.im[l]), float32(wr*v.im[l])+float32(wi*v.re[l])
				}
			}
			r0, r1, r2, r3 := re[0]+re[2], re[0]-re[2], re[1]+re[3], re[1]-re[3]
			i0, i1, i2, i3 := im[0]+im[2], im[0]-im[2], im[1]+im[3], im[1]-im[3]
			x0.re[l], x0.im[l] = r0+r2, i0+i2
			x1.re[l], x1.im[l] = r1-i3, i1+r3
			x2.re[l], x2.im[l] = r0-r2, i0-i2
			x3.re[l], x3.im[l] = r1+i3, i1-r3
		}
	}
}

// combineGo sets dst[i] to the sum of p numbers, m apart, starting at start[i], with all but the first multiplied by
// the next p-1 complex factors of w.
func combineGo(dst, src []complex8, start []int32, p, m int, w []float32) {
	for i, from := range start {
		d := &dst[i]
		*d = src[from]
		for r := 1; r < p; r++ {
			v := &src[int(from)+r*m]
			wr, wi := w[0], w[1]
			w = w[2:]
			for l := range lanes {
				d.re[l] += float32(wr*v.re[l]) - float32(wi*v.im[l])
				d.im[l] += float32(wr*v.im[l]) + float32(wi*v.re[l])
			}
		}
	}
}

// magnitudeGo adds the absolute values of x to sum.
func magnitudeGo(sum *vector, x []complex8) {
	for i := range x {
		for l := range lanes {
			re, im := x[i].re[l], x[i].im[l]
			sum[l] += float32(math.Sqrt(float64(float32(re*re) + float32(im*im))))
		}
	}
}

// fold is a way to reduce values to one.
type fold int

const (
	sumAbove fold = iota // add positive values
	sumBelow             // add negative values
	maxAbove             // keep the greatest
	minBelow             // keep the least
)

// foldGo adds t to the rows of a strip of products z, 16 values each, and folds them into acc.
func foldGo(how fold, acc, t *[16]float32, z []float32) {
	for ; len(z) > 0; z = z[16:] {
		for j := range acc {
			v := z[j] + t[j]
			switch {
			case how == sumAbove:
				acc[j] += max(v, 0)
			case how == sumBelow:
				acc[j] += min(v, 0)
			case how == maxAbove && v > acc[j], how == minBelow && v < acc[j]:
				acc[j] = v
			}
		}
	}
}
