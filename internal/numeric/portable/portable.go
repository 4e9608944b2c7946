// Package portable has elementary functions that give the same bits on every machine. Those of package math do not:
// some are in assembly, and the compiler fuses products with sums where it can. Here each product is rounded
// separately, and only square roots are left to the machine. All are series, accurate to a few units in the last
// place of float64.
//
// There are two logarithms and two exponentials because saved models and features must keep their bits.
package portable

import "math"

// Ln returns the natural logarithm of x > 0, for features. With s and e as in logParts,
//
//	ln x = e ln 2 + 2 (s + s^3/3 + s^5/5 + ...),   |s| < 0.172: ten terms leave less than 1e-16.
func Ln(x float64) float64 {
	s, e := logParts(x)
	s2 := s * s
	sum := 0.0
	for k := 19.0; k >= 1; k -= 2 {
		sum = float64(sum*s2) + 1/k
	}
	return float64(float64(e)*math.Ln2) + float64(2*s*sum)
}

// logParts returns s = (m-1)/(m+1) and e, where x = m 2^e and m is within a factor sqrt(2) of 1.
func logParts(x float64) (s float64, e int) {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	return (m - 1) / (m + 1), e
}

// PreciseLn returns the natural logarithm of x > 0, for the weights of trees. It uses two more terms than Ln and
// adds s last, which keeps the digits needed for x near 1.
func PreciseLn(x float64) float64 {
	s, e := logParts(x)
	s2 := s * s
	sum := 0.0
	for k := 23.0; k >= 3; k -= 2 {
		sum = float64((sum + 1/k) * s2)
	}
	// s is added last and separately, so that the small sum does not cost it digits.
	return float64(float64(e)*math.Ln2) + (2*s + float64(2*s*sum))
}

// Dot returns the inner product of two vectors of equal length, summed in order.
func Dot(x, y []float64) float64 {
	sum := 0.0
	for i, v := range x {
		sum += float64(v * y[i])
	}
	return sum
}

// ln 2 in two parts; a small integer times the first is exact.
const ln2High, ln2Low = 0x1.62e42feep-1, 0x1.a39ef35793c76p-33

// Exp returns e^x for x of moderate size. With x = k ln 2 + r, |r| < 0.35, it is 2^k times the Taylor series of r.
func Exp(x float64) float64 {
	k := math.Round(x / math.Ln2)
	r := x - float64(k*ln2High) - float64(k*ln2Low)
	sum := 1.0
	for i := 14.0; i >= 1; i-- {
		sum = 1 + float64(sum*r)/i
	}
	return math.Ldexp(sum, int(k))
}

// ExpBelowZero is Exp for x <= 0 with products instead of divisions, for kernels. Below the range of float32 it is
// zero.
func ExpBelowZero(x float64) float64 {
	if !(x > -104) {
		return 0
	}
	k := math.Floor(float64(x*(1/math.Ln2)) + 0.5)
	r := x - float64(k*ln2High) - float64(k*ln2Low)
	sum := expTerms[0]
	for _, c := range expTerms[1:] {
		sum = float64(sum*r) + c
	}
	return sum * math.Float64frombits(uint64(1023+int64(k))<<52)
}

// expTerms is 1/13!, 1/12!, ..., 1/1!, 1/0!.
var expTerms = [...]float64{1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
	1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1, 1}

// sincos evaluates the Taylor series of both functions, for 0 <= x <= pi/4.
func sincos(x float64) (sin, cos float64) {
	x2 := x * x
	sin, cos = 1, 1
	for i := 18.0; i >= 2; i -= 2 {
		sin = 1 - float64(sin*x2)/float64(i*(i+1))
		cos = 1 - float64(cos*x2)/float64(i*(i-1))
	}
	return float64(sin * x), cos
}

// Atan2 returns the angle of the point (x, y), in (-pi, pi]; 0 for the origin.
func Atan2(y, x float64) float64 {
	const eighth = math.Pi / 4
	small, great := math.Abs(y), math.Abs(x)
	steep := small > great
	if steep {
		small, great = great, small
	}
	if great == 0 {
		return 0
	}
	// atan q, 0 <= q <= 1, is eighth + atan((q-1)/(q+1)): one of the two arguments is below 0.42.
	q, t := small/great, 0.0
	if q > math.Sqrt2-1 {
		q, t = (q-1)/(q+1), eighth
	}
	q2, sum := float64(q*q), 0.0
	for i := 41.0; i >= 1; i -= 2 {
		sum = 1/i - float64(sum*q2)
	}
	t += float64(q * sum)
	if steep {
		t = 2*eighth - t
	}
	if x < 0 {
		t = 4*eighth - t
	}
	if y < 0 {
		t = -t
	}
	return t
}

// Cis returns e^(2 pi i a/n). Integer arithmetic reduces the angle to the first eighth of the circle, so that values
// that should be equal or zero are.
func Cis(a, n int) (re, im float64) {
	a = (a%n + n) % n * 8
	eighth, part := a/n, a%n
	if eighth%2 == 1 {
		part = n - part
	}
	s, c := sincos(math.Pi / 4 * float64(part) / float64(n))
	switch eighth {
	case 0:
		return c, s
	case 1:
		return s, c
	case 2:
		return -s, c
	case 3:
		return -c, s
	case 4:
		return -c, -s
	case 5:
		return -s, -c
	case 6:
		return s, -c
	}
	return c, -s
}

// Tanh returns the hyperbolic tangent of x, to a few units of 1e-16.
func Tanh(x float64) float64 {
	e := ExpBelowZero(float64(-2 * math.Abs(x)))
	return math.Copysign((1-e)/(1+e), x)
}
