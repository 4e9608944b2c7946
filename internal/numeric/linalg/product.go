// Products of vectors, defined to the bit: products are never fused with sums, and sums are taken in the order below
// on every kind of machine. On amd64 Dot, Axpy and Axpy32 use gonum's kernels, which a test compares with these
// definitions.

package linalg

import "math"

// dot defines Dot: four independent chains keep the processor busy. The remainder goes to the first, and the chains
// are added in pairs.
func dot(a, b []float64) float64 {
	var s0, s1, s2, s3 float64
	b = b[:len(a)]
	for len(a) >= 4 {
		s0 += float64(a[0] * b[0])
		s1 += float64(a[1] * b[1])
		s2 += float64(a[2] * b[2])
		s3 += float64(a[3] * b[3])
		a, b = a[4:], b[4:]
	}
	for i, v := range a {
		s0 += float64(v * b[i])
	}
	return (s0 + s2) + (s1 + s3)
}

// axpy defines Axpy and Axpy32.
func axpy[T float32 | float64](f T, x, y []T) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += T(f * v)
	}
}

// Dot32 returns the inner product of two vectors, summed in double precision in the order of Dot.
func Dot32(a, b []float32) float64 {
	var s0, s1, s2, s3 float64
	b = b[:len(a)]
	for len(a) >= 4 {
		s0 += float64(float64(a[0]) * float64(b[0]))
		s1 += float64(float64(a[1]) * float64(b[1]))
		s2 += float64(float64(a[2]) * float64(b[2]))
		s3 += float64(float64(a[3]) * float64(b[3]))
		a, b = a[4:], b[4:]
	}
	for i, v := range a {
		s0 += float64(float64(v) * float64(b[i]))
	}
	return (s0 + s2) + (s1 + s3)
}

// Norm returns the length of a vector.
func Norm(x []float64) float64 { return math.Sqrt(Dot(x, x)) }

// Scale multiplies x by f.
func Scale(f float64, x []float64) {
	for i := range x {
		x[i] *= f
	}
}

// rotate sets x to c x - s y, and y to s x + c y.
func rotate(x, y []float64, c, s float64) {
	y = y[:len(x)]
	for i, a := range x {
		b := y[i]
		x[i] = float64(c*a) - float64(s*b)
		y[i] = float64(s*a) + float64(c*b)
	}
}
