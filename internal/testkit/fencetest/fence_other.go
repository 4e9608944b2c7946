//go:build !(darwin || linux)

package fencetest

import "testing"

// Fenced reports whether slices lie at the end of mapped memory on this system.
const Fenced = false

func bytes(_ testing.TB, n int) []byte { return make([]byte, n) }
