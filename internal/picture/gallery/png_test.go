package gallery

import (
	"bytes"
	"context"
	"image/color"
	"image/png"
	"testing"

	"hashgrove/internal/picture"
	"hashgrove/internal/vectors"
)

// TestEncodePNG: pixels survive, grey and colour, and each row is made once.
func TestEncodePNG(t *testing.T) {
	for _, channels := range []int{1, 3} {
		shape := picture.Shape{Width: 2, Height: 1, Channels: channels}
		x := vectors.Matrix{Rows: 3, Cols: shape.Values(), Data: make([]float32, 3*shape.Values())}
		for i := range x.Data {
			x.Data[i] = float32(10 * i)
		}
		made, err := EncodePNG(context.Background(), picture.FromVectors(x, shape), []int{2, 0, 2})
		if err != nil || len(made) != 2 {
			t.Fatalf("%d pictures, %v", len(made), err)
		}
		img, err := png.Decode(bytes.NewReader(made[2]))
		if err != nil {
			t.Fatal(err)
		}
		first := uint8(10 * 2 * shape.Values())
		got := color.NRGBAModel.Convert(img.At(0, 0)).(color.NRGBA)
		if img.Bounds().Dx() != 2 || img.Bounds().Dy() != 1 || got.R != first {
			t.Errorf("%d channels: %v, want %d", channels, got, first)
		}
	}
}
