package pictures

import (
	"image"
	"slices"
	"testing"
)

// TestWebPRange checks the ends and the middle of the ranges of video.
func TestWebPRange(t *testing.T) {
	m := image.NewYCbCr(image.Rect(0, 0, 5, 1), image.YCbCrSubsampleRatio444)
	copy(m.Y, []uint8{0, 16, 126, 235, 255})
	copy(m.Cb, []uint8{0, 16, 128, 240, 255})
	copy(m.Cr, m.Cb)
	fullRange(m)
	if !slices.Equal(m.Y, []uint8{0, 0, 128, 255, 255}) || !slices.Equal(m.Cb, []uint8{0, 1, 128, 255, 255}) || !slices.Equal(m.Cr, m.Cb) {
		t.Errorf("%v %v %v", m.Y, m.Cb, m.Cr)
	}
}
