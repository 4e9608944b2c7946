package plot

import (
	"fmt"
	"math"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// canvas is what a figure is drawn on: an SVG text or a raster.
type canvas interface {
	line(path []point, i ink, width float64, dash []float64)
	marker(m Marker, at point, radius float64, i ink)
	box(from, to point, i ink, hollow bool)
	text(at point, s string, size float64, a anchor, i ink, bold bool)
}

type point struct{ x, y float64 }

// anchor is the part of a text that lies at its point.
type anchor int

const (
	start anchor = iota
	centre
	end
)

// outline is the polygon of a marker of radius 1, clockwise. A circle is close enough at 24 corners.
func (m Marker) outline() []point {
	around := func(n int, first float64, radii ...float64) []point {
		ring := make([]point, n)
		for i := range ring {
			angle := 2*math.Pi*float64(i)/float64(n) + first
			r := radii[i%len(radii)]
			ring[i] = point{r * math.Cos(angle), r * math.Sin(angle)}
		}
		return ring
	}
	const up = -math.Pi / 2
	switch m {
	case Circle:
		return around(24, up, 1)
	case Square:
		return around(4, math.Pi/4, 1.2)
	case Triangle:
		return around(3, up, 1.3)
	case Diamond:
		return around(4, up, 1.3)
	case Wedge:
		return around(3, -up, 1.3)
	case Cross:
		const t = 0.38 // half the thickness of the arms, before they are turned by an eighth
		plus := []point{{-t, -1.25}, {t, -1.25}, {t, -t}, {1.25, -t}, {1.25, t}, {t, t}, {t, 1.25}, {-t, 1.25}, {-t, t}, {-1.25, t}, {-1.25, -t}, {-t, -t}}
		for i, p := range plus {
			plus[i] = point{(p.x - p.y) * math.Sqrt2 / 2, (p.x + p.y) * math.Sqrt2 / 2}
		}
		return plus
	case Pentagon:
		return around(5, up, 1.2)
	case Star:
		return around(10, up, 1.5, 0.65)
	}
	panic(fmt.Sprintf("plot: no marker %d", m))
}

// fonts are the Go fonts, which golang.org/x/image brings along: the layout measures with them and the raster draws
// with them. A browser draws the SVG in a font of its own, and some are wider; measure leaves room for that.
var fonts = sync.OnceValue(func() (f [2]*sfnt.Font) {
	for i, ttf := range [][]byte{goregular.TTF, gobold.TTF} {
		parsed, err := opentype.Parse(ttf)
		if err != nil {
			panic("plot: " + err.Error())
		}
		f[i] = parsed
	}
	return f
})

// face makes the font at a size. A face has buffers inside, so every user makes its own.
func face(size float64, bold bool) font.Face {
	f := fonts()[0]
	if bold {
		f = fonts()[1]
	}
	face, err := opentype.NewFace(f, &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingNone})
	if err != nil {
		panic("plot: " + err.Error())
	}
	return face
}

// widths are the advances of the common letters, in ems, for both fonts.
var widths = sync.OnceValue(func() *[2][0x250]float64 {
	w := new([2][0x250]float64)
	for i := range w {
		f := face(64, i == 1)
		for r := range w[i] {
			if advance, ok := f.GlyphAdvance(rune(r)); ok {
				w[i][r] = float64(advance) / float64(fixed.I(64))
			}
		}
		f.Close()
	}
	return w
})

// measure is the width that a text may take, in the wider fonts of browsers too. Letters of other scripts count as
// squares.
func measure(s string, size float64, bold bool) float64 {
	const room = 1.12
	table := &widths()[0]
	if bold {
		table = &widths()[1]
	}
	sum := 0.0
	for _, r := range s {
		if int(r) < len(table) {
			sum += table[r]
		} else {
			sum++
		}
	}
	return sum * size * room
}

// clip shortens a text to a width.
func clip(s string, width, size float64, bold bool) string {
	if measure(s, size, bold) <= width {
		return s
	}
	width -= measure("…", size, bold)
	for i, r := range s {
		if width -= measure(string(r), size, bold); width < 0 {
			return s[:i] + "…"
		}
	}
	return s
}
