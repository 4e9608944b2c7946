//go:build !purego

package model

// kernels are what the tests run; use switches to one of them.
func kernels() []string { return []string{"go", "neon"} }

func use(name string) { vector = name == "neon" }
