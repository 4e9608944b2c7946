// Package picture holds pictures in memory, brings them to a fixed size, and defines sources of them. Pixels stay
// bytes; package feature turns them into vectors.
//
//	Picture        pixels and their size
//	Shape          the layout of rows that are pictures
//	Preparation    how a picture becomes a row: size, fit, grey, layout
//	Source, Chunk  pictures in order, any number of times, in bounded memory
//
// Package gallery decodes the files.
package picture

import (
	"fmt"
	"image"
	"io"

	"hashgrove/internal/message"
)

// Decoders decode the formats of picture files, by the names of these. Package hashgrove/format/pictures brings them,
// so that only programs that import it link them.
var Decoders map[string]Decoder

// Decoder decodes a format.
type Decoder struct {
	Config func(io.Reader) (image.Config, error)
	Decode func(io.Reader) (image.Image, error)
}

// ErrNoDecoders is the error of all pictures in a program without decoders.
var ErrNoDecoders = message.NotImported("pictures", "pictures")

// Picture is a picture with eight bits per channel.
type Picture struct {
	Width, Height int
	Channels      int     // 1 for grey, 3 for red, green and blue
	Pix           []uint8 // row by row, the channels of a pixel side by side
}

// Limits of pictures.
const (
	MaxSide   = 1 << 16     // width and height, so that no product of sizes overflows
	MaxPixels = 120_000_000 // of a picture to be resized; the largest cameras in use make 108 megapixels
	MaxSize   = 1024        // width and height that pictures are resized to: 3 million values

	maxValues = 1 << 24 // of a row
)

// Shape is the layout of rows that are pictures: a row holds one picture's pixels, with values from 0 to 255.
type Shape struct {
	Width, Height int
	Channels      int  // 1 for grey, 3 for red, green and blue
	Planar        bool // channel by channel, as in CIFAR; else the channels of a pixel side by side
}

// Values returns the length of a row.
func (s Shape) Values() int { return s.Width * s.Height * s.Channels }

// String describes the layout.
func (s Shape) String() string {
	kind := "grey"
	switch {
	case s.Channels > 1 && s.Planar:
		kind = "colour, channel after channel"
	case s.Channels > 1:
		kind = "colour"
	}
	return fmt.Sprintf("%d x %d pixels, %s", s.Width, s.Height, kind)
}

// Check returns an error for a layout that pictures cannot have.
func (s Shape) Check() error {
	switch {
	case s.Width < 1 || s.Height < 1 || s.Width > MaxSide || s.Height > MaxSide:
		return fmt.Errorf("%d x %d pixels, outside the range 1 to %d on a side", s.Width, s.Height, MaxSide)
	case s.Channels != 1 && s.Channels != 3:
		return fmt.Errorf("%d channels: 1 (grey) or 3 (colour) are allowed", s.Channels)
	case int64(s.Width)*int64(s.Height)*int64(s.Channels) > maxValues:
		return fmt.Errorf("%v, more than %d values", s, maxValues)
	case s.Planar && s.Channels == 1:
		return fmt.Errorf("a single channel cannot be laid out channel by channel")
	}
	return nil
}

// Picture returns the picture of a row. It shares the row's memory, or uses room if channels must be moved.
func (s Shape) Picture(row, room []uint8) Picture {
	p := Picture{s.Width, s.Height, s.Channels, row}
	if s.Planar {
		p.Pix = append(room[:0], row...)
		plane := s.Width * s.Height
		for c := range s.Channels {
			for i, v := range row[c*plane : (c+1)*plane] {
				p.Pix[i*s.Channels+c] = v
			}
		}
	}
	return p
}

// appendMirrored appends a row with the pixels of every line reversed.
func (s Shape) appendMirrored(dst, row []uint8) []uint8 {
	planes, side := 1, s.Channels // a pixel is side adjacent values
	if s.Planar {
		planes, side = side, 1
	}
	line := s.Width * side
	for range planes * s.Height {
		for x := line - side; x >= 0; x -= side {
			dst = append(dst, row[x:x+side]...)
		}
		row = row[line:]
	}
	return dst
}
