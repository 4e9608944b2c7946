//go:build !purego

package gemm

// hasKernel is whether this machine has the instructions of kernelNEON: every arm64 has them.
const hasKernel = true

// kernelNEON is kernelGo with NEON.
//
//go:noescape
func kernelNEON(k int, a, b, c *float32, stride int, load bool)

// kernel has no choice to make. The pointers must have room for a whole tile.
func kernel(k int, a, b, c *float32, stride int, load bool) { kernelNEON(k, a, b, c, stride, load) }
