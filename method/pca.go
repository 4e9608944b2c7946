// Principal components (Pearson 1901; Hotelling 1933) in front of another method, as in Table 4 of the FastHash paper.
//
//	y = P (x - mean),   rows of P: the eigenvectors of the covariance C = mean of (x - mean)(x - mean)'
//
//	few dimensions     C is formed and taken apart                   O(n d^2 + d^3)
//	many               products with C, never C itself (linalg.Top)  O(n d k) for every pass over the rows
//
// The rows are then kept in memory with k values each, since methods read them many times.

package method

import (
	"cmp"
	"context"
	"fmt"

	"hashgrove/model"
	"hashgrove/supervision"
	"hashgrove/vectors"
)

// PCA reduces the vectors to their principal components before another method learns from them.
type PCA struct {
	Dims    int    // k; 0 means 500; never more than the vectors have
	Then    Method // learns from what is left
	Seed    uint64 // of the first vectors of the iteration
	Threads int    // 0 for all cores
}

var _ Method = PCA{}

// Train implements Method.
func (m PCA) Train(ctx context.Context, d *supervision.Data) (*model.Model, error) {
	if m.Then == nil {
		panic("method: PCA before no method")
	}
	front, y, err := m.Reduce(ctx, d)
	if err != nil {
		return nil, err
	}
	made, err := m.Then.Train(ctx, d.With(y))
	if err != nil {
		return nil, err
	}
	made.Encoder = model.Compose(made.Encoder, front)
	return made, nil
}

// Reduce returns the map to principal components and the reduced rows, in memory, with all that the source tells of them.
// It is for trainers that are no Method: what they make of the reduced rows goes behind the map with model.Compose.
func (m PCA) Reduce(ctx context.Context, x vectors.Source) (*model.Affine, vectors.Source, error) {
	dims := cmp.Or(m.Dims, 500)
	if dims < 1 {
		return nil, nil, fmt.Errorf("PCA to %d dimensions: give a positive number", dims)
	}
	front, variances, err := principal(ctx, x, min(dims, x.Dim()), m.Seed, m.Threads)
	if err != nil {
		return nil, nil, err
	}
	// Where the rows do not span all components, the rest hold the rounding of single precision: methods that scale columns
	// must not take it for something to learn from.
	for i := range front.Weight.Rows {
		if variances[i] <= 1e-7*variances[0] {
			clear(front.Weight.Row(i))
		}
	}
	y, err := vectors.Read(ctx, model.Through(x, m.Threads, front))
	return front, y, err
}
