package feature

import (
	"math"
)

// The inner loops of this package. None fuses a product with a sum, so they give the same bits on every processor.

// lanes is the number of pictures that GIST processes at once.
const lanes = 8

// vector holds one number of each of eight pictures.
type vector [lanes]float32

// complex8 holds one complex number of each of eight pictures.
type complex8 struct{ re, im vector }

// gather sets dst[i] = src[order[i]] * scale[i].
func gather(dst, src []complex8, order []int32, scale []float32) {
	for i, from := range order {
		s, d, v := scale[i], &dst[i], &src[from]
		for l := range lanes {
			d.re[l], d.im[l] = v.re[l]*s, v.im[l]*s
		}
	}
}

// radix4 does one butterfly in each of the blocks of 4m numbers: it multiplies numbers m, 2m and 3m by w (real and
// imaginary part of each, the same in all lanes; nil for ones) and replaces numbers 0, m, 2m and 3m with their discrete
// Fourier transform of length 4.
func radix4(x []complex8, m, blocks int, w *[6]vector) {
	for b := range blocks {
		x := x[b*4*m:]
		x0, x1, x2, x3 := &x[0], &x[m], &x[2*m], &x[3*m]
		if w != nil {
			x1.times(&w[0], &w[1])
			x2.times(&w[2], &w[3])
			x3.times(&w[4], &w[5])
		}
		for l := range lanes {
			r0, r1, r2, r3 := x0.re[l]+x2.re[l], x0.re[l]-x2.re[l], x1.re[l]+x3.re[l], x1.re[l]-x3.re[l]
			i0, i1, i2, i3 := x0.im[l]+x2.im[l], x0.im[l]-x2.im[l], x1.im[l]+x3.im[l], x1.im[l]-x3.im[l]
			x0.re[l], x0.im[l] = r0+r2, i0+i2
			x1.re[l], x1.im[l] = r1-i3, i1+r3
			x2.re[l], x2.im[l] = r0-r2, i0-i2
			x3.re[l], x3.im[l] = r1+i3, i1-r3
		}
	}
}

func (c *complex8) times(re, im *vector) {
	for l := range lanes {
		x, y := c.re[l], c.im[l]
		c.re[l], c.im[l] = float32(re[l]*x)-float32(im[l]*y), float32(re[l]*y)+float32(im[l]*x)
	}
}

// combine sets dst[i] to the sum of p numbers, m apart, starting at start[i], with all but the first multiplied by
// the next p-1 complex factors of w.
func combine(dst, src []complex8, start []int32, p, m int, w []float32) {
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

// magnitude adds the absolute values of x to sum.
func magnitude(sum *vector, x []complex8) {
	for i := range x {
		for l := range lanes {
			re, im := x[i].re[l], x[i].im[l]
			sum[l] += float32(math.Sqrt(float64(float32(re*re) + float32(im*im))))
		}
	}
}
