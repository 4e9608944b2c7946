package linalg

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"hashgrove/internal/numeric/portable"
)

// orthonormalise makes the rows of v orthonormal, each from itself and those before it (Gram and Schmidt, twice). It
// returns false, with v half done, if a row depends on those before it.
func orthonormalise(v *mat.Dense) bool {
	rows, _ := v.Dims()
	for i := range rows {
		row := v.RawRowView(i)
		before := Norm(row)
		for range 2 {
			for j := range i {
				Axpy(-Dot(v.RawRowView(j), row), v.RawRowView(j), row)
			}
		}
		after := Norm(row)
		if !(after > 1e-10*before) {
			return false
		}
		for j := range row {
			row[j] /= after
		}
	}
	return true
}

// RandomRotation draws an n x n orthogonal matrix.
func RandomRotation(n int, seed uint64) *mat.Dense {
	rng := rand.New(rand.NewPCG(seed, 0x207))
	v := mat.NewDense(n, n, nil)
	for {
		for i := range n {
			row := v.RawRowView(i)
			for j := range row {
				row[j] = portable.Normal(rng)
			}
		}
		if orthonormalise(v) {
			return v
		}
	}
}
