//go:build !purego

package feature

// hasKernels reports whether this machine has the instructions of the kernels: every arm64 has NEON.
const hasKernels = true

func gather(dst, src []complex8, order []int32, scale []float32) {
	if len(order) == 0 {
		return
	}
	_, _ = dst[len(order)-1], scale[len(order)-1]
	gatherNEON(&dst[0].re[0], &src[0].re[0], &order[0], &scale[0], len(order))
}

func radix4(x []complex8, m, blocks int, w *[6]vector) {
	if blocks == 0 {
		return
	}
	_ = x[(blocks-1)*4*m+3*m]
	var first *float32
	if w != nil {
		first = &w[0][0]
	}
	radix4NEON(&x[0].re[0], m, blocks, first)
}

func combine(dst, src []complex8, start []int32, p, m int, w []float32) {
	if len(start) == 0 || p == 1 {
		combineGo(dst, src, start, p, m, w)
		return
	}
	_, _ = dst[len(start)-1], w[2*(p-1)*len(start)-1]
	combineNEON(&dst[0].re[0], &src[0].re[0], &start[0], len(start), p, m, &w[0])
}

func magnitude(sum *vector, x []complex8) {
	if len(x) > 0 {
		magnitudeNEON(&sum[0], &x[0].re[0], len(x))
	}
}

func foldRows(how fold, acc, t *[16]float32, z []float32) {
	if len(z) == 0 {
		return
	}
	switch how {
	case sumAbove:
		sumAboveNEON(acc, t, &z[0], len(z)/16)
	case sumBelow:
		sumBelowNEON(acc, t, &z[0], len(z)/16)
	case maxAbove:
		maxAboveNEON(acc, t, &z[0], len(z)/16)
	case minBelow:
		minBelowNEON(acc, t, &z[0], len(z)/16)
	}
}

// gatherNEON is gatherGo with NEON, for one number at least.
//
//go:noescape
func gatherNEON(dst, src *float32, order *int32, scale *float32, n int)

// radix4NEON is radix4Go with NEON, for one block at least.
//
//go:noescape
func radix4NEON(x *float32, m, blocks int, w *float32)

// combineNEON is combineGo with NEON, for one sum of two terms at least.
//
//go:noescape
func combineNEON(dst, src *float32, start *int32, n, p, m int, w *float32)

// magnitudeNEON is magnitudeGo with NEON, for one number at least.
//
//go:noescape
func magnitudeNEON(sum, x *float32, n int)

// sumAboveNEON is foldGo of sumAbove with NEON, for one row at least.
//
//go:noescape
func sumAboveNEON(acc, t *[16]float32, z *float32, rows int)

// sumBelowNEON is foldGo of sumBelow with NEON, for one row at least.
//
//go:noescape
func sumBelowNEON(acc, t *[16]float32, z *float32, rows int)

// maxAboveNEON is foldGo of maxAbove with NEON, for one row at least.
//
//go:noescape
func maxAboveNEON(acc, t *[16]float32, z *float32, rows int)

// minBelowNEON is foldGo of minBelow with NEON, for one row at least.
//
//go:noescape
func minBelowNEON(acc, t *[16]float32, z *float32, rows int)
