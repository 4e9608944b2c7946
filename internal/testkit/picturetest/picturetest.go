// Package picturetest makes pictures for tests, and defines how pictures are prepared, in slow functions.
package picturetest

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"math/rand/v2"
)

// PNG encodes a picture as PNG.
func PNG(img image.Image) string {
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err)
	}
	return b.String()
}

// JPEG encodes a picture as JPEG.
func JPEG(img image.Image) string {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, nil); err != nil {
		panic(err)
	}
	return b.String()
}

// Flat returns a picture of one colour.
func Flat(w, h int, c color.Color) image.Image {
	m := image.NewNRGBA64(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.Set(x, y, c)
		}
	}
	return m
}

// Chunk returns a PNG chunk with its checksum.
func Chunk(name, data string) string {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	b = append(b, name+data...)
	return string(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:])))
}

// weight defines how much source pixel k counts for output i when resizing.
func weight(from, to, i, k int) int {
	if to <= from {
		return max(0, min((i+1)*from, (k+1)*to)-max(i*from, k*to))
	}
	centre := min(max((2*i+1)*from-to, 0), 2*to*(from-1))
	return max(0, 2*to-max(centre-2*to*k, 2*to*k-centre))
}

// Resized resizes by the definition: every source pixel counts for every output.
func Resized(src []uint8, w, h, channels int, to image.Point) []uint8 {
	dst := make([]uint8, to.X*to.Y*channels)
	for j := range to.Y {
		for i := range to.X {
			for c := range channels {
				sum, unit := 0, 0
				for l := range h {
					for k := range w {
						weighed := weight(w, to.X, i, k) * weight(h, to.Y, j, l)
						sum += weighed * int(src[(l*w+k)*channels+c])
						unit += weighed
					}
				}
				dst[(j*to.X+i)*channels+c] = uint8((2*sum + unit) / (2 * unit))
			}
		}
	}
	return dst
}

// Bytes returns random bytes.
func Bytes(rng *rand.Rand, n int) []uint8 {
	b := make([]uint8, n)
	for i := range b {
		b[i] = uint8(rng.Uint32())
	}
	return b
}

// colour defines the colour of a pixel: on white, in 8 bits, rounded once.
func colour(c color.Color) [3]uint8 {
	var v [3]uint64
	var a, full uint64
	switch c := c.(type) {
	case color.NRGBA:
		v, a, full = [3]uint64{uint64(c.R), uint64(c.G), uint64(c.B)}, uint64(c.A), 255
	case color.NRGBA64:
		v, a, full = [3]uint64{uint64(c.R), uint64(c.G), uint64(c.B)}, uint64(c.A), 65535
	case color.NYCbCrA:
		r, g, b := color.YCbCrToRGB(c.Y, c.Cb, c.Cr)
		v, a, full = [3]uint64{uint64(r), uint64(g), uint64(b)}, uint64(c.A), 255
	case color.YCbCr:
		r, g, b := color.YCbCrToRGB(c.Y, c.Cb, c.Cr)
		return [3]uint8{r, g, b}
	case color.CMYK:
		r, g, b := color.CMYKToRGB(c.C, c.M, c.Y, c.K)
		return [3]uint8{r, g, b}
	default: // premultiplied
		r, g, b, alpha := c.RGBA()
		var out [3]uint8
		for i, v := range []uint32{r, g, b} {
			out[i] = uint8((2*255*uint64(v+65535-alpha) + 65535) / (2 * 65535))
		}
		return out
	}
	var out [3]uint8
	for i, v := range v {
		out[i] = uint8((2*255*(v*a+full*(full-a)) + full*full) / (2 * full * full))
	}
	return out
}

// sides names the visible side of the stored picture's 0th row and 0th column: the table of EXIF.
var sides = [9][2]string{1: {"top", "left"}, {"top", "right"}, {"bottom", "right"}, {"bottom", "left"},
	{"left", "top"}, {"right", "top"}, {"right", "bottom"}, {"left", "bottom"}}

// Seen returns where stored pixel (x, y) is seen.
func Seen(orientation, w, h, x, y int) (int, int) {
	seen := map[string]int{}
	rowSide, columnSide := sides[orientation][0], sides[orientation][1]
	seen[rowSide], seen[columnSide] = y, x
	width, height := w, h
	if rowSide == "left" || rowSide == "right" {
		width, height = h, w
	}
	if d, found := seen["right"]; found {
		seen["left"] = width - 1 - d
	}
	if d, found := seen["bottom"]; found {
		seen["top"] = height - 1 - d
	}
	return seen["left"], seen["top"]
}

// Prepared turns, crops, resizes and converts to grey, each for the whole picture.
func Prepared(img image.Image, orientation int, to image.Point, squash, grey bool) []uint8 {
	b := img.Bounds()
	w, h := b.Dx(), b.Dy()
	width, height := w, h
	if orientation >= 5 {
		width, height = h, w
	}
	upright := make([][3]uint8, w*h)
	for y := range h {
		for x := range w {
			sx, sy := Seen(orientation, w, h, x, y)
			upright[sy*width+sx] = colour(img.At(b.Min.X+x, b.Min.Y+y))
		}
	}
	x0, y0, x1, y1 := 0, 0, width, height
	if !squash { // the largest part with the right aspect ratio
		across, down := width, height
		for across > 1 && across*to.Y > height*to.X {
			across--
		}
		for down > 1 && down*to.X > width*to.Y {
			down--
		}
		x0, y0 = (width-across)/2, (height-down)/2
		x1, y1 = x0+across, y0+down
	}
	var cut []uint8
	for y := y0; y < y1; y++ {
		for x := x0; x < x1; x++ {
			c := upright[y*width+x]
			cut = append(cut, c[:]...)
		}
	}
	out := Resized(cut, x1-x0, y1-y0, 3, to)
	if grey {
		for i := range len(out) / 3 {
			red, green, blue := float64(out[3*i]), float64(out[3*i+1]), float64(out[3*i+2])
			out[i] = uint8(math.Round((float64(19595*red) + float64(38470*green) + float64(7471*blue)) / 65536))
		}
		out = out[:len(out)/3]
	}
	return out
}

// Images returns a picture of every image type, with random pixels.
func Images(rng *rand.Rand, w, h int) []image.Image {
	r := image.Rect(0, 0, w, h)
	var list []image.Image
	for _, ratio := range []image.YCbCrSubsampleRatio{
		image.YCbCrSubsampleRatio444, image.YCbCrSubsampleRatio422, image.YCbCrSubsampleRatio420,
		image.YCbCrSubsampleRatio440, image.YCbCrSubsampleRatio411, image.YCbCrSubsampleRatio410,
	} {
		m := image.NewYCbCr(r, ratio)
		copy(m.Y, Bytes(rng, len(m.Y)))
		copy(m.Cb, Bytes(rng, len(m.Cb)))
		copy(m.Cr, Bytes(rng, len(m.Cr)))
		list = append(list, m)
	}
	gray, gray16, cmyk := image.NewGray(r), image.NewGray16(r), image.NewCMYK(r)
	nrgba, nrgba64 := image.NewNRGBA(r), image.NewNRGBA64(r)
	for _, p := range [][]uint8{gray.Pix, gray16.Pix, cmyk.Pix, nrgba.Pix, nrgba64.Pix} {
		copy(p, Bytes(rng, len(p)))
	}
	rgba, rgba64 := image.NewRGBA(r), image.NewRGBA64(r)
	alpha := image.NewNYCbCrA(r, image.YCbCrSubsampleRatio420)
	copy(alpha.Y, Bytes(rng, len(alpha.Y)))
	copy(alpha.A, Bytes(rng, len(alpha.A)))
	palette := color.Palette{
		color.Black, color.NRGBA{200, 100, 50, 128}, color.RGBA{1, 2, 3, 255},
		color.NRGBA64{9999, 30000, 65535, 1000}, color.Gray{77},
	}
	paletted := image.NewPaletted(r, palette)
	for y := range h {
		for x := range w {
			a := uint32(rng.IntN(65536))
			c := color.RGBA64{uint16(rng.Uint32N(a + 1)), uint16(rng.Uint32N(a + 1)), uint16(rng.Uint32N(a + 1)), uint16(a)}
			rgba.Set(x, y, c)
			rgba64.Set(x, y, c)
			paletted.SetColorIndex(x, y, uint8(rng.IntN(len(palette))))
		}
	}
	other := struct{ image.Image }{nrgba} // hides the image type
	return append(list, gray, gray16, cmyk, nrgba, nrgba64, rgba, rgba64, alpha, paletted, other)
}
