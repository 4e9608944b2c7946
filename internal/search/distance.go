package search

import (
	"math"

	"hashgrove/api"
	"hashgrove/internal/vectors"
)

// distance returns the distance of a vector from query i, or possibly infinity if it exceeds the bound.
type distance func(i int, y []float32, bound float64) float64

// newDistance returns the distance with a name, which must be valid. A vector with missing values is infinitely far.
func newDistance(name string, queries vectors.Matrix) distance {
	return func(i int, y []float32, bound float64) (d float64) {
		if name == api.Cosine {
			d = cosine(queries.Row(i), y)
		} else {
			d = euclidean(queries.Row(i), y, bound)
		}
		if math.IsNaN(d) {
			return math.Inf(1)
		}
		return d
	}
}

// euclidean returns the Euclidean distance, or infinity if it exceeds the bound: most items are far away, and the first
// values show it.
func euclidean(x, y []float32, bound float64) float64 {
	const step = 32
	most := float64(bound*bound) * (1 + 1e-9) // rounding must not hide an item at the bound
	var s0, s1, s2, s3 float64                // four sums, because each addition depends on the previous one
	for len(x) >= step && len(y) >= step {
		a, b := x[:step], y[:step]
		for j := 0; j < step; j += 4 {
			d0, d1 := float64(a[j])-float64(b[j]), float64(a[j+1])-float64(b[j+1])
			d2, d3 := float64(a[j+2])-float64(b[j+2]), float64(a[j+3])-float64(b[j+3])
			s0, s1, s2, s3 = s0+float64(d0*d0), s1+float64(d1*d1), s2+float64(d2*d2), s3+float64(d3*d3)
		}
		if s0+s1+s2+s3 > most {
			return math.Inf(1)
		}
		x, y = x[step:], y[step:]
	}
	sum := s0 + s1 + s2 + s3
	for j, a := range x {
		d := float64(a) - float64(y[j])
		sum += float64(d * d)
	}
	return math.Sqrt(sum)
}

// cosine returns 1 minus the cosine of the angle; a zero vector is orthogonal to everything.
func cosine(x, y []float32) float64 {
	xy, xx, yy := 0.0, 0.0, 0.0
	for j := range x {
		a, b := float64(x[j]), float64(y[j])
		xy += float64(a * b)
		xx += float64(a * a)
		yy += float64(b * b)
	}
	if xx == 0 || yy == 0 {
		return 1
	}
	return max(0, 1-xy/(math.Sqrt(xx)*math.Sqrt(yy))) // rounding can make the cosine of equal directions more than 1
}
