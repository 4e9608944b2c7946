// Principal components, and the rotation of ITQ that turns an embedding into bits.

package method

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"hashgrove/internal/model"
	"hashgrove/internal/numeric/gemm"
	"hashgrove/internal/numeric/linalg"
	"hashgrove/internal/par"
	"hashgrove/internal/vectors"
)

// smallSide is the largest number of dimensions whose covariance matrix is formed.
const smallSide = 512

// principalComponents returns the map to the first k principal components, and their variances.
func principalComponents(ctx context.Context, x vectors.Source, k int, seed uint64,
	threads int) (*model.Affine, []float64, error) {
	d := x.Dim()
	if err := checkSize(max(k, 1), d); err != nil {
		return nil, nil, err
	}
	centre, err := meanRow(ctx, x)
	if err != nil {
		return nil, nil, err
	}
	var values []float64
	var basis *mat.Dense
	if d <= smallSide {
		c, _, err := linalg.Covariance(ctx, x, centre, threads)
		if err != nil {
			return nil, nil, err
		}
		if values, basis, err = linalg.AllEigenvectors(c); err != nil {
			return nil, nil, err
		}
	} else {
		rows, err := countRows(ctx, x)
		if err != nil {
			return nil, nil, err
		}
		// Single precision supports no finer tolerance, and components slightly mixed with their neighbours serve
		// just as well.
		e, err := linalg.TopEigenvectors(ctx, d, k, linalg.CovarianceProduct(x, centre, rows, threads),
			linalg.TopOptions{Tolerance: 1e-4, Products: 8*k + 400, Seed: seed, Threads: threads})
		if err != nil {
			return nil, nil, err
		}
		values, basis = e.Values, e.Vectors
	}
	return &model.Affine{Weight: linalg.Single(basis).Slice(0, k), Mean: centre}, values[:k], nil
}

// rotateToCorners applies ITQ to an embedding V with at most as many columns as bits: it returns the first rows of R,
// as many as V has columns. Missing columns count as zeros.
func rotateToCorners(ctx context.Context, v vectors.Matrix, steps int, o Options) (*mat.Dense, error) {
	const block = 1024 // rows whose products are summed in single precision
	blocks := (v.Rows + block - 1) / block
	k, bits := v.Cols, o.Bits
	r := linalg.RandomRotation(bits, o.Seed)
	parts := make([]float32, blocks*k*bits)
	for range steps {
		right := gemm.PackRight(linalg.MatrixView(linalg.Single(r).Slice(0, k)))
		err := par.Blocks(ctx, o.Threads, v.Rows, block, func(n, lo, hi int) {
			b := make([]float32, (hi-lo)*bits)
			x := gemm.RowMajor(hi-lo, k, v.Slice(lo, hi).Data)
			gemm.MulHere(gemm.RowMajor(hi-lo, bits, b), x, right)
			for i, y := range b {
				b[i] = 1
				if y < 0 {
					b[i] = -1
				}
			}
			gemm.MulHere(gemm.RowMajor(k, bits, parts[n*k*bits:]), x.T(), gemm.PackRight(gemm.RowMajor(hi-lo, bits, b)))
		})
		if err != nil {
			return nil, err
		}
		vb := mat.NewDense(bits, bits, nil)
		for n := range blocks {
			for i := range k {
				row := vb.RawRowView(i)
				for j, p := range parts[(n*k+i)*bits:][:bits] {
					row[j] += float64(p)
				}
			}
		}
		if r, err = linalg.PolarFactor(vb); err != nil {
			return nil, err
		}
	}
	return mat.DenseCopyOf(r.Slice(0, k, 0, bits)), nil
}

// rotatedRows returns the rows of R' P: the weights of the bits if P maps to the embedding that R rotates.
func rotatedRows(r *mat.Dense, p vectors.Matrix) []float32 {
	_, bits := r.Dims()
	w := make([]float32, bits*p.Cols)
	sum := make([]float64, p.Cols)
	for b := range bits {
		clear(sum)
		for k := range p.Rows {
			f := r.At(k, b)
			for j, v := range p.Row(k) {
				sum[j] += float64(f * float64(v))
			}
		}
		for j, s := range sum {
			w[b*p.Cols+j] = float32(s)
		}
	}
	return w
}
