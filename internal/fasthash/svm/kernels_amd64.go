//go:build !purego

package svm

import "golang.org/x/sys/cpu"

// hasKernels reports whether this machine has the instructions of the kernels.
var hasKernels = cpu.X86.HasAVX2

// dotAVX2 is dotGo with AVX2.
//
//go:noescape
func dotAVX2(sum *[turn]float32, x *uint8, v *float32, turns int)

// addAVX2 is addGo with AVX2.
//
//go:noescape
func addAVX2(y *float32, a *[4]float32, x0, x1, x2, x3 *uint8, turns int)

func dotBytes(sum *[turn]float32, x []uint8, v []float32) {
	if !hasKernels || len(x) < turn {
		dotGo(sum, x, v)
		return
	}
	_ = v[len(x)-1]
	dotAVX2(sum, &x[0], &v[0], len(x)/turn)
}

func addBytes(y []float32, a *[4]float32, x0, x1, x2, x3 []uint8) {
	if !hasKernels || len(y) < turn {
		addGo(y, a, x0, x1, x2, x3)
		return
	}
	n := len(y) - 1
	_, _, _, _ = x0[n], x1[n], x2[n], x3[n]
	addAVX2(&y[0], a, &x0[0], &x1[0], &x2[0], &x3[0], len(y)/turn)
}
