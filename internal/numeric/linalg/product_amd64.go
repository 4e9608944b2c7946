//go:build !noasm && !gccgo && !safe && !purego

package linalg

import (
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/floats"
)

// Dot returns the inner product of two vectors of equal length.
func Dot(a, b []float64) float64 { return floats.Dot(a, b) }

// Axpy adds f times x to y.
func Axpy(f float64, x, y []float64) { floats.AddScaled(y, f, x) }

// Axpy32 adds f times x to y.
func Axpy32(f float32, x, y []float32) {
	blas32.Axpy(f, blas32.Vector{N: len(x), Inc: 1, Data: x}, blas32.Vector{N: len(y), Inc: 1, Data: y})
}
