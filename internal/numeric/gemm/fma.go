//go:build !arm64

package gemm

import "math"

// addTimes sets every c_j to a*b_j + c_j, rounded once to float32.
//
// The product of two float32 values is exact in float64, so the sum s is rounded once, to 53 bits; rounding it again to
// 24 bits is correct unless s lies exactly halfway between two float32 values, or is subnormal, where the midpoints are
// elsewhere.
func addTimes(c *[tileCols]float32, a float32, b *[tileCols]float32) {
	const (
		rest     = 1<<29 - 1 // bits that float32 has no room for
		smallest = (1023 - 126) << 52
	)
	wide := float64(a)
	for j, v := range b {
		s := wide*float64(v) + float64(c[j])
		u := math.Float64bits(s)
		if u&rest == 1<<28 || u&(1<<63-1) < smallest {
			c[j] = fma(a, v, c[j])
		} else {
			c[j] = float32(s)
		}
	}
}
