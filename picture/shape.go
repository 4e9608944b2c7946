package picture

import (
	"fmt"
)

// Shape is the layout of rows that are pictures: every row is one picture's pixels, values from 0 to 255.
type Shape struct {
	Width, Height int
	Channels      int  // 1 for grey, 3 for red, green and blue
	Planar        bool // channel after channel, as in CIFAR; else the channels of a pixel side by side
}

// Values is the length of a row.
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

// Check reports a layout that no pictures have.
func (s Shape) Check() error {
	if err := checkSize(s.Width, s.Height, s.Channels); err != nil {
		return err
	}
	if int64(s.Width)*int64(s.Height)*int64(s.Channels) > maxValues {
		return fmt.Errorf("%v, more than %d values", s, maxValues)
	}
	if s.Planar && s.Channels == 1 {
		return fmt.Errorf("one channel cannot be laid out channel after channel")
	}
	return nil
}

// Picture is the picture of a row. It shares the memory of the row, or uses room where channels must be moved.
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

// appendMirrored appends a row with the pixels of every line in opposite order.
func (s Shape) appendMirrored(dst, row []uint8) []uint8 {
	planes, side := 1, s.Channels // a pixel is side values beside each other
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
