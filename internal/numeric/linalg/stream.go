package linalg

import (
	"context"
	"fmt"
	"iter"

	"gonum.org/v1/gonum/mat"

	"hashgrove/internal/numeric/gemm"
	"hashgrove/internal/par"
	"hashgrove/internal/vectors"
)

// Sums over the rows of a source: products are taken in single precision over few rows and added up in double.

// blockRows is the number of rows whose products are summed in single precision.
const blockRows = 1024

// Blocks yields the rows of a source in matrices of the given number of rows, fewer in the last, with the number of
// the first row. Each matrix is valid until the next.
func Blocks(ctx context.Context, src vectors.Source, rows int) iter.Seq2[vectors.Chunk, error] {
	return func(yield func(vectors.Chunk, error) bool) {
		out := vectors.Chunk{X: vectors.Matrix{Cols: src.Dim()}}
		for c, err := range src.Chunks(ctx) {
			if err != nil {
				yield(vectors.Chunk{}, err)
				return
			}
			for lo := 0; lo < c.X.Rows; {
				hi := min(lo+rows-out.X.Rows, c.X.Rows)
				out.X.Data = append(out.X.Data, c.X.Slice(lo, hi).Data...)
				out.X.Rows += hi - lo
				lo = hi
				if out.X.Rows == rows {
					if !yield(out, nil) {
						return
					}
					out.First += rows
					out.X.Rows, out.X.Data = 0, out.X.Data[:0]
				}
			}
		}
		if out.X.Rows > 0 {
			yield(out, nil)
		}
	}
}

// centred copies x minus the mean, which may be nil, into buf, and returns it.
func centred(buf []float32, x vectors.Matrix, mean []float32) vectors.Matrix {
	if mean == nil {
		return x
	}
	buf = append(buf[:0], x.Data...)
	for i := range x.Rows {
		row := buf[i*x.Cols : (i+1)*x.Cols]
		for j, m := range mean {
			row[j] -= m
		}
	}
	return vectors.Matrix{Rows: x.Rows, Cols: x.Cols, Data: buf}
}

// maxSide limits the matrices of Covariance: 2 GB.
const maxSide = 1 << 14

// Covariance returns the mean of (x - mean)(x - mean)' over all rows, and their number. A nil mean means zeros. The
// matrix has d x d values: for wide vectors use CovarianceProduct.
func Covariance(ctx context.Context, src vectors.Source, mean []float32, threads int) (*mat.SymDense, int, error) {
	d := src.Dim()
	if d > maxSide {
		return nil, 0, fmt.Errorf("a covariance of %d dimensions, and at most %d are allowed", d, maxSide)
	}
	c := mat.NewSymDense(d, nil)
	raw := c.RawSymmetric()
	rows := 0
	buf := make([]float32, 0, blockRows*d)
	const side = 120 // rows of the matrix in one turn
	parts := make([][]float32, (d+side-1)/side)
	for b, err := range Blocks(ctx, src, blockRows) {
		if err != nil {
			return nil, 0, err
		}
		x := centred(buf, b.X, mean)
		v := gemm.RowMajor(x.Rows, d, x.Data)
		right := gemm.PackRight(v)
		err := par.Blocks(ctx, threads, d, side, func(t, lo, hi int) {
			if parts[t] == nil {
				parts[t] = make([]float32, (hi-lo)*d)
			}
			left := v.T()
			left.Rows, left.Data = hi-lo, left.Data[lo:]
			gemm.MulHere(gemm.RowMajor(hi-lo, d, parts[t]), left, right)
			for i := lo; i < hi; i++ {
				sum := raw.Data[i*raw.Stride : i*raw.Stride+d]
				for j, p := range parts[t][(i-lo)*d+i : (i-lo+1)*d] {
					sum[i+j] += float64(p)
				}
			}
		})
		if err != nil {
			return nil, 0, err
		}
		rows += x.Rows
	}
	for i := range raw.Data {
		raw.Data[i] /= float64(max(rows, 1))
	}
	return c, rows, nil
}

// CovarianceProduct returns the product with the mean of (x - mean)(x - mean)' over the given number of rows of a
// source, each of weight 1/rows. Every product reads the source once. A nil mean means zeros.
func CovarianceProduct(src vectors.Source, mean []float32, rows, threads int) Product {
	d := src.Dim()
	return func(ctx context.Context, dst, v *mat.Dense) error {
		k, _ := v.Dims()
		dst.Zero()
		right := gemm.PackRight(MatrixView(Single(v)).T())
		scores, sums := make([]float32, blockRows*k), make([]float32, k*d)
		buf := make([]float32, 0, blockRows*d)
		for b, err := range Blocks(ctx, src, blockRows) {
			if err != nil {
				return err
			}
			x := centred(buf, b.X, mean)
			xv, s := gemm.RowMajor(x.Rows, d, x.Data), gemm.RowMajor(x.Rows, k, scores)
			if err := gemm.MulRight(ctx, threads, s, xv, right); err != nil {
				return err
			}
			if err := gemm.Mul(ctx, threads, gemm.RowMajor(k, d, sums), s.T(), xv); err != nil {
				return err
			}
			err := par.For(ctx, threads, k, func(i int) {
				row := dst.RawRowView(i)
				for j, p := range sums[i*d : (i+1)*d] {
					row[j] += float64(p)
				}
			})
			if err != nil {
				return err
			}
		}
		for i := range k {
			row := dst.RawRowView(i)
			for j := range row {
				row[j] /= float64(max(rows, 1))
			}
		}
		return nil
	}
}
