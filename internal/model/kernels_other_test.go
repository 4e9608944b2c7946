//go:build (!amd64 && !arm64) || purego

package model

// kernels are what the tests run; use switches to one of them.
func kernels() []string { return []string{"go"} }

func use(string) {}
