package search

import (
	"math"

	"hashgrove/api"
)

// distance returns the distance of two vectors: the cosine distance by name, otherwise the Euclidean one. A vector with
// missing values is infinitely far.
func distance(name string, x, y []float32) float64 {
	d := 0.0
	if name == api.Cosine {
		d = cosine(x, y)
	} else {
		d = euclidean(x, y)
	}
	if math.IsNaN(d) {
		return math.Inf(1)
	}
	return d
}

// euclidean returns the Euclidean distance.
func euclidean(x, y []float32) float64 {
	whole := len(x) &^ 31
	var s0, s1, s2, s3 float64 // four sums, because each addition depends on the previous one
	for j := 0; j < whole; j += 4 {
		a, b := x[j:j+4:j+4], y[j:j+4:j+4]
		d0, d1 := float64(a[0])-float64(b[0]), float64(a[1])-float64(b[1])
		d2, d3 := float64(a[2])-float64(b[2]), float64(a[3])-float64(b[3])
		s0, s1, s2, s3 = s0+float64(d0*d0), s1+float64(d1*d1), s2+float64(d2*d2), s3+float64(d3*d3)
	}
	sum := s0 + s1 + s2 + s3
	for j := whole; j < len(x); j++ {
		d := float64(x[j]) - float64(y[j])
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
