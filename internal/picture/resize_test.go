package picture

import (
	"bytes"
	"image"
	"image/color"
	"math/rand/v2"
	"testing"

	"hashgrove/internal/testkit/picturetest"
)

func TestResizeIsTheDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	sizes := []int{1, 2, 3, 5, 8, 13, 31}
	for _, w := range sizes {
		for _, h := range sizes {
			for _, n := range []int{1, 2, 4, 7, 8, 16} {
				for _, channels := range []int{1, 3} {
					src := picturetest.Bytes(rng, w*h*channels)
					got := make([]uint8, n*n*channels)
					resize(got, channels, newAxis(w, n), newAxis(h, n), func(k int) []uint8 { return src[k*w*channels : (k+1)*w*channels] })
					if want := picturetest.Resized(src, w, h, channels, image.Pt(n, n)); !bytes.Equal(got, want) {
						t.Fatalf("%d x %d to %d, %d channels: %v, want %v", w, h, n, channels, got, want)
					}
				}
			}
		}
	}
}

// TestResizeOfTheLargest looks for sums that overflow.
func TestResizeOfTheLargest(t *testing.T) {
	white := bytes.Repeat([]byte{255}, MaxSide)
	for _, c := range [][3]int{{MaxSide, 1, 2}, {MaxSide, 1, MaxSize}, {1, 1, MaxSize}, {MaxSide, 1800, 1}} {
		got := make([]uint8, c[2]*c[2])
		resize(got, 1, newAxis(c[0], c[2]), newAxis(c[1], c[2]), func(int) []uint8 { return white[:c[0]] })
		for _, v := range got {
			if v != 255 {
				t.Fatalf("%v: white became %d", c, v)
			}
		}
	}
}

func TestPicturesAreTheDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	for _, size := range [][2]int{{9, 6}, {6, 9}, {7, 7}, {4, 11}, {3, 2}} {
		for _, img := range picturetest.Images(rng, size[0], size[1]) {
			for o := 1; o <= 8; o++ {
				p := Preparation{Shape: Shape{Width: 4, Height: 4, Channels: 3 - 2*rng.IntN(2)}, Squash: rng.IntN(2) == 0}
				if o%2 == 0 {
					p.Width = 3 + o
				}
				got := make([]uint8, p.Values())
				if err := p.FromImage(got, img, o); err != nil {
					t.Fatal(err)
				}
				want := picturetest.Prepared(img, o, image.Pt(p.Width, p.Height), p.Squash, p.Channels == 1)
				if !bytes.Equal(got, want) {
					t.Fatalf("%T of %v, orientation %d, %v: %v, want %v", img, size, o, p, got, want)
				}
			}
		}
	}
}

// TestPartOfAnImage prepares a part of a larger image, whose corner is not at 0, 0.
func TestPartOfAnImage(t *testing.T) {
	p := Preparation{Shape: Shape{Width: 3, Height: 3, Channels: 3}}
	for _, img := range picturetest.Images(rand.New(rand.NewPCG(5, 1)), 12, 9) {
		whole, ok := img.(interface {
			SubImage(r image.Rectangle) image.Image
		})
		if !ok {
			continue
		}
		part := whole.SubImage(image.Rect(3, 1, 10, 9))
		got := make([]uint8, p.Values())
		if err := p.FromImage(got, part, 1); err != nil {
			t.Fatal(err)
		}
		if want := picturetest.Prepared(part, 1, image.Pt(3, 3), false, false); !bytes.Equal(got, want) {
			t.Errorf("%T: %v, want %v", img, got, want)
		}
	}
}

// TestRowsBecomeRows changes layout, size and colours of rows, and compares with images of the same pixels.
func TestRowsBecomeRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	for _, from := range []Shape{{5, 4, 3, false}, {5, 4, 3, true}, {5, 4, 1, false}, {4, 4, 3, true}} {
		row := picturetest.Bytes(rng, from.Values())
		seen := from.Picture(row, nil)
		img := image.NewNRGBA(image.Rect(0, 0, from.Width, from.Height))
		for i := range from.Width * from.Height {
			c := color.NRGBA{A: 255}
			c.R, c.G, c.B = seen.Pix[i*from.Channels], seen.Pix[(i*from.Channels)+from.Channels/2], seen.Pix[(i+1)*from.Channels-1]
			img.SetNRGBA(i%from.Width, i/from.Width, c)
		}
		for _, to := range []Shape{from, {4, 4, 3, false}, {4, 4, 1, false}, {7, 3, 3, true}, {5, 4, 3, false}, {5, 4, 1, false}} {
			for _, squash := range []bool{false, true} {
				p := Preparation{Shape: to, Squash: squash}
				got, want := make([]uint8, to.Values()), make([]uint8, to.Values())
				p.FromRow(got, row, from)
				if err := p.FromImage(want, img, 1); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%v to %v: %v, want %v (%v)", from, p, got, want, err)
				}
			}
		}
	}
}

func TestPreparationsThatCannotBe(t *testing.T) {
	for _, s := range []Shape{{}, {0, 4, 3, false}, {4, 70000, 3, false}, {4, 4, 2, false}, {4, 4, 1, true}, {65536, 65536, 3, false}} {
		if (Preparation{Shape: s}).Check() == nil {
			t.Errorf("%+v passes", s)
		}
	}
	if (Preparation{Shape: Shape{2000, 4, 1, false}}).CanResize() == nil {
		t.Error("pictures can be resized to any size")
	}
	p := Preparation{Shape: Shape{4, 4, 1, false}}
	for _, img := range []image.Image{image.NewGray(image.Rect(0, 0, 0, 5)), image.NewUniform(color.White)} {
		if p.FromImage(make([]uint8, 16), img, 1) == nil {
			t.Errorf("an image of %v is prepared", img.Bounds())
		}
	}
}

// TestUnitsAreBounded checks what the division in resize relies on.
func TestUnitsAreBounded(t *testing.T) {
	worst := uint64(0)
	for _, w := range []int{1, 2, MaxSize - 1, MaxSize, MaxSize + 1, 10000, MaxSide - 1, MaxSide} {
		for _, n := range []int{1, MaxSize} {
			h := min(MaxPixels/w, MaxSide)
			for _, h := range []int{1, min(h, MaxSize-1), h} {
				worst = max(worst, newAxis(w, n).unit*newAxis(h, n).unit)
			}
		}
	}
	if worst >= 1<<28 {
		t.Errorf("a unit of %d", worst)
	}
}
