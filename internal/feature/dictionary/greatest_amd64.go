//go:build !purego

package dictionary

import (
	"golang.org/x/sys/cpu"
)

//go:generate go -C ../../../x/kernels run ./feature -out ../../internal/feature/dictionary/greatest_amd64.s -stubs ../../internal/feature/dictionary/stubs_amd64.go -pkg dictionary

// hasKernels reports whether this machine has the instructions of the kernel.
var hasKernels = cpu.X86.HasAVX2

func greatest(value *[16]float32, index *[16]int32, z []float32) {
	if !hasKernels || len(z) == 0 {
		greatestGo(value, index, z)
		return
	}
	greatestAVX2(value, index, &z[0], len(z)/16)
}
