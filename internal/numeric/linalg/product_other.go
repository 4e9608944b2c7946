//go:build !amd64 || noasm || gccgo || safe || purego

package linalg

// Dot returns the inner product of two vectors of equal length.
func Dot(a, b []float64) float64 { return dot(a, b) }

// Axpy adds f times x to y.
func Axpy(f float64, x, y []float64) { axpy(f, x, y) }

// Axpy32 adds f times x to y.
func Axpy32(f float32, x, y []float32) { axpy(f, x, y) }
