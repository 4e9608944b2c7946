package feature

import (
	"context"
	"fmt"

	"hashgrove/internal/par"
	"hashgrove/picture"
	"hashgrove/vectors"
)

// Pixels is the extractor that does nothing: the vector is the bytes of the picture, 0 to 255, in their order.
type Pixels struct {
	Width, Height, Channels int
}

// Kind implements Extractor.
func (e *Pixels) Kind() string { return "pixels" }

// Dim implements Extractor.
func (e *Pixels) Dim() int { return e.Width * e.Height * e.Channels }

// Check implements Extractor.
func (e *Pixels) Check() error {
	shape := picture.Shape{Width: e.Width, Height: e.Height, Channels: e.Channels}
	if shape.Check() != nil {
		return fmt.Errorf("pictures of %d x %d pixels and %d channels: 1 or 3 channels and up to %d values are allowed",
			e.Width, e.Height, e.Channels, MaxDim)
	}
	return nil
}

// Fits implements Extractor.
func (e *Pixels) Fits(s picture.Shape) error {
	if s.Channels != e.Channels {
		return fmt.Errorf("%d channels, and the features were made for %d", s.Channels, e.Channels)
	}
	return fitsSize(s, e.Width, e.Height)
}

// Extract implements Extractor.
func (e *Pixels) Extract(ctx context.Context, pictures []picture.Picture, dst vectors.Matrix, threads int) error {
	if err := checkExtract(e, pictures, dst); err != nil {
		return err
	}
	return par.Blocks(ctx, threads, len(pictures), 64, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			row := dst.Row(i)
			for j, v := range pictures[i].Pix {
				row[j] = float32(v)
			}
		}
	})
}

func (e *Pixels) tag() byte { return pixelsTag }

func (e *Pixels) appendBody(dst []byte) []byte { return put(dst, e.Width, e.Height, e.Channels) }

func parsePixels(b []byte) (*Pixels, error) {
	n, rest, err := take(b, 3)
	if err != nil {
		return nil, err
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("%d bytes too many for pixels", len(rest))
	}
	return &Pixels{n[0], n[1], n[2]}, nil
}
