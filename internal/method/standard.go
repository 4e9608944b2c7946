// Means and variances of the rows of a source, and the maps that make them 0 and 1.

package method

import (
	"context"
	"errors"
	"math"

	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/numeric/linalg"
	"hashgrove/internal/vectors"
)

// meanRow returns the mean of every column, summed in the order of the rows.
func meanRow(ctx context.Context, x vectors.Source) ([]float32, error) {
	sum := make([]float64, x.Dim())
	rows := 0
	for c, err := range x.Chunks(ctx) {
		if err != nil {
			return nil, err
		}
		for i := range c.X.Rows {
			for j, v := range c.X.Row(i) {
				sum[j] += float64(v)
			}
		}
		rows += c.X.Rows
	}
	if rows == 0 {
		return nil, message.New("no-rows", "there are no rows to learn from")
	}
	m := make([]float32, len(sum))
	for j, s := range sum {
		m[j] = float32(s / float64(rows))
	}
	return m, nil
}

// moments returns the mean and the variance of every column.
func moments(ctx context.Context, x vectors.Source) (mean, variance []float64, err error) {
	mean = make([]float64, x.Dim())
	first, squares := make([]float64, x.Dim()), make([]float64, x.Dim()) // relative to the first row, to lose fewer digits
	rows := 0
	for c, err := range x.Chunks(ctx) {
		if err != nil {
			return nil, nil, err
		}
		for i := range c.X.Rows {
			for j, v := range c.X.Row(i) {
				if rows == 0 && i == 0 {
					first[j] = float64(v)
				}
				d := float64(v) - first[j]
				mean[j] += d
				squares[j] += float64(d * d)
			}
		}
		rows += c.X.Rows
	}
	for j := range mean {
		mean[j] /= float64(max(rows, 1))
		squares[j] = max(0, squares[j]/float64(max(rows, 1))-float64(mean[j]*mean[j]))
		mean[j] += first[j]
	}
	return mean, squares, nil
}

// spread returns the mean of the rows and their mean squared distance from it.
func spread(ctx context.Context, x vectors.Source) (mean []float64, square float64, err error) {
	mean, variance, err := moments(ctx, x)
	for _, v := range variance {
		square += v
	}
	return mean, square, err
}

// standardise returns the map that subtracts the mean row and scales the result to the given mean squared length.
func standardise(ctx context.Context, x vectors.Source, square float64) (*model.Affine, error) {
	mean, have, err := spread(ctx, x)
	if err != nil {
		return nil, err
	}
	if have == 0 {
		return nil, errNothing
	}
	scale := make([]float32, x.Dim())
	for j := range scale {
		scale[j] = float32(math.Sqrt(square / have))
	}
	return scaleMap(mean, scale)
}

// standardiseColumns returns the map that subtracts the mean row and gives all columns the same variance, and the
// rows a mean squared length of 1. Constant columns become 0.
func standardiseColumns(ctx context.Context, x vectors.Source) (*model.Affine, error) {
	mean, variance, err := moments(ctx, x)
	if err != nil {
		return nil, err
	}
	used := 0
	for _, v := range variance {
		if v > 0 {
			used++
		}
	}
	if used == 0 {
		return nil, errNothing
	}
	scale := make([]float32, len(variance))
	for j, v := range variance {
		if v > 0 {
			scale[j] = float32(1 / math.Sqrt(v*float64(used)))
		}
	}
	return scaleMap(mean, scale)
}

// unitColumns returns the map that gives every column mean 0 and variance 1, and the ratio of the largest to the
// smallest standard deviation of columns that vary. Constant columns become 0.
func unitColumns(ctx context.Context, x vectors.Source) (m *model.Affine, factor float64, err error) {
	mean, variance, err := moments(ctx, x)
	if err != nil {
		return nil, 0, err
	}
	least, most := math.Inf(1), 0.0
	scale := make([]float32, len(variance))
	for j, v := range variance {
		s := 1 / math.Sqrt(v)
		if !(s <= math.MaxFloat32) || v == 0 { // constant, up to the precision of float32
			continue
		}
		scale[j] = float32(s)
		least, most = min(least, math.Sqrt(v)), max(most, math.Sqrt(v))
	}
	if factor = 1; most > 0 {
		factor = most / least
	}
	m, err = scaleMap(mean, scale)
	return m, factor, err
}

// scaleMap returns the map (x - mean) scale, column by column.
func scaleMap(mean []float64, scale []float32) (*model.Affine, error) {
	m := &model.Affine{Weight: vectors.Matrix{Rows: len(mean), Cols: len(mean)}, Mean: linalg.Float32s(mean), Scale: scale}
	return m, m.Check()
}

var errNothing = errors.New("all rows are equal: there is nothing to learn from them")

// centreRows subtracts the mean of the rows from each and returns it.
func centreRows(x vectors.Matrix) []float32 {
	mean := x.Mean()
	for i := range x.Rows {
		row := x.Row(i)
		for j, m := range mean {
			row[j] -= m
		}
	}
	return mean
}

// scaleToUnit scales a row to length 1; zero stays zero.
func scaleToUnit(row []float32) {
	length := math.Sqrt(linalg.Dot32(row, row))
	if length == 0 {
		return
	}
	for j, v := range row {
		row[j] = float32(float64(v) / length)
	}
}
