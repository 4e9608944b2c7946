package gallery

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/png"
	"slices"

	"hashgrove/internal/picture"
)

// EncodePNG encodes the given rows of a source as PNGs.
func EncodePNG(ctx context.Context, src picture.Source, rows []int) (map[int][]byte, error) {
	found := map[int][]byte{}
	left := slices.Clone(rows)
	slices.Sort(left)
	left = slices.Compact(left)
	shape := src.Preparation().Shape
	for chunk, err := range src.Pictures(ctx) {
		if err != nil {
			return nil, err
		}
		for len(left) > 0 && left[0] < chunk.First+chunk.X.Rows {
			at := left[0] - chunk.First
			b, err := PNG(shape.Picture(chunk.Slice(at, at+1).Pix, nil))
			if err != nil {
				return nil, err
			}
			found[left[0]] = b
			left = left[1:]
		}
		if len(left) == 0 {
			break
		}
	}
	return found, nil
}

// PNG encodes a picture as PNG.
func PNG(p picture.Picture) ([]byte, error) {
	var img image.Image = &image.Gray{Pix: p.Pix, Stride: p.Width, Rect: image.Rect(0, 0, p.Width, p.Height)}
	if p.Channels == 3 {
		colour := image.NewNRGBA(image.Rect(0, 0, p.Width, p.Height))
		for i := range p.Width * p.Height {
			colour.Set(i%p.Width, i/p.Width, color.NRGBA{p.Pix[3*i], p.Pix[3*i+1], p.Pix[3*i+2], 255})
		}
		img = colour
	}
	var b bytes.Buffer
	err := png.Encode(&b, img)
	return b.Bytes(), err
}
