package plot

import (
	"fmt"
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
	Marker markerShape
}

// Styles are the styles of series; their colours are in Theme.Series.
var Styles = []Style{
	{nil, circle},
	{[]float64{9, 3}, square},
	{[]float64{2, 2.5}, triangle},
	{[]float64{9, 3, 2, 3}, diamond},
	{[]float64{14, 4}, wedge},
	{[]float64{5, 2.5}, cross},
	{[]float64{9, 3, 2, 3, 2, 3}, pentagon},
	{[]float64{1.5, 4}, star},
}

// markerShape is the shape of a marker.
type markerShape int

// The shapes of markers.
const (
	circle markerShape = iota
	square
	triangle
	diamond
	wedge // a triangle on its point
	cross
	pentagon
	star
)

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
