package feature

import "fmt"

// Picture is a decoded picture of eight bits per channel.
type Picture struct {
	Width, Height int
	Channels      int     // 1 for grey, 3 for red, green and blue
	Pix           []uint8 // row after row, the channels of a pixel side by side
}

// maxSide bounds the width and the height of a picture, so that no product of sizes overflows.
const maxSide = 1 << 16

// Check reports a picture whose sizes do not fit its pixels.
func (p Picture) Check() error {
	if p.Width < 1 || p.Height < 1 || p.Width > maxSide || p.Height > maxSide {
		return fmt.Errorf("%d x %d pixels, outside of 1 to %d on a side", p.Width, p.Height, maxSide)
	}
	if p.Channels != 1 && p.Channels != 3 {
		return fmt.Errorf("%d channels, and 1 (grey) or 3 (colour) are allowed", p.Channels)
	}
	if int64(len(p.Pix)) != int64(p.Width)*int64(p.Height)*int64(p.Channels) {
		return fmt.Errorf("%d bytes for %d x %d pixels of %d channels", len(p.Pix), p.Width, p.Height, p.Channels)
	}
	return nil
}

// fits reports a picture that is not of the given size.
func (p Picture) fits(width, height int) error {
	if p.Width != width || p.Height != height {
		return fmt.Errorf("%d x %d pixels, and the features were made for %d x %d: scale it first", p.Width, p.Height, width, height)
	}
	return nil
}
