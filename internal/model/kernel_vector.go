//go:build (amd64 || arm64) && !purego

package model

// Kernels with AVX2 and NEON. Those of arm64 are checked under emulation, not timed on hardware; a set of rows is two
// registers there. Each does what its name with Go does, for the lengths that its caller below makes sure of.

//go:noescape
func finiteVector(x *float32, n int) bool // a multiple of 32

//go:noescape
func quantizeVector(dst *uint64, x *float32, windows *float64, n int)

//go:noescape
func quantize4Vector(dst *uint64, x0, x1, x2, x3 *float32, windows *float64, n int)

//go:noescape
func transposeVector(a *uint64)

//go:noescape
func laddersVector(dst, planes *uint64, places *uint32, n int)

//go:noescape
func testsVector(right, ladder *uint64, t *uint16, n int)

//go:noescape
func trees2Vector(say, right *uint64, splits, invert *uint32, n int)

//go:noescape
func trees4Vector(say, right *uint64, splits, invert *uint32, n int)

func finite(x []float32) bool {
	const step = 32
	n := len(x)
	if !vector || n < step {
		return finiteGo(x)
	}
	return finiteVector(&x[0], n&^(step-1)) && finiteVector(&x[n-step], step)
}

func quantize(dst []uint64, x []float32, windows []window) {
	if !vector || len(windows) == 0 {
		quantizeGo(dst, x, windows)
		return
	}
	_, _ = dst[len(windows)-1], x[windows[len(windows)-1].at+7] // the last is the rightmost
	quantizeVector(&dst[0], &x[0], &windows[0].lo[0], len(windows))
}

func quantize4(dst [][64]set, i int, x *[4][]float32, windows []window) {
	if !vector || len(windows) == 0 {
		quantize4Go(dst, i, x, windows)
		return
	}
	_ = dst[len(windows)-1]
	for _, row := range x {
		_ = row[windows[len(windows)-1].at+7]
	}
	quantize4Vector(&dst[0][i][0], &x[0][0], &x[1][0], &x[2][0], &x[3][0], &windows[0].lo[0], len(windows))
}

func transpose(a *[64]set) {
	if vector {
		transposeVector(&a[0][0])
		return
	}
	transposeGo(a)
}

func ladders(dst []ladder, planes [][64]set, places []uint32) {
	if !vector || len(places) == 0 {
		laddersGo(dst, planes, places)
		return
	}
	_ = dst[len(places)-1]
	laddersVector(&dst[0][0][0], &planes[0][0][0], &places[0], len(places))
}

func tests(right []set, l []ladder, t []test) {
	if !vector || len(t) == 0 {
		testsGo(right, l, t)
		return
	}
	_ = right[len(t)-1]
	testsVector(&right[0][0], &l[0][0][0], &t[0].low, len(t))
}

func trees(depth int, say, right []set, splits, invert []uint32) {
	if !vector || len(say) == 0 || depth%2 == 1 {
		treesGo(depth, say, right, splits, invert)
		return
	}
	_, _ = splits[len(say)*Splits(depth)-1], invert[len(say)<<(depth-1)-1]
	if depth == 2 {
		trees2Vector(&say[0][0], &right[0][0], &splits[0], &invert[0], len(say))
	} else {
		trees4Vector(&say[0][0], &right[0][0], &splits[0], &invert[0], len(say))
	}
}
