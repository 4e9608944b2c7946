//go:build (!amd64 && !arm64) || purego

package hamming

// Kernel returns the name of the kernels in use.
func Kernel() string { return "go" }

func below(dst []uint32, q, codes []uint64, stride int, last uint64, limit int) int {
	return belowGo(dst, q, codes, stride, last, limit)
}
