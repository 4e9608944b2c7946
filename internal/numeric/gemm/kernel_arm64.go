//go:build !purego

package gemm

// hasKernel is true because every arm64 has the instructions of kernelNEON.
const hasKernel = true

// kernelNEON is kernelGo with NEON.
//
//go:noescape
func kernelNEON(k int, a, b, c *float32, stride int, load bool)

// kernel calls kernelNEON. The pointers must have room for a whole tile.
func kernel(k int, a, b, c *float32, stride int, load bool) { kernelNEON(k, a, b, c, stride, load) }
