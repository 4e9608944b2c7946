//go:build !purego

package model

import "golang.org/x/sys/cpu"

// kernels are what the tests run; use switches to one of them.
func kernels() []string {
	if cpu.X86.HasAVX2 {
		return []string{"go", "avx2"}
	}
	return []string{"go"}
}

func use(name string) { vector = name == "avx2" }
