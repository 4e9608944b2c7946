package server

import (
	"bytes"
	"image/color"
	"image/png"
	"testing"

	"hashgrove/internal/picture"
)

// TestPNG: pixels survive, grey and colour.
func TestPNG(t *testing.T) {
	for _, channels := range []int{1, 3} {
		shape := picture.Shape{Width: 2, Height: 1, Channels: channels}
		made, err := encodePicture(shape.Picture([]uint8{10, 20, 30, 40, 50, 60}[:shape.Values()], nil))
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(bytes.NewReader(made))
		if err != nil {
			t.Fatal(err)
		}
		got := color.NRGBAModel.Convert(img.At(1, 0)).(color.NRGBA)
		if want := uint8(20 * (1 + channels/3)); img.Bounds().Dx() != 2 || img.Bounds().Dy() != 1 || got.R != want {
			t.Errorf("%d channels: %v, want %d", channels, got, want)
		}
	}
}
