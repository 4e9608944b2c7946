// Package report draws plots of lines and bars as SVG. The same data always give the same bytes.
package report

import (
	_ "embed" // the style sheet
	"fmt"
	"html"
	"io"
	"strings"
)

// Figure is a chart that can be drawn as SVG: Lines or Bars.
type Figure interface {
	// Heading returns the title.
	Heading() string
	// Describe describes the figure in words, for screen readers.
	Describe() string
	// draw draws onto the canvas and returns the height it used; the width is always chartWidth.
	draw(c *canvas) float64
}

// The width of every figure in its own units, small enough to be read on a phone without zooming, and the height of a
// line of text.
const (
	chartWidth = 440
	lineHeight = 19
)

// styles is the number of colours and dashes in the style sheet.
const styles = 8

// CSS is the style sheet of plots in a page.
//
//go:embed chart.css
var CSS string

// WriteSVG writes the figure as a separate file.
func WriteSVG(w io.Writer, f Figure) error {
	_, err := io.WriteString(w, SVG(f, ""))
	return err
}

// SVG returns the figure as an svg element for a page, whose ids start with id, or as a separate file if id is "".
func SVG(f Figure, id string) string {
	c := &canvas{}
	height := f.draw(c)
	attributes, style := fmt.Sprintf(`aria-labelledby="%s-title" aria-describedby="%[1]s-desc"`, html.EscapeString(id)), ""
	if id == "" {
		attributes = fmt.Sprintf(`xmlns="http://www.w3.org/2000/svg" width="%d" height="%.0f"`, chartWidth, height)
		style = "<style>\n" + CSS + "</style>\n"
	}
	text := func(name, s string) string {
		mark := ""
		if id != "" {
			mark = fmt.Sprintf(` id="%s-%s"`, html.EscapeString(id), name)
		}
		return fmt.Sprintf("<%s%s>%s</%s>\n", name, mark, escape(s), name)
	}
	return fmt.Sprintf("<svg viewBox=\"0 0 %d %.0f\" role=\"img\" %s>\n%s%s%s%s</svg>\n", chartWidth, height, attributes,
		text("title", f.Heading()), text("desc", f.Describe()), style, c.String())
}

// escape makes text safe within elements and attributes; characters that XML does not allow become spaces.
func escape(s string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0xFFFE || r == 0xFFFF {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?")))
}

type point struct{ x, y float64 }

// canvas collects SVG elements. Colours and dashes come from the style sheet, by class.
type canvas struct{ strings.Builder }

func (c *canvas) line(class string, path ...point) {
	var b strings.Builder
	for _, p := range path {
		fmt.Fprintf(&b, " %.1f,%.1f", p.x, p.y)
	}
	fmt.Fprintf(c, "<polyline class=\"%s\" points=\"%s\"/>\n", class, b.String()[1:])
}

func (c *canvas) dot(class string, p point) {
	fmt.Fprintf(c, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"/>\n", class, p.x, p.y)
}

func (c *canvas) box(class string, p point, width, height float64) {
	fmt.Fprintf(c, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", class, p.x, p.y,
		max(0, width), height)
}

// text writes text that takes at most the given width; class may be end or middle, for where p is, tick or strong.
func (c *canvas) text(class string, p point, s string, most float64) {
	if n := max(1, int(most/textWidth("x"))); len([]rune(s)) > n {
		s = string([]rune(s)[:n-1]) + "…"
	}
	fmt.Fprintf(c, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", class, p.x, p.y, escape(s))
}

// textWidth returns about the width of a text.
func textWidth(s string) float64 { return 6.8 * float64(len([]rune(s))) }

// area is the rectangle between the axes with the two scales.
type area struct {
	left, top, right, bottom float64
	x, y                     scale
}

// at returns where a pair of numbers is drawn.
func (f area) at(x, y float64) point {
	return point{f.left + float64(f.x.share(x)*(f.right-f.left)), f.bottom - float64(f.y.share(y)*(f.bottom-f.top))}
}

// legendEntry is a name beside a sample of its line or bar.
type legendEntry struct {
	name, class string
	bar         bool
}

// legend lists names in columns and returns where it ends.
func (c *canvas) legend(y float64, entries []legendEntry) float64 {
	const sample, gap = 34, 14
	widest := 0.0
	for _, e := range entries {
		widest = max(widest, textWidth(e.name))
	}
	columns := max(1, min(3, int((chartWidth-8)/(sample+6+widest+gap))))
	rows, width := (len(entries)+columns-1)/columns, float64(chartWidth-8)/float64(columns)
	for i, e := range entries {
		at := point{4 + float64(float64(i/rows)*width), y + 8 + float64(float64(i%rows)*lineHeight)}
		if e.bar {
			c.box(e.class, point{at.x + sample/2, at.y - 5}, sample/2, 10)
		} else {
			c.line(e.class, at, point{at.x + sample, at.y})
		}
		c.text("", point{at.x + sample + 6, at.y + 4}, e.name, width-sample-6)
	}
	return y + float64(float64(rows)*lineHeight) + 4
}
