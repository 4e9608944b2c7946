package hamming

// Switches for the benchmarks, which search with package index.
var (
	Kernels = kernels
	Use     = use
)
