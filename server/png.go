package server

import (
	"bytes"
	"image"
	"image/color"
	"image/png"

	"hashgrove/internal/picture"
)

// encodePNG encodes a picture as PNG.
func encodePNG(p picture.Picture) ([]byte, error) {
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
