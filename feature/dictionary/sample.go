package dictionary

import (
	"context"
	"fmt"
	"math/rand/v2"

	"hashgrove/feature"
	"hashgrove/feature/internal/patch"
	"hashgrove/internal/par"
	"hashgrove/picture"
	"hashgrove/vectors"
)

// drawPatches returns patches from random places of random pictures, one per row.
func drawPatches(ctx context.Context, o feature.CodebookOptions, pictures []picture.Picture,
	threads int) (vectors.Matrix, error) {

	n, side, contrast := o.Patches, o.Patch, float64(float32(o.Contrast))
	type place struct{ picture, x, y int }
	places := make([]place, n)
	rng := rand.New(rand.NewPCG(o.Seed, streamPatches))
	for i := range places {
		p := rng.IntN(len(pictures))
		places[i] = place{p, rng.IntN(pictures[p].Width - side + 1), rng.IntN(pictures[p].Height - side + 1)}
	}
	dim := side * side * pictures[0].Channels
	m := vectors.Matrix{Rows: n, Cols: dim, Data: make([]float32, n*dim)}
	err := par.Blocks(ctx, threads, n, 1024, func(_, lo, hi int) {
		var w patch.Windows
		cut := picture.Picture{Width: side, Height: side}
		for i := lo; i < hi; i++ {
			at := places[i]
			p := pictures[at.picture]
			cut.Channels, cut.Pix = p.Channels, cut.Pix[:0]
			for dy := range side {
				cut.Pix = append(cut.Pix, p.Pix[((at.y+dy)*p.Width+at.x)*p.Channels:][:side*p.Channels]...)
			}
			w.Set(cut, side, contrast)
			w.Patch(m.Row(i), 1, 0, 0)
		}
	})
	return m, err
}

// checkPictures reports pictures that no patches can be taken from.
func checkPictures(pictures []picture.Picture, side int) error {
	if len(pictures) == 0 {
		return fmt.Errorf("no pictures to learn a codebook from")
	}
	for i, p := range pictures {
		err := p.Check()
		if err == nil {
			err = patch.Fits(picture.Shape{Width: p.Width, Height: p.Height, Channels: p.Channels}, side, pictures[0].Channels)
		}
		if err != nil {
			return fmt.Errorf("picture %d: %w", i, err)
		}
	}
	return nil
}
