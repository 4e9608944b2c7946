package gemm

// addTimes sets every c_j to a*b_j + c_j, rounded once to float32. The compiler turns this into one instruction,
// which a test checks.
func addTimes(c *[tileCols]float32, a float32, b *[tileCols]float32) {
	for j, v := range b {
		c[j] += a * v
	}
}
