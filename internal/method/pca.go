// Principal components (Pearson 1901; Hotelling 1933) before another method, as in Table 4 of the FastHash paper.
//
//	y = P (x - mean),   rows of P: the eigenvectors of the covariance C = mean of (x - mean)(x - mean)'
//
//	few dimensions     C is formed and taken apart                   O(n d^2 + d^3)
//	many               products with C, never C itself (linalg.Top)  O(n d k) for every pass over the rows
//
// The rows are then kept in memory with k values each, since methods read them many times.

package method

import (
	"context"
	"fmt"

	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// pca reduces the vectors to their principal components before another method learns from them.
type pca struct {
	dims    int    // k; never more than the vectors have
	then    Method // learns from what is left
	seed    uint64 // of the first vectors of the iteration
	threads int    // 0 for all cores
}

// Train implements Method.
func (m pca) Train(ctx context.Context, d *supervision.Data) (*model.Model, error) {
	front, y, err := Reduce(ctx, d, m.dims, m.seed, m.threads)
	if err != nil {
		return nil, err
	}
	made, err := m.then.Train(ctx, d.With(y))
	if err != nil {
		return nil, err
	}
	made.Encoder = model.Compose(made.Encoder, front)
	return made, nil
}

// Reduce returns the map to the given number of principal components (at most the number of dimensions), and the
// reduced rows in memory with all that the source says of them. model.Compose turns an encoder of the reduced rows into
// one of the rows themselves.
func Reduce(ctx context.Context, x vectors.Source, dims int, seed uint64,
	threads int) (*model.Affine, vectors.Table, error) {
	if dims < 1 {
		return nil, vectors.Table{}, fmt.Errorf("PCA to %d dimensions: give a positive number", dims)
	}
	front, variances, err := principalComponents(ctx, x, min(dims, x.Dim()), seed, threads)
	if err != nil {
		return nil, vectors.Table{}, err
	}
	// If the rows do not span all components, the rest hold single-precision rounding errors, which methods that scale
	// columns must not learn from.
	for i := range front.Weight.Rows {
		if variances[i] <= 1e-7*variances[0] {
			clear(front.Weight.Row(i))
		}
	}
	y, err := vectors.Read(ctx, model.Through(x, threads, front))
	return front, y, err
}
