package inference

// Single-variable moves: blocks of one row, where Block GraphCut becomes iterated conditional modes (Besag 1986).
// The best sign of a row is opposite to its field; a field of 0 gives -1, as in a block.

import (
	"context"
	"math/rand/v2"
)

func icm(ctx context.Context, p problem, sweeps int, rng *rand.Rand) error {
	if err := p.reset(ctx); err != nil {
		return err
	}
	z := p.signs()
	for range sweeps {
		moved := false
		for i, v := range rng.Perm(len(z)) {
			if i&255 == 0 && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if (p.field(v) < 0) != (z[v] > 0) {
				p.flip(v)
				moved = true
			}
		}
		if !moved {
			break
		}
	}
	return nil
}
