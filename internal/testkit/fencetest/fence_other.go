//go:build !(darwin || linux)

package fencetest

import "testing"

func bytes(_ testing.TB, n int) []byte { return make([]byte, n) }
