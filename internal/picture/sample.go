package picture

import (
	"context"
	"math/rand/v2"
	"slices"
)

// Sample draws up to n pictures of a source at random.
func Sample(ctx context.Context, src Source, n int, seed uint64) ([]Picture, error) {
	shape := src.Preparation().Shape
	rng := rand.New(rand.NewPCG(seed, 0))
	var sample []Picture
	for chunk, err := range src.Pictures(ctx) {
		if err != nil {
			return nil, err
		}
		for i := range chunk.X.Rows {
			at := chunk.First + i // reservoir sampling: every picture has the same chance
			if at >= n {
				if at = rng.IntN(at + 1); at >= n {
					continue
				}
			} else {
				sample = append(sample, Picture{})
			}
			sample[at] = shape.Picture(slices.Clone(chunk.Slice(i, i+1).Pix), nil)
		}
	}
	return sample, nil
}
