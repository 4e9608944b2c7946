// The sign of every centred column: bit j = [x_j >= mean_j]. One bit per dimension, the simplest thing that engines do
// ("binary quantisation"), and often hard to beat for its length.
//
// It is stored as a projection on the axes, so training and model file are O(dim²): 64 MB for 4096 dimensions.

package method

import (
	"context"

	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
)

// sign takes the sign of every column.
type sign struct{}

func (sign) learn(ctx context.Context, x *supervision.Data) (model.Encoder, error) {
	dim := x.Dim()
	if err := checkSize(dim, dim); err != nil {
		return nil, err
	}
	p := axisSigns(dim, make([]float32, dim))
	var err error
	p.Mean, err = meanRow(ctx, x)
	return p, err
}
