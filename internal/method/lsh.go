// Locality-sensitive hashing by random hyperplanes (Charikar, STOC 2002).
//
//	bit b = [w_b · (x - mean) >= 0],   w_b ~ N(0, I)
//
// Two vectors at angle θ differ in a bit with probability θ/π. Only the mean is learned: without it non-negative
// vectors all lie in a narrow cone, and most planes through the origin do not separate them.
//
//	mean       one pass over the rows     O(n · dim)
//	weights    drawn bit by bit           O(bits · dim)
//
// Bit b has its own stream of numbers, so fewer bits with the same seed are a prefix of more.

package method

import (
	"context"
	"math/rand/v2"

	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
)

// lsh draws random hyperplanes.
type lsh struct{ Options }

func (m lsh) learn(ctx context.Context, x *supervision.Data) (model.Encoder, error) {
	bits, dim := m.Bits, x.Dim()
	if err := checkSize(bits, dim); err != nil {
		return nil, err
	}
	p := &model.Projection{Weight: make([]float32, bits*dim), Threshold: make([]float32, bits)}
	var err error
	if p.Mean, err = meanRow(ctx, x); err != nil {
		return nil, err
	}
	for b := range bits {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		rng := rand.New(rand.NewPCG(m.Seed, uint64(b)))
		for j := range dim {
			p.Weight[b*dim+j] = drawNormal(rng)
		}
	}
	return p, nil
}
