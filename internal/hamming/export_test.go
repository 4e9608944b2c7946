package hamming

// What the benchmarks, which search with package index, switch between.
var (
	Kernels = kernels
	Use     = use
)
