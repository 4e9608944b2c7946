package gemm

import "math"

// fma returns a*b + c, rounded once to float32, for all values.
//
// The sum is rounded to odd first: where it is not exact, to that neighbour in float64 whose last bit is 1 (Boldo and
// Melquiond, IEEE TC 2008). Such a value is never a border between two float32, so the second rounding is right.
func fma(a, b, c float32) float32 {
	p, q := float64(a)*float64(b), float64(c)
	s := p + q
	// What the sum lost, exactly (Knuth's two-sum).
	r := s - p
	lost := (p - (s - r)) + (q - r)
	u := math.Float64bits(s)
	if lost != 0 && u&1 == 0 && !math.IsInf(s, 0) {
		if lost > 0 == (s > 0) {
			u++
		} else {
			u--
		}
	}
	return float32(math.Float64frombits(u))
}
