package plot

import (
	_ "embed"
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
	"sync"
)

// svg is a canvas that writes elements. In a page, colours come from CSS classes; in a separate file they are
// attributes, since few programs other than browsers read style sheets.
type svg struct {
	strings.Builder
	page bool
}

func drawSVG(f Figure, id string, file bool) string {
	c := &svg{page: !file}
	height := f.layout(c, file)
	var b strings.Builder
	size := fmt.Sprintf(`viewBox="0 0 %d %s"`, figureWidth, decimal(height))
	if file {
		fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%s" %s role="img">`+"\n",
			figureWidth, decimal(height), size)
	} else {
		fmt.Fprintf(&b, `<svg %s role="img" aria-labelledby="%s-title" aria-describedby="%s-desc">`+"\n",
			size, html.EscapeString(id), html.EscapeString(id))
	}
	for _, e := range [][2]string{{"title", f.Heading()}, {"desc", f.Describe()}} {
		attribute := ""
		if !file {
			attribute = fmt.Sprintf(` id="%s-%s"`, html.EscapeString(id), e[0])
		}
		fmt.Fprintf(&b, "<%s%s>%s</%s>\n", e[0], attribute, html.EscapeString(xmlText(e[1])), e[0])
	}
	if file {
		fmt.Fprintf(&b, `<rect width="%d" height="%s" fill="%s"/>`+"\n", figureWidth, decimal(height), Light.Surface)
	}
	b.WriteString(c.String())
	b.WriteString("</svg>\n")
	return b.String()
}

func (c *svg) paint(property byte, i ink) string {
	switch {
	case c.page:
		return fmt.Sprintf(`class="%c%d"`, property, int(i))
	case property == 's':
		return `stroke="` + Light.colour(i) + `"`
	}
	return `fill="` + Light.colour(i) + `"`
}

func (c *svg) line(path []point, i ink, width float64, dash []float64) {
	fmt.Fprintf(c, `<path %s fill="none" stroke-width="%s"`, c.paint('s', i), decimal(width))
	if dash != nil {
		lengths := make([]string, len(dash))
		for k, d := range dash {
			lengths[k] = decimal(d)
		}
		fmt.Fprintf(c, ` stroke-dasharray="%s"`, strings.Join(lengths, " "))
	}
	fmt.Fprintf(c, ` stroke-linejoin="round" d="%s"/>`+"\n", pathData(path, false))
}

// marker draws a thin rim in the background colour to set the marker off from the lines below it.
func (c *svg) marker(m outline, at point, radius float64, i ink) {
	shape := make([]point, len(m))
	for k, p := range m {
		shape[k] = point{at.x + float64(p.x*radius), at.y + float64(p.y*radius)}
	}
	if c.page {
		fmt.Fprintf(c, `<path class="f%d s%d" stroke-width=".8" d="%s"/>`+"\n",
			int(i), int(inkSurface), pathData(shape, true))
		return
	}
	fmt.Fprintf(c, `<path fill="%s" stroke="%s" stroke-width=".8" d="%s"/>`+"\n",
		Light.colour(i), Light.colour(inkSurface), pathData(shape, true))
}

func (c *svg) box(from, to point, i ink, hollow bool) {
	x, y, w, h := from.x, from.y, to.x-from.x, to.y-from.y
	if hollow {
		fmt.Fprintf(c, `<rect x="%s" y="%s" width="%s" height="%s" fill="none" %s`+
			` stroke-width="1.6" stroke-dasharray="4 2"/>`+"\n",
			decimal(x+0.8), decimal(y+0.8), decimal(max(w-1.6, 0.1)), decimal(h-1.6), c.paint('s', i))
		return
	}
	fmt.Fprintf(c, `<rect x="%s" y="%s" width="%s" height="%s" %s/>`+"\n",
		decimal(x), decimal(y), decimal(max(w, 0.1)), decimal(h), c.paint('f', i))
}

func (c *svg) text(at point, s string, size float64, a anchor, i ink, bold bool) {
	fmt.Fprintf(c, `<text x="%s" y="%s" font-size="%s" %s`,
		decimal(at.x), decimal(at.y), decimal(size), c.paint('f', i))
	if !c.page {
		c.WriteString(` font-family="sans-serif"`)
	}
	switch a {
	case centre:
		c.WriteString(` text-anchor="middle"`)
	case end:
		c.WriteString(` text-anchor="end"`)
	}
	if bold {
		c.WriteString(` font-weight="bold"`)
	}
	fmt.Fprintf(c, ">%s</text>\n", html.EscapeString(xmlText(s)))
}

// pathData returns the path in SVG notation.
func pathData(path []point, closed bool) string {
	var b strings.Builder
	for i, p := range path {
		b.WriteByte("ML"[min(i, 1)])
		b.WriteString(decimal(p.x) + " " + decimal(p.y))
	}
	if closed {
		b.WriteByte('Z')
	}
	return b.String()
}

// decimal formats a length to a tenth of a unit.
func decimal(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10+0, 'f', -1, 64) // + 0 turns -0 into 0
}

// xmlText replaces characters that XML forbids even when escaped: control characters and invalid UTF-8.
func xmlText(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' || r == 0xFFFE || r == 0xFFFF || r == 0xFFFD {
			return '?'
		}
		return r
	}, s)
}

// canvas is drawn on by figures: SVG, or a recorder in tests.
type canvas interface {
	line(path []point, i ink, width float64, dash []float64)
	marker(m outline, at point, radius float64, i ink)
	box(from, to point, i ink, hollow bool)
	text(at point, s string, size float64, a anchor, i ink, bold bool)
}

type point struct{ x, y float64 }

// anchor is the part of a text placed at its point.
type anchor int

const (
	start anchor = iota
	centre
	end
)

// widthTable holds the advance widths of the characters below U+0250 in Go Regular and then in Go Bold, the fonts that
// golang.org/x/image contains, in units of 1/2048 em. Browsers draw the SVG in a font of their own, and some are wider;
// measure leaves room for that.
//
//go:embed widths.txt
var widthTable string

// widths returns the widths of the table in ems, by weight and character.
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

// measure returns an upper bound of a text's width, allowing for the wider fonts of some browsers. Characters
// outside the table count as one em.
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

// The colours of Okabe and Ito (Color Universal Design, 2008). On white, their orange, sky blue and yellow fall
// short of the 3:1 contrast that thin lines need, so they are darkened; on black the blue, green and purple are
// adjusted instead. A test computes every contrast, and every difference as seen with three kinds of colour
// blindness.
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

// polygon returns a polygon of n corners, the first at the given angle, cycling through the radii.
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
