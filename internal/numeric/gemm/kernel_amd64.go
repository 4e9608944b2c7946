//go:build !purego

package gemm

import "golang.org/x/sys/cpu"

// hasKernel reports whether this machine has the instructions of kernelAVX2.
var hasKernel = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// kernelAVX2 is kernelGo with AVX2 and FMA.
//
//go:noescape
func kernelAVX2(k int, a, b, c *float32, stride int, load bool)

// kernelsAVX512 is kernelGo twice, for two panels of A that follow each other.
//
//go:noescape
func kernelsAVX512(k int, a, b, c *float32, stride int, load bool)

// narrowAVX512 sets a tile of 12 rows, one behind the other, to rows of A, step values apart, times a panel of B.
//
//go:noescape
func narrowAVX512(k int, a *float32, step int, b, c *float32)

// rowAVX2 sets 64 values of C to a row of A times four panels of B that follow each other.
//
//go:noescape
func rowAVX2(k int, a, b, c *float32)

func init() {
	if hasKernel {
		oneRow = rowAVX2
	}
	if hasKernel && cpu.X86.HasAVX512F {
		pairs, narrow = kernelsAVX512, narrowAVX512
	}
}

// kernel picks the fastest kernel. The pointers must have room for a whole tile.
func kernel(k int, a, b, c *float32, stride int, load bool) {
	if hasKernel {
		kernelAVX2(k, a, b, c, stride, load)
		return
	}
	kernelPlain(k, a, b, c, stride, load)
}
