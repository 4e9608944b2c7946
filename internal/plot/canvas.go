package plot

import (
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
)

// canvas is what a figure is drawn on: SVG, or a recorder in the tests.
type canvas interface {
	line(path []point, i ink, width float64, dash []float64)
	marker(m markerShape, at point, radius float64, i ink)
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

// outline returns the polygon of a marker of radius 1, clockwise. A polygon of 24 corners stands for the circle.
func (m markerShape) outline() []point {
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
	case circle:
		return around(24, up, 1)
	case square:
		return around(4, math.Pi/4, 1.2)
	case triangle:
		return around(3, up, 1.3)
	case diamond:
		return around(4, up, 1.3)
	case wedge:
		return around(3, -up, 1.3)
	case cross:
		const t = 0.38 // half the thickness of the arms, before they are turned by an eighth
		plus := []point{{-t, -1.25}, {t, -1.25}, {t, -t}, {1.25, -t}, {1.25, t}, {t, t},
			{t, 1.25}, {-t, 1.25}, {-t, t}, {-1.25, t}, {-1.25, -t}, {-t, -t}}
		for i, p := range plus {
			plus[i] = point{(p.x - p.y) * math.Sqrt2 / 2, (p.x + p.y) * math.Sqrt2 / 2}
		}
		return plus
	case pentagon:
		return around(5, up, 1.2)
	case star:
		return around(10, up, 1.5, 0.65)
	}
	panic(fmt.Sprintf("plot: no marker %d", m))
}

// widthTable holds the advance widths of the characters below U+0250 in Go Regular and then in Go Bold, the fonts that
// golang.org/x/image contains, in units of 1/2048 em. Browsers draw the SVG in a font of their own, and some are wider;
// measure leaves room for that.
//
//go:embed widths.txt
var widthTable string

// widths are the widths of the table in ems, by weight and character.
var widths = sync.OnceValue(func() *[2][0x250]float64 {
	w := new([2][0x250]float64)
	for i, field := range strings.Fields(widthTable) {
		units, err := strconv.Atoi(field)
		if err != nil {
			panic("plot: " + err.Error())
		}
		w[i/0x250][i%0x250] = float64(units) / 2048
	}
	return w
})

// measure returns the width that a text may take, allowing for the wider fonts of some browsers. Characters outside
// the table count as one em.
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

// clip shortens a text to the given width.
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
