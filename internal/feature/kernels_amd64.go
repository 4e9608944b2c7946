//go:build !purego

package feature

import (
	"golang.org/x/sys/cpu"
)

//go:generate go -C ../../x/kernels run ./feature -out ../../internal/feature/kernels_amd64.s -stubs ../../internal/feature/stubs_amd64.go -pkg feature

// hasKernels reports whether this machine has the instructions of the kernels.
var hasKernels = cpu.X86.HasAVX2

func gather(dst, src []complex8, order []int32, scale []float32) {
	if !hasKernels || len(order) == 0 {
		gatherGo(dst, src, order, scale)
		return
	}
	_, _ = dst[len(order)-1], scale[len(order)-1]
	gatherAVX2(&dst[0].re[0], &src[0].re[0], &order[0], &scale[0], len(order))
}

func radix4(x []complex8, m, blocks int, w *[6]vector) {
	if !hasKernels || blocks == 0 {
		radix4Go(x, m, blocks, w)
		return
	}
	_ = x[(blocks-1)*4*m+3*m]
	var first *float32
	if w != nil {
		first = &w[0][0]
	}
	radix4AVX2(&x[0].re[0], m, blocks, first)
}

func combine(dst, src []complex8, start []int32, p, m int, w []float32) {
	if !hasKernels || len(start) == 0 || p == 1 {
		combineGo(dst, src, start, p, m, w)
		return
	}
	_, _ = dst[len(start)-1], w[2*(p-1)*len(start)-1]
	combineAVX2(&dst[0].re[0], &src[0].re[0], &start[0], len(start), p, m, &w[0])
}

func magnitude(sum *vector, x []complex8) {
	if !hasKernels || len(x) == 0 {
		magnitudeGo(sum, x)
		return
	}
	magnitudeAVX2(&sum[0], &x[0].re[0], len(x))
}

func foldRows(how fold, acc, t *[16]float32, z []float32) {
	if !hasKernels || len(z) == 0 {
		foldGo(how, acc, t, z)
		return
	}
	switch how {
	case sumAbove:
		sumAboveAVX2(acc, t, &z[0], len(z)/16)
	case sumBelow:
		sumBelowAVX2(acc, t, &z[0], len(z)/16)
	case maxAbove:
		maxAboveAVX2(acc, t, &z[0], len(z)/16)
	case minBelow:
		minBelowAVX2(acc, t, &z[0], len(z)/16)
	}
}
