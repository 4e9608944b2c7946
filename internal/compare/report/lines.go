// Package report draws curves as SVG. The same data always give the same bytes.
package report

import (
	_ "embed" // the style sheet
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// Lines is a chart of curves.
type Lines struct {
	Title  string
	Desc   string // first sentence of the description; the rest is derived from the series
	X, Y   Axis
	Series []Series
}

// Series is one curve.
type Series struct {
	Name   string
	X, Y   []float64 // of equal length, at least one
	Style  int       // of colour and dash
	Strong bool      // drawn thicker, for the most important one
}

// The width of a chart in its own units, small enough to be read on a phone without zooming, and the height of a line
// of text.
const (
	chartWidth = 440
	lineHeight = 19
)

// styles is the number of colours and dashes in the style sheet.
const styles = 8

// CSS is the style sheet of charts in a page.
//
//go:embed chart.css
var CSS string

// SVG returns the chart as an svg element for a page, whose ids start with id, or as a separate file if id is "".
func (l Lines) SVG(id string) string {
	c := &canvas{}
	height := l.draw(c)
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
		text("title", l.Title), text("desc", l.describe()), style, c.String())
}

// describe says in words where every curve starts and ends, for screen readers.
func (l Lines) describe() string {
	text := l.Desc
	for _, s := range l.Series {
		last := len(s.X) - 1
		text += fmt.Sprintf(" %s: from %s at %s to %s at %s.", s.Name, number(s.Y[0]), number(s.X[0]),
			number(s.Y[last]), number(s.X[last]))
	}
	return strings.TrimPrefix(text, " ")
}

func (s Series) class() string {
	class := fmt.Sprintf("line c%d", s.Style%styles)
	if s.Strong {
		class += " bold"
	}
	return class
}

// draw draws onto the canvas and returns the height it used.
func (l Lines) draw(c *canvas) float64 {
	const few = 9 // points that are marked
	var xs, ys []float64
	for _, s := range l.Series {
		xs, ys = append(xs, s.X...), append(ys, s.Y...)
	}
	f := area{top: 24, right: chartWidth - 14, bottom: 260, x: l.X.fit(xs), y: l.Y.fit(ys)}
	for _, t := range f.y.ticks {
		f.left = max(f.left, float64(textWidth(number(t)))+10)
	}
	c.axes(f, l.X.Label, l.Y.Label)
	for _, s := range slices.Backward(l.Series) { // the first ones matter most: they lie on top
		var path []point
		for k, x := range s.X {
			path = append(path, f.at(x, s.Y[k]))
		}
		c.line(s.class(), path...)
		if len(path) <= few {
			for _, p := range path {
				c.dot(fmt.Sprintf("c%d", s.Style%styles), p)
			}
		}
	}
	return c.legend(f.bottom+50, l.Series)
}

// area is the rectangle between the axes with the two scales.
type area struct {
	left, top, right, bottom float64
	x, y                     scale
}

// at returns where a pair of numbers is drawn.
func (f area) at(x, y float64) point {
	return point{f.left + float64(f.x.share(x)*(f.right-f.left)), f.bottom - float64(f.y.share(y)*(f.bottom-f.top))}
}

// canvas collects SVG elements. Colours and dashes come from the style sheet, by class.
type canvas struct{ strings.Builder }

type point struct{ x, y float64 }

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

// text writes text that takes at most the given width; class may be end or middle, for where p is, or tick.
func (c *canvas) text(class string, p point, s string, most float64) {
	if n := max(1, int(most/textWidth("x"))); len([]rune(s)) > n {
		s = string([]rune(s)[:n-1]) + "…"
	}
	fmt.Fprintf(c, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", class, p.x, p.y, escape(s))
}

// textWidth returns about the width of a text.
func textWidth(s string) float64 { return 6.8 * float64(len([]rune(s))) }

// escape makes text safe within elements and attributes; characters that XML does not allow become spaces.
func escape(s string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0xFFFE || r == 0xFFFF {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?")))
}

// axes draws the grid, the ticks and the two labels. The label of the y axis is horizontal, above the axis.
func (c *canvas) axes(f area, x, y string) {
	for _, t := range f.y.ticks {
		p := f.at(0, t)
		c.line("grid", point{f.left, p.y}, point{f.right, p.y})
		c.text("tick end", point{f.left - 6, p.y + 4}, number(t), chartWidth)
	}
	free := math.Inf(-1) // right end of the last label
	for _, t := range f.x.ticks {
		p := f.at(t, 0)
		half := float64(textWidth(number(t)) / 2)
		middle := min(p.x, chartWidth-half-1)
		if middle-half < free+5 {
			continue
		}
		c.text("tick middle", point{middle, f.bottom + 17}, number(t), chartWidth)
		free = middle + half
	}
	c.line("axis", point{f.left, f.bottom}, point{f.right, f.bottom})
	c.text("", point{4, f.top - 11}, y, chartWidth-8)
	c.text("end", point{f.right, f.bottom + 35}, x, chartWidth-8)
}

// legend lists the curves in columns and returns where it ends.
func (c *canvas) legend(y float64, series []Series) float64 {
	const sample, gap = 34, 14
	widest := 0.0
	for _, s := range series {
		widest = max(widest, textWidth(s.Name))
	}
	columns := max(1, min(3, int((chartWidth-8)/(sample+6+widest+gap))))
	rows, width := (len(series)+columns-1)/columns, float64(chartWidth-8)/float64(columns)
	for i, s := range series {
		at := point{4 + float64(float64(i/rows)*width), y + 8 + float64(float64(i%rows)*lineHeight)}
		c.line(s.class(), at, point{at.x + sample, at.y})
		c.text("", point{at.x + sample + 6, at.y + 4}, s.Name, width-sample-6)
	}
	return y + float64(float64(rows)*lineHeight) + 4
}
