package report

import (
	"fmt"
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

func (s Series) class() string {
	class := fmt.Sprintf("line c%d", s.Style%styles)
	if s.Strong {
		class += " bold"
	}
	return class
}

// Heading returns the title.
func (l Lines) Heading() string { return l.Title }

// Describe says in words where every curve starts and ends.
func (l Lines) Describe() string {
	text := l.Desc
	for _, s := range l.Series {
		last := len(s.X) - 1
		text += fmt.Sprintf(" %s: from %s at %s to %s at %s.", s.Name, number(s.Y[0]), number(s.X[0]),
			number(s.Y[last]), number(s.X[last]))
	}
	return strings.TrimPrefix(text, " ")
}

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
	var entries []legendEntry
	for _, s := range l.Series {
		entries = append(entries, legendEntry{name: s.Name, class: s.class()})
	}
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
	return c.legend(f.bottom+50, entries)
}

// axes draws the grid, the ticks and the two labels. The label of the y axis is horizontal, above the axis.
func (c *canvas) axes(f area, x, y string) {
	for _, t := range f.y.ticks {
		p := f.at(f.x.from, t)
		c.line("grid", point{f.left, p.y}, point{f.right, p.y})
		c.text("tick end", point{f.left - 6, p.y + 4}, number(t), chartWidth)
	}
	free := math.Inf(-1) // right end of the last label
	for _, t := range f.x.ticks {
		p := f.at(t, f.y.from)
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
