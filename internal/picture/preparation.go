package picture

import (
	"errors"
	"fmt"
	"image"
)

// Preparation is everything that decides how a picture becomes a row of pixels. A model keeps the one it was learned
// with, so that pictures that come later are prepared alike.
//
// A picture of another size is cropped to the largest part in the middle that has the right aspect, and resized.
// Cropping keeps shapes as they are: filters and patches measure directions and sizes, and what matters is mostly in
// the middle. Squash takes the whole picture instead and changes its aspect.
type Preparation struct {
	Shape
	Squash   bool
	Mirrored bool // a model was learned from mirror images too
	Averaged bool // a model adds the scores of a picture and of its mirror image before it takes their signs
}

// Check reports a preparation that cannot be used.
func (p Preparation) Check() error { return p.Shape.Check() }

// String describes the preparation.
func (p Preparation) String() string {
	if p.Squash {
		return p.Shape.String() + ", squashed"
	}
	return p.Shape.String() + ", cropped"
}

// CanResize reports a size that pictures cannot be resized to.
func (p Preparation) CanResize() error {
	if err := p.Check(); err != nil {
		return err
	}
	if p.Width > MaxSize || p.Height > MaxSize {
		return fmt.Errorf("pictures are not resized to %d x %d pixels: at most %d on a side", p.Width, p.Height, MaxSize)
	}
	return nil
}

// FromImage writes the row of an image to dst. The image is stored as the EXIF orientation says, 1 for upright.
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

// FromRow writes a row of another layout to dst. Only a layout that CanResize allows may have another size.
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

// put writes a pixel, of one channel or three, to its place in a row.
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

// fit turns, crops and resizes a picture of w x h pixels, whose rows the function writes, into dst. The picture is
// resized as it is stored and then turned, which gives the same and moves fewer pixels; only the middle must be found
// as it will be seen, because it is rounded down.
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

// turned tells where pixel (x, y) of the picture as it should be seen lies in the stored one of w x h pixels.
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
