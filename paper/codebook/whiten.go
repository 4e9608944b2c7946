package codebook

import (
	"context"
	"math"
	"slices"

	"hashgrove/internal/numeric/gemm"
	"hashgrove/internal/par"
	"hashgrove/internal/vectors"
)

// ZCA whitening (Bell and Sejnowski, Vision Research 1997): with mean M and covariance V D V' of the patches,
//
//	x' = P (x - M),   P = V (D + epsilon)^(-1/2) V',
//
// has approximately the identity as covariance and is as close to x as such a vector can be.

// rowsPerBlock is the number of patches summed in a block, on any number of threads.
const rowsPerBlock = 4096

// whitening returns M and P for the rows of x.
func whitening(ctx context.Context, x vectors.Matrix, threads int) (mean, p []float32, err error) {
	d := x.Cols
	blocks := (x.Rows + rowsPerBlock - 1) / rowsPerBlock
	sums := make([]float64, blocks*d)
	err = par.Blocks(ctx, threads, x.Rows, rowsPerBlock, func(b, lo, hi int) {
		sum := sums[b*d:][:d]
		for i := lo; i < hi; i++ {
			for j, v := range x.Row(i) {
				sum[j] += float64(v)
			}
		}
	})
	if err != nil {
		return nil, nil, err
	}
	mean = make([]float32, d)
	for j := range mean {
		sum := 0.0
		for b := range blocks {
			sum += sums[b*d+j]
		}
		mean[j] = float32(sum / float64(x.Rows))
	}
	products := make([]float32, blocks*d*d)
	err = par.Blocks(ctx, threads, x.Rows, rowsPerBlock, func(b, lo, hi int) {
		c := gemm.RowMajor(hi-lo, d, centred(x.Slice(lo, hi), mean))
		// One thread and a context that never ends cannot fail.
		_ = gemm.Mul(context.Background(), 1, gemm.RowMajor(d, d, products[b*d*d:]), c.T(), c)
	})
	if err != nil {
		return nil, nil, err
	}
	covariance := make([]float64, d*d)
	for b := range blocks {
		for i, v := range products[b*d*d:][:d*d] {
			covariance[i] += float64(v)
		}
	}
	for i := range covariance {
		covariance[i] /= float64(max(x.Rows-1, 1))
	}
	values, vectors := eigen(covariance, d)
	p = make([]float32, d*d)
	for k, v := range values {
		values[k] = 1 / math.Sqrt(max(v, 0)+whitener)
	}
	for i := range d {
		for j := range d {
			sum := 0.0
			for k := range d {
				sum += float64(float64(vectors[k*d+i]*values[k]) * vectors[k*d+j])
			}
			p[i*d+j] = float32(sum)
		}
	}
	return mean, p, nil
}

// centred returns the rows of x minus their mean.
func centred(x vectors.Matrix, mean []float32) []float32 {
	x.Data = slices.Clone(x.Data)
	for i := range x.Rows {
		for j, row := 0, x.Row(i); j < len(row); j++ {
			row[j] -= mean[j]
		}
	}
	return x.Data
}

// eigen returns the eigenvalues of a symmetric matrix and the eigenvectors, one per row, by sweeps of Jacobi rotations
// until the matrix is diagonal. It overwrites a.
//
// Each rotation makes one a_pq zero: with t the tangent of its angle, the smaller root of t^2 + 2 t r = 1 for r = (a_qq
// - a_pp) / (2 a_pq). O(n^3) per sweep, about eight sweeps. Library routines are faster, but their last digits differ
// between machines.
func eigen(a []float64, n int) (values, vectors []float64) {
	vectors = make([]float64, n*n)
	scale := 0.0
	for i := range n {
		vectors[i*n+i] = 1
		scale = max(scale, math.Abs(a[i*n+i]))
	}
	const sweeps = 60 // a bound that is never reached
	for range sweeps {
		left := 0.0
		for p := range n {
			for q := p + 1; q < n; q++ {
				left = max(left, math.Abs(a[p*n+q]))
				rotate(a, vectors, n, p, q)
			}
		}
		if left <= 1e-15*scale {
			break
		}
	}
	for i := range n {
		values = append(values, a[i*n+i])
	}
	return values, vectors
}

// rotate makes a_pq zero. It rotates only rows p and q; the columns mirror them.
func rotate(a, vectors []float64, n, p, q int) {
	apq := a[p*n+q]
	if apq == 0 {
		return
	}
	r := (a[q*n+q] - a[p*n+p]) / (2 * apq)
	t := 1 / (math.Abs(r) + math.Sqrt(float64(r*r)+1))
	if r < 0 {
		t = -t
	}
	cos := 1 / math.Sqrt(float64(t*t)+1)
	sin := t * cos
	pp, qq := a[p*n+p]-float64(t*apq), a[q*n+q]+float64(t*apq)
	turn(a[p*n:][:n], a[q*n:][:n], cos, sin)
	a[p*n+p], a[q*n+q], a[p*n+q], a[q*n+p] = pp, qq, 0, 0
	for k := range n {
		if k != p && k != q {
			a[k*n+p], a[k*n+q] = a[p*n+k], a[q*n+k]
		}
	}
	turn(vectors[p*n:][:n], vectors[q*n:][:n], cos, sin)
}

// turn rotates the pairs (x_k, y_k).
func turn(x, y []float64, cos, sin float64) {
	for k, v := range x {
		u := y[k]
		x[k] = float64(cos*v) - float64(sin*u)
		y[k] = float64(sin*v) + float64(cos*u)
	}
}
