// Package pictures lets a program read JPEG, PNG, GIF, WebP, BMP and TIFF files. It is imported for that effect alone:
//
//	import _ "hashgrove/format/pictures"
package pictures

import (
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"

	"hashgrove/internal/picture"
)

func init() {
	picture.Decoders = map[string]picture.Decoder{
		"JPEG": {Config: jpeg.DecodeConfig, Decode: jpeg.Decode},
		"PNG":  {Config: png.DecodeConfig, Decode: png.Decode},
		"GIF":  {Config: gif.DecodeConfig, Decode: gif.Decode},
		"WebP": {Config: webp.DecodeConfig, Decode: decodeWebP},
		"BMP":  {Config: bmp.DecodeConfig, Decode: bmp.Decode},
		"TIFF": {Config: tiff.DecodeConfig, Decode: tiff.Decode},
	}
}

// decodeWebP works around golang.org/issue/40173: the decoder returns luma from 16 to 235 and chroma from 16 to 240, as
// in video, in an image type with the ranges of JPEG, 0 to 255.
func decodeWebP(r io.Reader) (image.Image, error) {
	img, err := webp.Decode(r)
	switch m := img.(type) {
	case *image.YCbCr:
		fullRange(m)
	case *image.NYCbCrA:
		fullRange(&m.YCbCr)
	}
	return img, err
}

func fullRange(m *image.YCbCr) {
	var bright, colour [256]uint8
	for v := range 256 {
		bright[v] = uint8(min(max(((v-16)*2*255+219)/(2*219), 0), 255))
		colour[v] = uint8(min(max((v*2*255-128*2*255+128*2*224+224)/(2*224), 0), 255))
	}
	for i, v := range m.Y {
		m.Y[i] = bright[v]
	}
	for i, v := range m.Cb {
		m.Cb[i] = colour[v]
	}
	for i, v := range m.Cr {
		m.Cr[i] = colour[v]
	}
}
