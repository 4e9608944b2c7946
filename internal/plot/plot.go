// Package plot draws the few kinds of plots that a report needs as SVG.
//
//	Lines    curves and points over linear or logarithmic axes
//	Bars     one horizontal bar for each name, with bounds
//	Figure   either of them, for a page (Inline) or as a file (WriteSVG)
//
// Series differ in colour, dash and marker, so that they can be told apart in print and by colour-blind readers. Every
// figure has a title and a description for screen readers. The same figure gives the same bytes everywhere.
package plot

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// Figure is a plot that can be drawn.
type Figure interface {
	// Heading returns the title.
	Heading() string
	// Describe describes the figure in words.
	Describe() string
	// layout draws onto the canvas and returns the height it used; the width is always figureWidth.
	layout(c canvas, titled bool) float64
}

// figureWidth is the width of every figure in its own units, small enough to be read on a phone without zooming.
const figureWidth = 440

const (
	small  = 12 // text size of ticks and legend
	normal = 13
	row    = 19 // height of a line of text with spacing
)

// Series is one line, or one set of points.
type Series struct {
	Name   string
	X, Y   []float64 // of equal length; values that are not finite, or not positive on a log axis, are left out
	Style  int       // index of colour, dash and marker; see Styles
	Strong bool      // drawn thicker, for the most important series
	Points bool      // markers without a line
}

// pen returns the width of the line and the radius of its markers.
func (s Series) pen() (width, radius float64) {
	if s.Strong {
		return 3, 5
	}
	return 1.8, 4
}

// Lines is a plot of series. The zero values of the axes fit them to the data.
type Lines struct {
	Title  string
	Desc   string // first sentence of the description; the rest is derived from the series
	X, Y   Axis
	Series []Series
	Direct bool // names beside the points instead of a legend; for series of single points
}

// Heading returns the title.
func (l Lines) Heading() string { return l.Title }

// Describe describes in words where every series starts and ends.
func (l Lines) Describe() string {
	text := l.Desc
	for _, s := range l.Series {
		at := l.visible(s)
		if len(at) == 0 {
			continue
		}
		first, last := at[0], at[len(at)-1]
		start := fmt.Sprintf("%s at %s", Number(s.Y[first]), Number(s.X[first]))
		if len(at) == 1 {
			text += fmt.Sprintf(" %s: %s.", s.Name, start)
			continue
		}
		text += fmt.Sprintf(" %s: from %s to %s at %s.", s.Name, start, Number(s.Y[last]), Number(s.X[last]))
	}
	return strings.TrimPrefix(text, " ")
}

// visible returns the indices of the points that can be drawn.
func (l Lines) visible(s Series) []int {
	if len(s.X) != len(s.Y) {
		panic(fmt.Sprintf("plot: series %q has %d x and %d y", s.Name, len(s.X), len(s.Y)))
	}
	var at []int
	for i := range s.X {
		if l.X.canShow(s.X[i]) && l.Y.canShow(s.Y[i]) {
			at = append(at, i)
		}
	}
	return at
}

// fit fits both axes to the series.
func (l Lines) fit() (x, y scale) {
	var xs, ys []float64
	for _, s := range l.Series {
		for _, i := range l.visible(s) {
			xs, ys = append(xs, s.X[i]), append(ys, s.Y[i])
		}
	}
	return l.X.fit(xs), l.Y.fit(ys)
}

// frame is the rectangle between the axes with the two scales.
type frame struct {
	left, top, right, bottom float64
	x, y                     scale
}

// at returns where a pair of numbers is drawn.
func (f frame) at(x, y float64) point {
	return point{f.left + float64(f.x.share(x)*(f.right-f.left)), f.bottom - float64(f.y.share(y)*(f.bottom-f.top))}
}

func (l Lines) layout(c canvas, titled bool) float64 {
	top := 0.0
	if titled {
		top = drawTitle(c, l.Title)
	}
	f := frame{top: top + 24, right: figureWidth - 14}
	f.x, f.y = l.fit()
	f.bottom = f.top + 236
	for _, t := range f.y.ticks {
		f.left = max(f.left, measure(Number(t), small, false)+10)
	}
	drawAxes(c, f, l.X.Label, l.Y.Label)

	for i, s := range slices.Backward(l.Series) { // the first ones matter most: they lie on top
		l.drawSeries(c, f, i, s)
	}
	if l.Direct {
		l.labelPoints(c, f)
		return f.bottom + 42
	}
	return l.legend(c, f.bottom+50)
}

func drawTitle(c canvas, title string) float64 {
	c.text(point{4, 18}, clip(title, figureWidth-8, 14, true), 14, start, inkText, true)
	return 24
}

// drawAxes draws the grid, the ticks and the two labels. The label of the y axis is horizontal, above the axis.
func drawAxes(c canvas, f frame, x, y string) {
	for _, t := range f.y.ticks {
		p := f.at(f.x.from, t)
		c.line([]point{{f.left, p.y}, {f.right, p.y}}, inkGrid, 1, nil)
		c.text(point{f.left - 6, p.y + 4}, Number(t), small, end, inkMuted, false)
	}
	free := math.Inf(-1) // right end of the last label
	for _, t := range f.x.ticks {
		p := f.at(t, f.y.from)
		c.line([]point{{p.x, f.bottom}, {p.x, f.bottom + 4}}, inkMuted, 1, nil)
		half := float64(measure(Number(t), small, false) / 2)
		middle := min(p.x, figureWidth-half-1)
		if middle-half < free+5 {
			continue
		}
		c.text(point{middle, f.bottom + 17}, Number(t), small, centre, inkMuted, false)
		free = middle + half
	}
	c.line([]point{{f.left, f.bottom}, {f.right, f.bottom}}, inkMuted, 1, nil)
	c.text(point{4, f.top - 11}, clip(y, figureWidth-8, normal, false), normal, start, inkText, false)
	c.text(point{f.right, f.bottom + 35}, clip(x, figureWidth-8, normal, false), normal, end, inkText, false)
}

// drawSeries draws one series. Lines of many points have markers at a few of them, at different points for every
// series.
func (l Lines) drawSeries(c canvas, f frame, number int, s Series) {
	const few = 7
	style := Styles[s.Style%len(Styles)]
	var path []point
	for _, k := range l.visible(s) {
		path = append(path, f.at(s.X[k], s.Y[k]))
	}
	width, radius := s.pen()
	if !s.Points && len(path) > 1 {
		c.line(path, seriesInk(s.Style), width, style.Dash)
	}
	if len(path) <= few+2 || s.Points {
		for _, p := range path {
			c.marker(style.Marker, p, radius, seriesInk(s.Style))
		}
		return
	}
	// Markers are spaced evenly along x, since points may lie arbitrarily close together.
	step := (path[len(path)-1].x - path[0].x) / few
	next := path[0].x + float64(step*float64(1+number%4)/4)
	for _, p := range path {
		if p.x >= next {
			c.marker(style.Marker, p, radius, seriesInk(s.Style))
			next += float64(step * math.Ceil((p.x-next)/step+1e-9))
		}
	}
}

// legend lists the series below the axes and returns where it ends.
func (l Lines) legend(c canvas, y float64) float64 {
	const sample, gap = 34, 14
	widest := 0.0
	for _, s := range l.Series {
		widest = max(widest, measure(s.Name, small, s.Strong))
	}
	columns := max(1, min(3, int((figureWidth-8)/(sample+6+widest+gap))))
	rows := (len(l.Series) + columns - 1) / columns
	for i, s := range l.Series {
		style := Styles[s.Style%len(Styles)]
		at := point{4 + float64(i/rows)*(figureWidth-8)/float64(columns), y + 8 + float64(float64(i%rows)*row)}
		width, radius := s.pen()
		if !s.Points {
			c.line([]point{at, {at.x + sample, at.y}}, seriesInk(s.Style), width, style.Dash)
		}
		c.marker(style.Marker, point{at.x + sample/2, at.y}, radius, seriesInk(s.Style))
		room := float64(figureWidth-8)/float64(columns) - sample - 6
		c.text(point{at.x + sample + 6, at.y + 4}, clip(s.Name, room, small, s.Strong), small, start, inkText, s.Strong)
	}
	return y + float64(float64(rows)*row) + 4
}

// rect is the space an element occupies.
type rect struct{ left, top, right, bottom float64 }

func (r rect) meets(o rect) bool {
	return r.left < o.right && o.left < r.right && r.top < o.bottom && o.top < r.bottom
}

// labelPoints writes the names beside the points. It tries to the right and left of a point, then above and below,
// then further and further up and down, and takes the first position within the frame that touches neither a marker
// nor an earlier name. A thin line connects distant names to their points.
func (l Lines) labelPoints(c canvas, f frame) {
	const pitch, most = 14, 12
	var taken []rect
	var marks []point
	var named []Series
	for _, s := range l.Series {
		for _, i := range l.visible(s) {
			p := f.at(s.X[i], s.Y[i])
			taken = append(taken, rect{p.x - 5, p.y - 5, p.x + 5, p.y + 5})
			marks, named = append(marks, p), append(named, s)
		}
	}
	for i, p := range marks {
		s := named[i]
		w := measure(s.Name, small, s.Strong)
		places := []point{{8, 4}, {-8 - w, 4}, {-w / 2, -9}, {-w / 2, 18}}
		for k := 1.0; k <= most; k++ {
			places = append(places, point{12, 4 - float64(k*pitch)}, point{-12 - w, 4 - float64(k*pitch)},
				point{12, 4 + float64(k*pitch)}, point{-12 - w, 4 + float64(k*pitch)})
		}
		at := slices.IndexFunc(places, func(d point) bool {
			b := rect{p.x + d.x, p.y + d.y - 10, p.x + d.x + w, p.y + d.y + 3}
			inside := b.left >= f.left && b.right <= figureWidth-2 && b.top >= f.top-8 && b.bottom <= f.bottom
			return inside && !slices.ContainsFunc(taken, b.meets)
		})
		at = max(at, 0) // no free space: beside the point, on top of whatever is there
		d := places[at]
		to := point{min(p.x+d.x, figureWidth-2-w), p.y + d.y}
		taken = append(taken, rect{to.x, to.y - 10, to.x + w, to.y + 3})
		if at > 3 {
			near := point{to.x - 2, to.y - 4}
			if d.x < 0 {
				near.x = to.x + w + 2
			}
			c.line([]point{p, near}, inkMuted, 0.8, nil)
			c.marker(Styles[s.Style%len(Styles)].Marker, p, 4, seriesInk(s.Style)) // redrawn on top of its line
		}
		c.text(to, s.Name, small, start, inkText, s.Strong)
	}
}

// Numbers returns the plot as a table, for readers who cannot see it: a row for each tick of the x axis and a column
// for each series. Values between points are interpolated as the line is drawn; outside a series' range there is a
// dash.
func (l Lines) Numbers() (head []string, rows [][]string) {
	head = []string{l.X.Label}
	for _, s := range l.Series {
		head = append(head, s.Name)
	}
	x, _ := l.fit()
	for _, t := range x.ticks {
		cells := []string{Number(t)}
		some := false
		for _, s := range l.Series {
			cell := "–"
			if v, ok := l.value(s, x, t); ok {
				cell, some = Number(math.Round(v*1e4)/1e4), true
			}
			cells = append(cells, cell)
		}
		if some {
			rows = append(rows, cells)
		}
	}
	return head, rows
}

// value returns the height of the line at t, interpolated linearly in the scale of the x axis.
func (l Lines) value(s Series, x scale, t float64) (float64, bool) {
	at := l.visible(s)
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(s.X[a], s.X[b]) })
	for i, k := range at {
		if math.Abs(s.X[k]-t) <= 1e-9*math.Abs(t) {
			return s.Y[k], true
		}
		if s.X[k] > t {
			if i == 0 {
				return 0, false
			}
			before := at[i-1]
			a, b := x.share(s.X[before]), x.share(s.X[k])
			w := 0.0
			if b > a {
				w = (x.share(t) - a) / (b - a)
			}
			return s.Y[before] + float64(w*(s.Y[k]-s.Y[before])), true
		}
	}
	return 0, false
}

// WriteSVG writes the figure as a separate file, in colours for white paper.
func WriteSVG(w io.Writer, f Figure) error {
	_, err := io.WriteString(w, drawSVG(f, "", true))
	return err
}

// Inline returns the figure as an svg element for a page. Its ids start with id; CSS sets its colours.
func Inline(f Figure, id string) string { return drawSVG(f, id, false) }
