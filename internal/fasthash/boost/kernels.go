package boost

// Operations on whole histograms have AVX2 kernels where available, since the plain loops took a sixth of AdaBoost's
// time, and NEON kernels on arm64. All are sums of integers, so the results are the same. kernels_amd64.go chooses.

// extremesGo returns the least and the greatest prefix sum of the bins, including the empty one.
func extremesGo(h *histogram) (low, high int32) {
	sum := int32(0)
	for _, m := range h {
		sum += m
		low, high = min(low, sum), max(high, sum)
	}
	return low, high
}

// addBinsGo sets out to a + b, bin by bin.
func addBinsGo(out, a, b *histogram) {
	for i := range out {
		out[i] = a[i] + b[i]
	}
}

// subtractBinsGo sets out to a - b, bin by bin.
func subtractBinsGo(out, a, b *histogram) {
	for i := range out {
		out[i] = a[i] - b[i]
	}
}
