//go:build (!amd64 && !arm64) || purego

package hamming

// kernels are what the tests compare with plain Go: nothing else here.
func kernels() []string { return []string{"go"} }

func use(string) {}
