package linalg

import (
	"math"

	"hashgrove/internal/numeric/gemm"
	"hashgrove/internal/vectors"
)

// subtractCols is the number of columns of which subtract takes products.
const subtractCols = 16

// subtractGo defines subtract: it takes n rows of x, times values of f, from the 16 values of y, in order,
//
//	y_j -= f_k x_kj   for k = 0, 1, 2, ..., n - 1
//
// where f_k and the row x_k are stride after those before.
func subtractGo(n, stride int, f, x, y []float64) {
	to := (*[subtractCols]float64)(y)
	for k := range n {
		v, row := f[k*stride], (*[subtractCols]float64)(x[k*stride:])
		for j, r := range row {
			to[j] -= float64(v * r)
		}
	}
}

// smallFactor is the factor of a diagonal block in double precision, and its inverse.
type smallFactor struct {
	side int       // columns, rounded up to whole kernels
	u    []float64 // the factor's transpose; values below the diagonal are of no use
	v    []float64 // the inverse
}

// factor factorises the block of a that starts at row and column lo. It returns false if a pivot is not positive.
func (s *smallFactor) factor(a vectors.Matrix, lo, w int) bool {
	s.side = (w + subtractCols - 1) / subtractCols * subtractCols
	n := s.side * s.side
	if len(s.u) < n {
		s.u, s.v = make([]float64, n), make([]float64, n)
	}
	clear(s.u[:n])
	for i := range w {
		for j, v := range a.Row(lo + i)[lo : lo+i+1] {
			s.u[j*s.side+i] = float64(v)
		}
	}
	for i := range w {
		row := s.u[i*s.side : (i+1)*s.side]
		for j := i / subtractCols * subtractCols; j < s.side; j += subtractCols {
			subtract(i, s.side, s.u[i:], s.u[j:], row[j:])
		}
		if !(row[i] > 0) || math.IsInf(row[i], 0) {
			return false
		}
		row[i] = math.Sqrt(row[i])
		for j := i + 1; j < w; j++ {
			row[j] /= row[i]
		}
	}
	return true
}

// invert inverts the factor. Row i comes from the rows above: Σ_k l_ik inverse_k = the unit vector.
func (s *smallFactor) invert(inverse gemm.View) {
	w := inverse.Rows
	clear(s.v[:s.side*s.side])
	for i := range w {
		row := s.v[i*s.side : (i+1)*s.side]
		for j := 0; j < i; j += subtractCols { // columns that are zero above row j
			subtract(i-j, s.side, s.u[j*s.side+i:], s.v[j*s.side+j:], row[j:])
		}
		row[i] = 1
		to := inverse.Data[i*w : (i+1)*w]
		for j := range i + 1 {
			row[j] /= s.u[i*s.side+i]
			to[j] = float32(row[j])
		}
		clear(to[i+1:])
	}
}
