//go:build !(darwin || linux)

package fencetest

import "testing"

// Fenced is whether memory ends behind a slice on this system.
const Fenced = false

func bytes(_ testing.TB, n int) []byte { return make([]byte, n) }
