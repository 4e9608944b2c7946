package solve

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"hashgrove/internal/linalg"
	"hashgrove/model"
	"hashgrove/vectors"
)

// SmallSide is the greatest number of dimensions whose covariance is formed.
const SmallSide = 512

// PrincipalComponents returns the map to the first k principal components, and their variances.
func PrincipalComponents(ctx context.Context, x vectors.Source, k int, seed uint64,
	threads int) (*model.Affine, []float64, error) {
	d := x.Dim()
	if err := CheckSize(max(k, 1), d); err != nil {
		return nil, nil, err
	}
	centre, err := Mean(ctx, x)
	if err != nil {
		return nil, nil, err
	}
	var values []float64
	var basis *mat.Dense
	if d <= SmallSide {
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
		// Single precision carries no finer tolerance, and components a little mixed with their neighbours serve as well.
		e, err := linalg.TopEigenvectors(ctx, d, k, linalg.CovarianceProduct(x, centre, rows, threads),
			linalg.TopOptions{Tolerance: 1e-4, Products: 8*k + 400, Seed: seed, Threads: threads})
		if err != nil {
			return nil, nil, err
		}
		values, basis = e.Values, e.Vectors
	}
	w := vectors.Matrix{Rows: k, Cols: d, Data: make([]float32, k*d)}
	for i := range k {
		for j, v := range basis.RawRowView(i) {
			w.Data[i*d+j] = float32(v)
		}
	}
	return &model.Affine{Weight: w, Mean: centre}, values[:k], nil
}
