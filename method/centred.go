package method

import (
	"context"
	"errors"
	"fmt"
	"math"

	"hashgrove/internal/gemm"
	"hashgrove/model"
	"hashgrove/vectors"
)

// standardised is the map that subtracts the mean of the rows from each, and gives what is left the mean squared length.
func standardised(ctx context.Context, x vectors.Source, square float64) (*model.Affine, error) {
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
	return scaled(mean, scale)
}

// evened is the map that subtracts the mean of the rows from each and gives all columns the same variance, and the rows a mean
// squared length of 1. Columns that never change become 0.
func evened(ctx context.Context, x vectors.Source) (*model.Affine, error) {
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
	return scaled(mean, scale)
}

var errNothing = errors.New("all rows are equal: there is nothing to learn from them")

// scaled is the map (x - mean) scale, column by column.
func scaled(mean []float64, scale []float32) (*model.Affine, error) {
	m := &model.Affine{Weight: vectors.Matrix{Rows: len(mean), Cols: len(mean)}, Mean: singles(mean), Scale: scale}
	return m, m.Check()
}

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

// unitLength scales a row to length 1; zero stays zero.
func unitLength(row []float32) {
	sum := 0.0
	for _, v := range row {
		sum += float64(v) * float64(v)
	}
	if sum == 0 {
		return
	}
	length := math.Sqrt(sum)
	for j, v := range row {
		row[j] = float32(float64(v) / length)
	}
}

// viewOf is a matrix as package gemm takes it.
func viewOf(x vectors.Matrix) gemm.View { return gemm.Of(x.Rows, x.Cols, x.Data) }

// whole is an encoder and what is wrong with it: values near the limits of float32 can leave weights that are not finite.
func whole(e model.Encoder) (model.Encoder, error) {
	if err := e.Check(); err != nil {
		return nil, fmt.Errorf("no model came of these vectors, are their values very large? %w", err)
	}
	return e, nil
}
