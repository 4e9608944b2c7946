package plot

import (
	"fmt"
	"math"
	"strings"
)

// ink is a colour by its role. The inks of series follow the named ones.
type ink int

const (
	inkSurface ink = iota
	inkText
	inkMuted
	inkGrid
	inkSeries
)

func seriesInk(style int) ink { return inkSeries + ink(style%len(Styles)) }

// Theme holds the colours by role, as #RRGGBB.
type Theme struct {
	Surface, Text, Muted, Grid string
	Series                     []string // one for each of Styles
}

// The colours of Okabe and Ito (Color Universal Design, 2008). On white, their orange, sky blue and yellow have less
// than the contrast of 3:1 that thin lines need, so those are darkened; on black the blue, green and purple are
// moved instead. A test computes every contrast, and every difference as seen with three kinds of colour blindness.
var (
	Light = Theme{"#FFFFFF", "#1B1D1F", "#555C64", "#DFE3E6",
		[]string{"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#735000", "#5097C8", "#9C942B", "#1B1D1F"}}
	Dark = Theme{"#14171A", "#E8EAED", "#A6AEB8", "#333A41",
		[]string{"#2F86C8", "#D55E00", "#55BEA2", "#C06C9A", "#E69F00", "#9CD3F2", "#F1E653", "#E8EAED"}}
)

// Style distinguishes a series by more than its colour.
type Style struct {
	Dash   []float64 // lengths of strokes and gaps; nil for a solid line
	Marker outline
}

// up is the angle of the first corner of most markers.
const up = -math.Pi / 2

// Styles are the styles of series; their colours are in Theme.Series.
var Styles = []Style{
	{nil, polygon(24, up, 1)}, // as good as a circle
	{[]float64{9, 3}, polygon(4, math.Pi/4, 1.2)},
	{[]float64{2, 2.5}, polygon(3, up, 1.3)},
	{[]float64{9, 3, 2, 3}, polygon(4, up, 1.3)},
	{[]float64{14, 4}, polygon(3, -up, 1.3)},
	{[]float64{5, 2.5}, cross()},
	{[]float64{9, 3, 2, 3, 2, 3}, polygon(5, up, 1.2)},
	{[]float64{1.5, 4}, polygon(10, up, 1.5, 0.65)}, // a star
}

// outline is the shape of a marker of radius 1, clockwise.
type outline []point

// polygon has n corners, the first at the given angle, at radii that repeat.
func polygon(n int, first float64, radii ...float64) outline {
	ring := make(outline, n)
	for i := range ring {
		angle := 2*math.Pi*float64(i)/float64(n) + first
		r := radii[i%len(radii)]
		ring[i] = point{r * math.Cos(angle), r * math.Sin(angle)}
	}
	return ring
}

func cross() outline {
	const t = 0.38 // half the thickness of the arms, before they are turned by an eighth
	plus := outline{{-t, -1.25}, {t, -1.25}, {t, -t}, {1.25, -t}, {1.25, t}, {t, t},
		{t, 1.25}, {-t, 1.25}, {-t, t}, {-1.25, t}, {-1.25, -t}, {-t, -t}}
	for i, p := range plus {
		plus[i] = point{(p.x - p.y) * math.Sqrt2 / 2, (p.x + p.y) * math.Sqrt2 / 2}
	}
	return plus
}

// CSS returns the style sheet for figures drawn by Inline, with variables for the light and the dark theme.
func CSS() string {
	var b strings.Builder
	set := func(t Theme) {
		fmt.Fprintf(&b, "--p0:%s;--p1:%s;--p2:%s;--p3:%s", t.Surface, t.Text, t.Muted, t.Grid)
		for i, c := range t.Series {
			fmt.Fprintf(&b, ";--p%d:%s", int(inkSeries)+i, c)
		}
	}
	b.WriteString(":root{")
	set(Light)
	b.WriteString("}\n@media screen and (prefers-color-scheme:dark){:root{")
	set(Dark)
	b.WriteString("}}\n")
	for i := range int(inkSeries) + len(Styles) {
		fmt.Fprintf(&b, ".s%d{stroke:var(--p%d)}.f%d{fill:var(--p%d)}\n", i, i, i, i)
	}
	return b.String()
}

// colour returns the colour of the ink in a theme.
func (t Theme) colour(i ink) string {
	if i >= inkSeries {
		return t.Series[i-inkSeries]
	}
	return [...]string{t.Surface, t.Text, t.Muted, t.Grid}[i]
}
