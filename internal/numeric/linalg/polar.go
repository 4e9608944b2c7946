// The orthogonal matrix nearest to a square one: U V' of A = U S V' (Schönemann, Psychometrika 1966), by the
// singular value decomposition of Hestenes (J. SIAM 1958), with every operation rounded separately.
//
//	A A' = G' Λ G         its eigenvectors make the rows of B = G A orthogonal, up to rounding       O(8 n³)
//	sweep                 rotates pairs of rows of B and G until all are orthogonal                  O(n³), few times
//	B = S V'              rows divided by their lengths; zero rows are filled in
//	U V' = G' V'          O(2 n³)

package linalg

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"
)

const polarSweeps = 60 // at most; two or three are usual

// PolarFactor returns the orthogonal matrix R that maximises trace(R' A), for a square A.
func PolarFactor(a *mat.Dense) (*mat.Dense, error) {
	errNone := errors.New("the rotation nearest to a matrix was not found: are all its values finite?")
	n, _ := a.Dims()
	whole := mat.DenseCopyOf(a)
	scale, err := powerOfTwo(whole.RawMatrix().Data)
	if err != nil {
		return nil, errNone
	}
	Scale(1/scale, whole.RawMatrix().Data)
	square := make([]float64, n*n)
	for i := range n {
		for j := i; j < n; j++ {
			square[i*n+j] = Dot(whole.RawRowView(i), whole.RawRowView(j))
		}
	}
	_, raw, err := symmetricEigen(square, n)
	if err != nil {
		return nil, errNone
	}
	g, b := mat.NewDense(n, n, raw), mat.NewDense(n, n, nil)
	for i := range n {
		for k, f := range g.RawRowView(i) {
			Axpy(f, whole.RawRowView(k), b.RawRowView(i))
		}
	}
	if !orthogonalRows(b, g) {
		return nil, errNone
	}
	r := mat.NewDense(n, n, nil)
	for i := range n {
		for k, f := range g.RawRowView(i) {
			Axpy(f, b.RawRowView(i), r.RawRowView(k))
		}
	}
	return r, nil
}

// orthogonalRows rotates rows of b, and those of g with them, until the rows of b are orthogonal, and scales them to
// length 1.
func orthogonalRows(b, g *mat.Dense) bool {
	n, _ := b.Dims()
	square, top := make([]float64, n), 0.0
	for i := range n {
		square[i] = Dot(b.RawRowView(i), b.RawRowView(i))
		top = max(top, square[i])
	}
	near := 0x1p-52 * float64(n)
	least := top * near * near // anything shorter is rounding error
	for sweep, turned := 0, true; turned; sweep++ {
		if sweep == polarSweeps {
			return false
		}
		turned = false
		for i := range n {
			for j := i + 1; j < n; j++ {
				if square[i] <= least || square[j] <= least {
					continue
				}
				x, y := b.RawRowView(i), b.RawRowView(j)
				p := Dot(x, y)
				if math.Abs(p) <= near*math.Sqrt(square[i]*square[j]) {
					continue
				}
				turned = true
				zeta := (square[j] - square[i]) / (2 * p)
				t := math.Copysign(1/(math.Abs(zeta)+length(zeta, 1)), zeta)
				c := 1 / length(t, 1)
				rotate(x, y, c, c*t)
				rotate(g.RawRowView(i), g.RawRowView(j), c, c*t)
				square[i], square[j] = Dot(x, x), Dot(y, y)
			}
		}
	}
	var missing []int
	for i := range n {
		if square[i] <= least {
			clear(b.RawRowView(i))
			missing = append(missing, i)
			continue
		}
		Scale(1/math.Sqrt(square[i]), b.RawRowView(i))
	}
	fillRows(b, missing)
	return true
}

// fillRows replaces zero rows by unit vectors orthogonal to all others, made from the axes in turn.
func fillRows(b *mat.Dense, missing []int) {
	n, _ := b.Dims()
	axis := 0
	for _, i := range missing {
		for row := b.RawRowView(i); ; axis++ {
			clear(row)
			row[axis] = 1
			for range 2 { // twice, because of rounding
				for k := range n {
					if k != i {
						Axpy(-Dot(b.RawRowView(k), row), b.RawRowView(k), row)
					}
				}
			}
			// Some axis is this far from the span of the rows: the squared remainders of all axes sum to the number
			// of missing rows.
			if size := Norm(row); size > 0.5/math.Sqrt(float64(n)) {
				Scale(1/size, row)
				axis++
				break
			}
		}
	}
}
