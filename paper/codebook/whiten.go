package codebook

import (
	"context"
	"math"
	"slices"

	"hashgrove/internal/numeric/linalg"
	"hashgrove/internal/vectors"
)

// ZCA whitening (Bell and Sejnowski, Vision Research 1997): with mean M and covariance V D V' of the patches,
//
//	x' = P (x - M),   P = V (D + epsilon)^(-1/2) V',
//
// has approximately the identity as covariance and is as close to x as such a vector can be.

// whitening returns M and P for the rows of x.
func whitening(ctx context.Context, x vectors.Matrix, threads int) (mean, p []float32, err error) {
	d := x.Cols
	mean = x.Mean()
	covariance, _, err := linalg.Covariance(ctx, x, mean, threads)
	if err != nil {
		return nil, nil, err
	}
	values, vectors, err := linalg.AllEigenvectors(covariance)
	if err != nil {
		return nil, nil, err
	}
	p = make([]float32, d*d)
	for i := range d {
		for j := range d {
			sum := 0.0
			for k, v := range values {
				row := vectors.RawRowView(k)
				sum += float64(float64(row[i]/math.Sqrt(max(v, 0)+whitener)) * row[j])
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
