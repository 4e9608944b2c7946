package boost

import "math"

// ln is the natural logarithm of a positive x. math.Log gives other last digits on other machines, and these digits
// would reach the model. With x = m * 2^e, m within a factor sqrt(2) of 1, and s = (m-1)/(m+1),
//
//	ln x = e ln 2 + 2 (s + s^3/3 + s^5/5 + ...),   |s| < 0.172: twelve terms leave less than 1e-19.
func ln(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	s := (m - 1) / (m + 1)
	s2 := s * s
	sum := 0.0
	for k := 23.0; k >= 3; k -= 2 {
		sum = float64((sum + 1/k) * s2)
	}
	// s is added last and alone, so that the small sum does not cost it digits.
	return float64(float64(e)*math.Ln2) + (2*s + float64(2*s*sum))
}
