package linalg

import (
	"math"

	"hashgrove/internal/numeric/gemm"
	"hashgrove/internal/vectors"
)

// smallFactor is the factor of a diagonal block in double precision, and its inverse.
type smallFactor struct {
	u []float64 // the factor's transpose; values below the diagonal are of no use
	v []float64 // the inverse
}

// factor factorises the block of a that starts at row and column lo. It returns false if a pivot is not positive.
func (s *smallFactor) factor(a vectors.Matrix, lo, w int) bool {
	if len(s.u) < w*w {
		s.u, s.v = make([]float64, w*w), make([]float64, w*w)
	}
	for i := range w {
		for j, v := range a.Row(lo + i)[lo : lo+i+1] {
			s.u[j*w+i] = float64(v)
		}
	}
	for i := range w {
		row := s.u[i*w+i : (i+1)*w] // from the diagonal on
		for k := range i {
			above := s.u[k*w+i : (k+1)*w]
			Axpy(-above[0], above, row)
		}
		if !(row[0] > 0) || math.IsInf(row[0], 0) {
			return false
		}
		row[0] = math.Sqrt(row[0])
		for j := range row[1:] {
			row[j+1] /= row[0]
		}
	}
	return true
}

// invert inverts the factor. Row i comes from the rows above: Σ_k l_ik inverse_k = the unit vector.
func (s *smallFactor) invert(inverse gemm.View) {
	w := inverse.Rows
	for i := range w {
		row := s.v[i*w : i*w+i+1]
		clear(row)
		for k := range i {
			Axpy(-s.u[k*w+i], s.v[k*w:k*w+k+1], row[:k+1])
		}
		row[i] = 1
		to := inverse.Data[i*w : (i+1)*w]
		for j := range row {
			row[j] /= s.u[i*w+i]
			to[j] = float32(row[j])
		}
		clear(to[i+1:])
	}
}
