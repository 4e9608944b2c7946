// Package fencetest allocates memory for tests of kernels. Assembly reads and writes through pointers, and the memory
// behind a slice usually belongs to the program too, so one step too far goes unnoticed. Here it ends the test.
package fencetest

import (
	"testing"
	"unsafe"
)

// Slice lends n zeros until the test ends. They end where memory ends, so that a read or write of even one byte more is
// a fault. On systems where that cannot be had it is a slice like any other. T must hold no pointers.
func Slice[T any](t testing.TB, n int) []T {
	t.Helper()
	if n == 0 {
		return nil
	}
	var value T
	b := bytes(t, n*int(unsafe.Sizeof(value)))
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), n)
}
