//go:build !purego

package svm

// hasKernels is true, since every arm64 has NEON.
const hasKernels = true

func dotBytes(sum *[turn]float32, x []uint8, v []float32) {
	if len(x) < turn {
		dotGo(sum, x, v)
		return
	}
	_ = v[len(x)-1]
	dotNEON(sum, &x[0], &v[0], len(x)/turn)
}

func addBytes(y []float32, a *[4]float32, x0, x1, x2, x3 []uint8) {
	if len(y) < turn {
		addGo(y, a, x0, x1, x2, x3)
		return
	}
	n := len(y) - 1
	_, _, _, _ = x0[n], x1[n], x2[n], x3[n]
	addNEON(&y[0], a, &x0[0], &x1[0], &x2[0], &x3[0], len(y)/turn)
}

// dotNEON is dotGo with NEON.
//
//go:noescape
func dotNEON(sum *[32]float32, x *uint8, v *float32, turns int)

// addNEON is addGo with NEON.
//
//go:noescape
func addNEON(y *float32, a *[4]float32, x0, x1, x2, x3 *uint8, turns int)
