package report

import (
	"fmt"
	"slices"
	"strings"
)

// Bars is a chart with one horizontal bar for each name.
type Bars struct {
	Title  string
	Desc   string
	X      Axis    // begins at 0
	Groups []Group // for the legend; every bar belongs to one
	Bars   []Bar
}

// Group is a category of bars. Hollow bars are outlines, so that colour is not the only cue.
type Group struct {
	Name   string
	Style  int
	Hollow bool
}

func (g Group) class() string {
	class := fmt.Sprintf("c%d", g.Style%styles)
	if g.Hollow {
		class += " hollow"
	}
	return class
}

// Bar is one number.
type Bar struct {
	Name   string
	Value  float64
	Group  int
	Strong bool
}

// Heading returns the title.
func (b Bars) Heading() string { return b.Title }

// Describe lists the bars.
func (b Bars) Describe() string {
	text := b.Desc
	for _, bar := range b.Bars {
		text += fmt.Sprintf(" %s: %.3f.", bar.Name, bar.Value)
	}
	return strings.TrimPrefix(text, " ")
}

func (b Bars) draw(c *canvas) float64 {
	const pitch, thick = 24, 14
	names, values := 0.0, []float64{0}
	for _, bar := range b.Bars {
		names = max(names, textWidth(bar.Name))
		values = append(values, bar.Value)
	}
	names = min(names, chartWidth*0.45)
	b.X.Zero = true
	f := area{left: names + 12, top: 6, right: chartWidth - 46, x: b.X.fit(values), y: scale{from: 0, to: 1}}
	f.bottom = f.top + float64(pitch*float64(len(b.Bars))) + 2
	for _, t := range f.x.ticks {
		p := f.at(t, 0)
		c.line("grid", point{p.x, f.top}, point{p.x, f.bottom})
		c.text("tick middle", point{p.x, f.bottom + 15}, number(t), chartWidth)
	}
	for i, bar := range b.Bars {
		y, p, strong := f.top+float64(pitch*float64(i))+5, f.at(bar.Value, 0), ""
		if bar.Strong {
			strong = " strong"
		}
		c.text("end"+strong, point{f.left - 6, y + 11.5}, bar.Name, names)
		c.box(b.Groups[bar.Group].class(), point{f.left, y}, p.x-f.left, thick)
		c.text(strong, point{p.x + 6, y + 11.5}, fmt.Sprintf("%.3f", bar.Value), chartWidth)
	}
	c.line("axis", point{f.left, f.top}, point{f.left, f.bottom})
	c.text("end", point{f.right, f.bottom + 32}, b.X.Label, chartWidth)
	var entries []legendEntry
	for i, g := range b.Groups {
		if slices.ContainsFunc(b.Bars, func(bar Bar) bool { return bar.Group == i }) {
			entries = append(entries, legendEntry{name: g.Name, class: g.class(), bar: true})
		}
	}
	return c.legend(f.bottom+44, entries)
}
