package picture

import (
	"errors"
	"fmt"
	"image"
)

// Preparation determines how a picture becomes a row of pixels. A model keeps the one it was trained with, so that
// later pictures are prepared the same way.
//
// A picture of another size is cropped to the largest central part with the right aspect ratio, and resized. Cropping
// preserves shapes: filters and patches measure directions and sizes, and what matters is mostly in the middle. Squash
// uses the whole picture instead and changes its aspect ratio.
type Preparation struct {
	Shape
	Squash   bool
	Mirrored bool // the model was also trained on mirror images
}

// String describes the preparation.
func (p Preparation) String() string {
	if p.Squash {
		return p.Shape.String() + ", squashed"
	}
	return p.Shape.String() + ", cropped"
}

// CanResize returns an error if pictures cannot be resized to the size.
func (p Preparation) CanResize() error {
	if err := p.Check(); err != nil {
		return err
	}
	if p.Width > MaxSize || p.Height > MaxSize {
		return fmt.Errorf("pictures cannot be resized to %d x %d pixels: at most %d on a side", p.Width, p.Height, MaxSize)
	}
	return nil
}

// FromImage writes the row of an image to dst. orientation is the EXIF orientation of the stored image, 1 for upright.
func (p Preparation) FromImage(dst []uint8, img image.Image, orientation int) error {
	if err := p.CanResize(); err != nil {
		return err
	}
	w, h := img.Bounds().Dx(), img.Bounds().Dy()
	switch {
	case w < 1 || h < 1:
		return errors.New("a picture without pixels")
	case w > MaxSide || h > MaxSide || w*h > MaxPixels:
		return fmt.Errorf("a picture of %d x %d pixels: more than %d on a side or %d megapixels are refused",
			w, h, MaxSide, MaxPixels/1_000_000)
	}
	corner, row := img.Bounds().Min, pixelRows(img)
	p.fit(dst, w, h, 3, orientation, func(dst []uint8, x0, x1, y int) {
		row(dst, corner.X+x0, corner.X+x1, corner.Y+y)
	})
	return nil
}

// FromRow writes a row of another layout to dst. The size may differ only if CanResize allows it.
func (p Preparation) FromRow(dst, row []uint8, from Shape) {
	side := from.Picture(row, nil) // the channels of a pixel side by side
	if p.Width != from.Width || p.Height != from.Height {
		p.fit(dst, from.Width, from.Height, from.Channels, 1, func(dst []uint8, x0, x1, y int) {
			copy(dst, side.Pix[(y*from.Width+x0)*from.Channels:(y*from.Width+x1)*from.Channels])
		})
		return
	}
	for y := range p.Height {
		for x := range p.Width {
			p.put(dst, x, y, side.Pix[(y*p.Width+x)*from.Channels:][:from.Channels])
		}
	}
}

// put writes a pixel of one or three channels to its position in a row.
func (p Preparation) put(dst []uint8, x, y int, pixel []uint8) {
	at, step := (y*p.Width+x)*p.Channels, 1
	if p.Planar {
		at, step = y*p.Width+x, p.Width*p.Height
	}
	switch {
	case p.Channels == len(pixel):
		for c, v := range pixel {
			dst[at+c*step] = v
		}
	case p.Channels == 1:
		dst[at] = luma(pixel[0], pixel[1], pixel[2])
	default:
		for c := range p.Channels {
			dst[at+c*step] = pixel[0]
		}
	}
}

// fit turns, crops and resizes a picture of w x h pixels, whose rows the function writes, into dst. It resizes the
// picture as stored and turns it afterwards, which gives the same result and moves fewer pixels; only the centre must
// be found in the upright picture, because it is rounded down.
func (p Preparation) fit(dst []uint8, w, h, channels, orientation int, row func(dst []uint8, x0, x1, y int)) {
	window := image.Rect(0, 0, w, h)
	seen, small := image.Pt(w, h), image.Pt(p.Width, p.Height)
	if orientation >= 5 {
		seen, small = image.Pt(h, w), image.Pt(p.Height, p.Width)
	}
	if !p.Squash {
		across := min(seen.X, max(seen.Y*p.Width/p.Height, 1))
		down := min(seen.Y, max(seen.X*p.Height/p.Width, 1))
		x, y := (seen.X-across)/2, (seen.Y-down)/2
		ax, ay := turned(orientation, w, h, x, y)
		bx, by := turned(orientation, w, h, x+across-1, y+down-1)
		window = image.Rect(ax, ay, bx, by) // sorts the corners
		window.Max = window.Max.Add(image.Pt(1, 1))
	}
	resized := make([]uint8, small.X*small.Y*channels)
	line := make([]uint8, window.Dx()*channels)
	resize(resized, channels, newAxis(window.Dx(), small.X), newAxis(window.Dy(), small.Y), func(k int) []uint8 {
		row(line, window.Min.X, window.Max.X, window.Min.Y+k)
		return line
	})
	for y := range p.Height {
		for x := range p.Width {
			sx, sy := turned(orientation, small.X, small.Y, x, y)
			p.put(dst, x, y, resized[(sy*small.X+sx)*channels:][:channels])
		}
	}
}

// turned returns the position in the stored picture of w x h pixels of pixel (x, y) of the upright one.
func turned(orientation, w, h, x, y int) (int, int) {
	switch orientation {
	case 2:
		return w - 1 - x, y
	case 3:
		return w - 1 - x, h - 1 - y
	case 4:
		return x, h - 1 - y
	case 5:
		return y, x
	case 6:
		return y, h - 1 - x
	case 7:
		return w - 1 - y, h - 1 - x
	case 8:
		return w - 1 - y, x
	}
	return x, y
}
