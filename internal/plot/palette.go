package plot

import (
	"fmt"
	"strings"
)

// ink is a colour by its role. Series follow the named ones.
type ink int

const (
	inkSurface ink = iota
	inkText
	inkMuted
	inkGrid
	inkSeries
)

func series(style int) ink { return inkSeries + ink(style%len(Styles)) }

// Theme is the colours by role, as #RRGGBB.
type Theme struct {
	Surface, Text, Muted, Grid string
	Series                     []string // one for each of Styles
}

// The colours of Okabe and Ito (Color Universal Design, 2008). On white, their orange, sky blue and yellow have less
// than the contrast of 3:1 that thin lines need, so those are darkened; on black the blue, green and purple are
// moved instead. A test computes every contrast, and every difference as seen by the three kinds of colour-blind.
var (
	Light = Theme{"#FFFFFF", "#1B1D1F", "#555C64", "#DFE3E6",
		[]string{"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#735000", "#5097C8", "#9C942B", "#1B1D1F"}}
	Dark = Theme{"#14171A", "#E8EAED", "#A6AEB8", "#333A41",
		[]string{"#2F86C8", "#D55E00", "#55BEA2", "#C06C9A", "#E69F00", "#9CD3F2", "#F1E653", "#E8EAED"}}
)

// Style is what tells a series apart besides its colour.
type Style struct {
	Dash   []float64 // lengths of strokes and gaps; nil draws through
	Marker Marker
}

// Styles are the looks of series; their colours are in Theme.Series.
var Styles = []Style{
	{nil, Circle},
	{[]float64{9, 3}, Square},
	{[]float64{2, 2.5}, Triangle},
	{[]float64{9, 3, 2, 3}, Diamond},
	{[]float64{14, 4}, Wedge},
	{[]float64{5, 2.5}, Cross},
	{[]float64{9, 3, 2, 3, 2, 3}, Pentagon},
	{[]float64{1.5, 4}, Star},
}

// Marker is a shape.
type Marker int

// The shapes of markers.
const (
	Circle Marker = iota
	Square
	Triangle
	Diamond
	Wedge // a triangle on its point
	Cross
	Pentagon
	Star
)

// CSS gives the roles and series their colours in a page, by variables for both themes. It covers what Inline draws.
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

// colour of the ink in a theme.
func (t Theme) colour(i ink) string {
	if i >= inkSeries {
		return t.Series[i-inkSeries]
	}
	return [...]string{t.Surface, t.Text, t.Muted, t.Grid}[i]
}
