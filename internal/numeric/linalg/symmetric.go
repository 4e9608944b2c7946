// Eigenvectors of a symmetric matrix in memory, by Householder reflections and the implicit QL method (Martin and
// Wilkinson, Numer. Math. 1968; Golub and Van Loan, Matrix Computations, 8.3), with every operation rounded separately:
// the result is the same on every kind of machine. With
// gonum's EigenSym the saved models of agh, agh2, mdsh and sth would have other bytes.
//
//	A = Q T Q'            T tridiagonal: n-2 reflections I - τ v v'                         O(4/3 n³)
//	Q'                    a row per column of Q, the reflections in turn                    O(4/3 n³)
//	T = S Λ S'            rotations of neighbouring rows of T, and of the same rows of Q'   O(3 n³)
//
// A is first divided by a power of two, so that squares neither overflow nor underflow.

package linalg

import (
	"cmp"
	"errors"
	"math"
	"slices"
)

var errNoEigenvectors = errors.New("the eigenvectors of a matrix were not found: are all its values finite?")

// symmetricEigen returns the eigenvalues of a matrix, largest first, and the unit eigenvectors, one per row. It
// reads the upper half of a, row by row, and overwrites it.
func symmetricEigen(a []float64, n int) (values, vectors []float64, err error) {
	scale, err := powerOfTwo(a)
	if err != nil {
		return nil, nil, err
	}
	Scale(1/scale, a)
	d, e, tau := tridiagonal(a, n)
	qt := reflections(a, tau, n)
	if !implicitQL(d, e, qt, n) {
		return nil, nil, errNoEigenvectors
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(d[j], d[i]) })
	values, vectors = make([]float64, n), make([]float64, 0, n*n)
	for k, i := range order {
		values[k] = d[i] * scale
		vectors = append(vectors, qt[i*n:(i+1)*n]...)
	}
	return values, vectors, nil
}

// powerOfTwo returns the power of two nearest to the largest magnitude; 1 if all values are zero.
func powerOfTwo(a []float64) (float64, error) {
	top := 0.0
	for _, v := range a {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return 0, errNoEigenvectors
		}
		top = max(top, math.Abs(v))
	}
	if top == 0 {
		return 1, nil
	}
	_, exponent := math.Frexp(top)
	return math.Ldexp(1, min(max(exponent, -1000), 1000)), nil
}

// tridiagonal reduces the upper half of a. It returns the diagonal d, the values e beside it (e_k between k and
// k+1), and τ of the reflections, whose v it leaves in a: v_k is row k right of the diagonal.
func tridiagonal(a []float64, n int) (d, e, tau []float64) {
	d, e, tau = make([]float64, n), make([]float64, n), make([]float64, n)
	p := make([]float64, n)
	for k := 0; k+2 < n; k++ {
		v := a[k*n+k+1 : (k+1)*n]
		length, first := Norm(v), v[0]
		e[k] = first
		if Norm(v[1:]) == 0 {
			continue // nothing to reflect: τ stays zero
		}
		if first < 0 {
			length = -length
		}
		e[k] = -length
		v[0] += length
		tau[k] = 1 / (length * v[0])
		// With p = τ A v and w = p - τ/2 (p·v) v the rest is A - v w' - w v'.
		p := p[:len(v)]
		clear(p)
		for i := range v {
			row := a[(k+1+i)*n+k+1+i : (k+2+i)*n]
			p[i] += Dot(row, v[i:])
			Axpy(v[i], row[1:], p[i+1:])
		}
		Scale(tau[k], p)
		Axpy(-tau[k]/2*Dot(p, v), v, p)
		for i := range v {
			row := a[(k+1+i)*n+k+1+i : (k+2+i)*n]
			Axpy(-v[i], p[i:], row)
			Axpy(-p[i], v[i:], row)
		}
	}
	for k := range n {
		d[k] = a[k*n+k]
	}
	if n >= 2 {
		e[n-2] = a[(n-2)*n+n-1]
	}
	return d, e, tau
}

// reflections returns Q' from what tridiagonal left in a.
func reflections(a, tau []float64, n int) []float64 {
	qt := make([]float64, n*n)
	for i := range n {
		qt[i*n+i] = 1
	}
	for k := n - 3; k >= 0; k-- {
		if tau[k] == 0 {
			continue
		}
		v := a[k*n+k+1 : (k+1)*n]
		for i := k + 1; i < n; i++ { // rows above are still those of the identity, and zero where v is not
			row := qt[i*n+k+1 : (i+1)*n]
			Axpy(-tau[k]*Dot(row, v), v, row)
		}
	}
	return qt
}

// implicitQL turns d into the eigenvalues of a tridiagonal matrix and rotates the rows of z along. It overwrites e.
func implicitQL(d, e, z []float64, n int) bool {
	const most = 60 // steps for one value; two are usual
	least := 0.0    // smaller off-diagonal values count as zero
	for i, v := range d {
		least = max(least, 0x1p-53*(math.Abs(v)+math.Abs(e[i])))
	}
	row := func(i int) []float64 { return z[i*n : (i+1)*n] }
	for l := range n {
		for step := 0; ; step++ {
			m := l
			for m+1 < n && math.Abs(e[m]) > least {
				m++
			}
			if m == l {
				break
			}
			if step == most {
				return false
			}
			// The shift is the eigenvalue of the first 2 x 2 block nearer to d_l (Wilkinson's).
			g := (d[l+1] - d[l]) / (2 * e[l])
			g = d[m] - d[l] + e[l]/(g+math.Copysign(length(g, 1), g))
			s, c, p := 1.0, 1.0, 0.0
			i := m - 1
			for ; i >= l; i-- { // the bulge goes up from m
				f, b := float64(s*e[i]), float64(c*e[i])
				r := length(f, g)
				e[i+1] = r
				if r == 0 { // the matrix splits here
					d[i+1] -= p
					e[m] = 0
					break
				}
				s, c = f/r, g/r
				g = d[i+1] - p
				r = float64((d[i]-g)*s) + float64(2*c*b)
				p = float64(s * r)
				d[i+1] = g + p
				g = float64(c*r) - b
				rotate(row(i), row(i+1), c, s)
			}
			if i >= l {
				continue
			}
			d[l] -= p
			e[l], e[m] = g, 0
		}
	}
	return true
}

// length returns the length of the vector (x, y), neither of which is large.
func length(x, y float64) float64 { return math.Sqrt(float64(x*x) + float64(y*y)) }
