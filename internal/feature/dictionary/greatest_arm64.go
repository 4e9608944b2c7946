//go:build !purego

package dictionary

// hasKernels reports whether this machine has the instructions of the kernel: every arm64 has NEON.
const hasKernels = true

func greatest(value *[16]float32, index *[16]int32, z []float32) {
	if len(z) == 0 {
		greatestGo(value, index, z)
		return
	}
	greatestNEON(value, index, &z[0], len(z)/16)
}

// greatestNEON is greatestGo with NEON, for one row at least.
//
//go:noescape
func greatestNEON(value *[16]float32, index *[16]int32, z *float32, rows int)
