// Package fencetest allocates memory for tests of kernels. Assembly accesses memory through pointers, and the memory
// after a slice usually belongs to the program too, so overruns go unnoticed. Here they crash the test.
package fencetest

import (
	"testing"
	"unsafe"
)

// Slice returns n zeros, valid until the test ends. They lie at the end of mapped memory, so accessing even one byte
// more is a fault. On systems without this it returns an ordinary slice. T must not contain pointers.
func Slice[T any](t testing.TB, n int) []T {
	t.Helper()
	if n == 0 {
		return nil
	}
	var value T
	b := bytes(t, n*int(unsafe.Sizeof(value)))
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), n)
}
