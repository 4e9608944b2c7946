// Package picture holds pictures in memory, brings them to a fixed size, and defines sources of them. Pixels stay
// bytes; package feature turns them into vectors.
//
//	Picture        pixels and their size
//	Shape          the layout of rows that are pictures
//	Preparation    everything that decides how a picture becomes a row: size, fit, grey, layout
//	Source, Chunk  pictures in order, any number of times, in bounded memory
//
// Package gallery decodes the files.
package picture

import (
	"fmt"
)

// Picture is a picture of eight bits per channel.
type Picture struct {
	Width, Height int
	Channels      int     // 1 for grey, 3 for red, green and blue
	Pix           []uint8 // row after row, the channels of a pixel side by side
}

// The limits of pictures.
const (
	MaxSide   = 1 << 16     // width and height, so that no product of sizes overflows
	MaxPixels = 120_000_000 // of a picture that is resized; the largest cameras in use make 108 megapixels
	MaxSize   = 1024        // width and height that pictures are resized to: 3 million values

	maxValues = 1 << 24 // of a row
)

// Check reports a picture whose sizes do not fit its pixels.
func (p Picture) Check() error {
	if err := checkSize(p.Width, p.Height, p.Channels); err != nil {
		return err
	}
	if int64(len(p.Pix)) != int64(p.Width)*int64(p.Height)*int64(p.Channels) {
		return fmt.Errorf("%d bytes for %d x %d pixels of %d channels", len(p.Pix), p.Width, p.Height, p.Channels)
	}
	return nil
}

func checkSize(width, height, channels int) error {
	if width < 1 || height < 1 || width > MaxSide || height > MaxSide {
		return fmt.Errorf("%d x %d pixels, outside of 1 to %d on a side", width, height, MaxSide)
	}
	if channels != 1 && channels != 3 {
		return fmt.Errorf("%d channels, and 1 (grey) or 3 (colour) are allowed", channels)
	}
	return nil
}
