package baseline

import (
	"context"
	"errors"
	"fmt"
	"math"

	"hashgrove/dataset"
	"hashgrove/internal/gemm"
	"hashgrove/model"
)

// standardised is the map that subtracts the mean of the rows from each, and gives what is left the mean squared length.
func standardised(ctx context.Context, x dataset.Source, square float64) (*model.Affine, error) {
	mean, have, err := spread(ctx, x)
	if err != nil {
		return nil, err
	}
	if have == 0 {
		return nil, errors.New("all rows are equal: there is nothing to learn from them")
	}
	m := &model.Affine{Weight: dataset.Matrix{Rows: x.Dim(), Cols: x.Dim()}, Mean: singles(mean), Scale: make([]float32, x.Dim())}
	for j := range m.Scale {
		m.Scale[j] = float32(math.Sqrt(square / have))
	}
	return m, m.Check()
}

// centreRows subtracts the mean of the rows from each and returns it.
func centreRows(x dataset.Matrix) []float32 {
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
func viewOf(x dataset.Matrix) gemm.View { return gemm.Of(x.Rows, x.Cols, x.Data) }

// whole is an encoder and what is wrong with it: values near the limits of float32 can leave weights that are not finite.
func whole(e model.Encoder) (model.Encoder, error) {
	if err := e.Check(); err != nil {
		return nil, fmt.Errorf("no model came of these vectors, are their values very large? %w", err)
	}
	return e, nil
}
