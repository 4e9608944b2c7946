// Vectors and matrices in single precision.

package linalg

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"hashgrove/internal/numeric/gemm"
	"hashgrove/internal/par"
	"hashgrove/internal/vectors"
)

// crossRows is the number of rows whose products are summed in single precision. Longer sums would lose the digits
// that the ridge of a kernel method relies on: with 3,000 anchors, 128 rows are too many.
const crossRows = 32

// TransposeProduct returns X'Y in double precision, row by row, for matrices with the same number of rows.
func TransposeProduct(ctx context.Context, threads int, x, y vectors.Matrix) ([]float64, error) {
	if x.Rows != y.Rows {
		panic("linalg: the product of matrices with different numbers of rows")
	}
	const side = 60 // rows of the result in one turn, which stay in the cache
	sum := make([]float64, x.Cols*y.Cols)
	err := par.Blocks(ctx, threads, x.Cols, side, func(_, from, to int) {
		part := gemm.RowMajor(to-from, y.Cols, make([]float32, (to-from)*y.Cols))
		sum := sum[from*y.Cols : to*y.Cols]
		for lo := 0; lo < x.Rows && ctx.Err() == nil; lo += crossRows {
			hi := min(lo+crossRows, x.Rows)
			left := gemm.View{Rows: to - from, Cols: hi - lo, RowStep: 1, ColStep: x.Cols, Data: x.Data[lo*x.Cols+from:]}
			// With one thread and a background context there is no error.
			_ = gemm.Mul(context.Background(), 1, part, left, MatrixView(y.Slice(lo, hi)))
			for i, v := range part.Data {
				sum[i] += float64(v)
			}
		}
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return sum, err
}

// Float32s rounds to single precision.
func Float32s(x []float64) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(v)
	}
	return out
}

// Single rounds a matrix to single precision.
func Single(m *mat.Dense) vectors.Matrix {
	rows, cols := m.Dims()
	x := vectors.Matrix{Rows: rows, Cols: cols, Data: make([]float32, 0, rows*cols)}
	for i := range rows {
		x.Data = append(x.Data, Float32s(m.RawRowView(i))...)
	}
	return x
}

// MatrixView returns a matrix as a view for package gemm.
func MatrixView(x vectors.Matrix) gemm.View { return gemm.RowMajor(x.Rows, x.Cols, x.Data) }

// KthSmallest returns the value at index k of the ascending order of v, and reorders v (Hoare's selection).
func KthSmallest(v []float32, k int) float32 {
	lo, hi := 0, len(v)-1
	for lo < hi {
		pivot := v[lo+(hi-lo)/2]
		i, j := lo, hi
		for i <= j {
			for v[i] < pivot {
				i++
			}
			for v[j] > pivot {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return v[k]
		}
	}
	return v[k]
}
