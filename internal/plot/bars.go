package plot

import (
	"fmt"
	"slices"
	"strings"
)

// Bars is a plot with one horizontal bar for each name.
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

// Bar is one number with its bounds.
type Bar struct {
	Name             string
	Value, Low, High float64 // bounds that both equal Value are not drawn
	Group            int
	Strong           bool
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

func (b Bars) layout(c canvas, titled bool) float64 {
	const pitch, thick = 24, 14
	top := 0.0
	if titled {
		top = drawTitle(c, b.Title)
	}
	names, values := 0.0, []float64{0}
	for _, bar := range b.Bars {
		names = max(names, measure(bar.Name, normal, bar.Strong))
		values = append(values, bar.Value, bar.High)
	}
	names = min(names, figureWidth*0.45)
	b.X.Zero = true
	f := frame{left: names + 12, top: top + 6, right: figureWidth - 46, x: b.X.fit(values)}
	f.bottom = f.top + float64(pitch*float64(len(b.Bars))) + 2
	f.y = scale{from: 0, to: 1}

	for _, t := range f.x.ticks {
		p := f.at(t, 0)
		c.line([]point{{p.x, f.top}, {p.x, f.bottom}}, inkGrid, 1, nil)
		c.text(point{p.x, f.bottom + 15}, Number(t), small, centre, inkMuted, false)
	}
	for i, bar := range b.Bars {
		g := b.Groups[bar.Group]
		y := f.top + float64(pitch*float64(i)) + 5
		p := f.at(bar.Value, 0)
		c.text(point{f.left - 6, y + 11.5}, clip(bar.Name, names, normal, bar.Strong), normal, end, inkText, bar.Strong)
		c.box(point{f.left, y}, point{p.x, y + thick}, seriesInk(g.Style), g.Hollow)
		last := p.x
		if bar.Low < bar.Value || bar.High > bar.Value {
			low, high := f.at(bar.Low, 0).x, f.at(bar.High, 0).x
			middle := y + thick/2
			// A pale line below the dark one keeps it visible both on the bar and beyond it.
			whiskers := func(i ink, width, half float64) {
				c.line([]point{{low, middle}, {high, middle}}, i, width, nil)
				c.line([]point{{low, middle - half}, {low, middle + half}}, i, width, nil)
				c.line([]point{{high, middle - half}, {high, middle + half}}, i, width, nil)
			}
			whiskers(inkSurface, 4, 5)
			whiskers(inkText, 1.5, 4)
			last = max(last, high)
		}
		c.text(point{last + 6, y + 11.5}, fmt.Sprintf("%.3f", bar.Value), small, start, inkText, bar.Strong)
	}
	c.line([]point{{f.left, f.top}, {f.left, f.bottom}}, inkMuted, 1, nil)
	c.text(point{f.right, f.bottom + 32}, b.X.Label, normal, end, inkText, false)
	return b.legend(c, f.bottom+40)
}

// legend names the groups that have bars, in rows that fit the width.
func (b Bars) legend(c canvas, y float64) float64 {
	x := 4.0
	y += 10
	for i, g := range b.Groups {
		if !slices.ContainsFunc(b.Bars, func(bar Bar) bool { return bar.Group == i }) {
			continue
		}
		need := 24 + measure(g.Name, small, false) + 18
		if x > 4 && x+need > figureWidth {
			x, y = 4, y+row
		}
		c.box(point{x, y - 9}, point{x + 18, y + 2}, seriesInk(g.Style), g.Hollow)
		c.text(point{x + 24, y + 1}, g.Name, small, start, inkText, false)
		x += need
	}
	return y + 10
}
