//go:build !purego

package linalg

import "golang.org/x/sys/cpu"

//go:generate go -C ../../../x/kernels run ./linalg -out ../../internal/numeric/linalg/kernel_amd64.s -stubs ../../internal/numeric/linalg/stubs_amd64.go -pkg linalg

// hasKernel reports whether this machine has the instructions of subtractAVX2.
var hasKernel = cpu.X86.HasAVX2

// subtract picks the fastest kernel.
func subtract(n, stride int, f, x, y []float64) {
	if n == 0 {
		return
	}
	if hasKernel {
		_, _, _ = f[(n-1)*stride], x[(n-1)*stride+subtractCols-1], y[subtractCols-1] // which it does not check
		subtractAVX2(n, stride, &f[0], &x[0], &y[0])
		return
	}
	subtractGo(n, stride, f, x, y)
}
