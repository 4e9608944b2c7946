//go:build !purego

package gemm

import "golang.org/x/sys/cpu"

//go:generate go -C ../../../x/kernels run ./gemm -out ../../internal/numeric/gemm/kernel_amd64.s -stubs ../../internal/numeric/gemm/stubs_amd64.go -pkg gemm

// hasKernel reports whether this machine has the instructions of kernelAVX2.
var hasKernel = cpu.X86.HasAVX2 && cpu.X86.HasFMA

func init() {
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
