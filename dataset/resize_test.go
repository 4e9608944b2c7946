package dataset

import (
	"bytes"
	"image"
	"image/color"
	"math"
	"math/rand/v2"
	"testing"
)

// slowWeight is the definition: how much source pixel k counts for output i when from pixels become to.
func slowWeight(from, to, i, k int) int {
	if to <= from {
		return max(0, min((i+1)*from, (k+1)*to)-max(i*from, k*to))
	}
	centre := min(max((2*i+1)*from-to, 0), 2*to*(from-1))
	return max(0, 2*to-max(centre-2*to*k, 2*to*k-centre))
}

// slowResize takes every source pixel into account for every output.
func slowResize(src []uint8, w, h, channels, n int) []uint8 {
	dst := make([]uint8, n*n*channels)
	for j := range n {
		for i := range n {
			for c := range channels {
				sum, unit := 0, 0
				for l := range h {
					for k := range w {
						weight := slowWeight(w, n, i, k) * slowWeight(h, n, j, l)
						sum += weight * int(src[(l*w+k)*channels+c])
						unit += weight
					}
				}
				dst[(j*n+i)*channels+c] = uint8((2*sum + unit) / (2 * unit))
			}
		}
	}
	return dst
}

func TestResizeIsTheDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	sizes := []int{1, 2, 3, 5, 8, 13, 31}
	for _, w := range sizes {
		for _, h := range sizes {
			for _, n := range []int{1, 2, 4, 7, 8, 16} {
				for _, channels := range []int{1, 3} {
					src := randomBytes(rng, w*h*channels)
					got := make([]uint8, n*n*channels)
					resize(got, channels, newAxis(w, n), newAxis(h, n), func(k int) []uint8 { return src[k*w*channels : (k+1)*w*channels] })
					if want := slowResize(src, w, h, channels, n); !bytes.Equal(got, want) {
						t.Fatalf("%d x %d to %d, %d channels: %v, want %v", w, h, n, channels, got, want)
					}
				}
			}
		}
	}
}

// TestResizeOfTheLargest looks for sums that overflow.
func TestResizeOfTheLargest(t *testing.T) {
	white := bytes.Repeat([]byte{255}, maxEdge)
	for _, c := range [][3]int{{maxEdge, 1, 2}, {maxEdge, 1, maxSize}, {1, 1, maxSize}, {maxEdge, 1800, 1}} {
		got := make([]uint8, c[2]*c[2])
		resize(got, 1, newAxis(c[0], c[2]), newAxis(c[1], c[2]), func(int) []uint8 { return white[:c[0]] })
		for _, v := range got {
			if v != 255 {
				t.Fatalf("%v: white became %d", c, v)
			}
		}
	}
}

func randomBytes(rng *rand.Rand, n int) []uint8 {
	b := make([]uint8, n)
	for i := range b {
		b[i] = uint8(rng.Uint32())
	}
	return b
}

// slowColour is the definition of a pixel: its colour on white, in 8 bits, rounded once.
func slowColour(c color.Color) [3]uint8 {
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

// sides are what the 0th row and the 0th column of the stored picture are as it is seen: the table of the EXIF standard.
var sides = [9][2]string{1: {"top", "left"}, {"top", "right"}, {"bottom", "right"}, {"bottom", "left"},
	{"left", "top"}, {"right", "top"}, {"right", "bottom"}, {"left", "bottom"}}

// slowTurn is where stored pixel (x, y) is seen.
func slowTurn(orientation, w, h, x, y int) (int, int) {
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

// slowPicture turns, then crops, then resizes, then makes grey, each for the whole picture.
func slowPicture(img image.Image, orientation int, f fit) []uint8 {
	b := img.Bounds()
	w, h := b.Dx(), b.Dy()
	width, height := w, h
	if orientation >= 5 {
		width, height = h, w
	}
	upright := make([][3]uint8, w*h)
	for y := range h {
		for x := range w {
			sx, sy := slowTurn(orientation, w, h, x, y)
			upright[sy*width+sx] = slowColour(img.At(b.Min.X+x, b.Min.Y+y))
		}
	}
	x0, y0, x1, y1 := 0, 0, width, height
	if side := min(width, height); !f.squash {
		x0, y0 = (width-side)/2, (height-side)/2
		x1, y1 = x0+side, y0+side
	}
	var cut []uint8
	for y := y0; y < y1; y++ {
		for x := x0; x < x1; x++ {
			c := upright[y*width+x]
			cut = append(cut, c[:]...)
		}
	}
	out := slowResize(cut, x1-x0, y1-y0, 3, f.size)
	if f.grey {
		for i := range len(out) / 3 {
			out[i] = uint8(math.Round((19595*float64(out[3*i]) + 38470*float64(out[3*i+1]) + 7471*float64(out[3*i+2])) / 65536))
		}
		out = out[:len(out)/3]
	}
	return out
}

// images is a picture of every kind there is, of random pixels.
func images(rng *rand.Rand, w, h int) []image.Image {
	r := image.Rect(0, 0, w, h)
	var list []image.Image
	for _, ratio := range []image.YCbCrSubsampleRatio{
		image.YCbCrSubsampleRatio444, image.YCbCrSubsampleRatio422, image.YCbCrSubsampleRatio420,
		image.YCbCrSubsampleRatio440, image.YCbCrSubsampleRatio411, image.YCbCrSubsampleRatio410,
	} {
		m := image.NewYCbCr(r, ratio)
		copy(m.Y, randomBytes(rng, len(m.Y)))
		copy(m.Cb, randomBytes(rng, len(m.Cb)))
		copy(m.Cr, randomBytes(rng, len(m.Cr)))
		list = append(list, m)
	}
	gray, gray16, cmyk := image.NewGray(r), image.NewGray16(r), image.NewCMYK(r)
	nrgba, nrgba64 := image.NewNRGBA(r), image.NewNRGBA64(r)
	for _, p := range [][]uint8{gray.Pix, gray16.Pix, cmyk.Pix, nrgba.Pix, nrgba64.Pix} {
		copy(p, randomBytes(rng, len(p)))
	}
	rgba, rgba64 := image.NewRGBA(r), image.NewRGBA64(r)
	alpha := image.NewNYCbCrA(r, image.YCbCrSubsampleRatio420)
	copy(alpha.Y, randomBytes(rng, len(alpha.Y)))
	copy(alpha.A, randomBytes(rng, len(alpha.A)))
	palette := color.Palette{color.Black, color.NRGBA{200, 100, 50, 128}, color.RGBA{1, 2, 3, 255}, color.NRGBA64{9999, 30000, 65535, 1000}, color.Gray{77}}
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
	other := struct{ image.Image }{nrgba} // nothing is known of it
	return append(list, gray, gray16, cmyk, nrgba, nrgba64, rgba, rgba64, alpha, paletted, other)
}

func TestPicturesAreTheDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	for _, size := range [][2]int{{9, 6}, {6, 9}, {7, 7}, {4, 11}, {3, 2}} {
		for _, img := range images(rng, size[0], size[1]) {
			for o := 1; o <= 8; o++ {
				f := fit{size: 4, squash: rng.IntN(2) == 0, grey: rng.IntN(2) == 0}
				got := make([]uint8, 16*f.channels(3))
				f.apply(got, size[0], size[1], 3, o, pixelRows(img))
				if want := slowPicture(img, o, f); !bytes.Equal(got, want) {
					t.Fatalf("%T of %v, orientation %d, %+v: %v, want %v", img, size, o, f, got, want)
				}
			}
		}
	}
}

// TestUnitsAreBounded is what the division in resize relies on.
func TestUnitsAreBounded(t *testing.T) {
	worst := uint64(0)
	for _, w := range []int{1, 2, maxSize - 1, maxSize, maxSize + 1, 10000, maxEdge - 1, maxEdge} {
		for _, n := range []int{1, maxSize} {
			h := min(maxPixels/w, maxEdge)
			for _, h := range []int{1, min(h, maxSize-1), h} {
				worst = max(worst, newAxis(w, n).unit*newAxis(h, n).unit)
			}
		}
	}
	if worst >= 1<<28 {
		t.Errorf("a unit of %d", worst)
	}
}
