package plot

import (
	"math"
	"slices"
)

// Numbers returns the plot as a table, for readers who cannot see it: a row for each tick of the x axis and a column
// for each series. Values between two points are interpolated as the line is drawn; outside the range of a series
// there is a dash.
func (l Lines) Numbers() (head []string, rows [][]string) {
	head = []string{l.X.Label}
	var xs []float64
	for _, s := range l.Series {
		head = append(head, s.Name)
		for _, i := range l.visible(s) {
			xs = append(xs, s.X[i])
		}
	}
	x := l.X.fit(xs)
	for _, t := range x.ticks {
		cells := []string{Number(t)}
		some := false
		for _, s := range l.Series {
			v, ok := l.value(s, x, t)
			some = some || ok
			if ok {
				cells = append(cells, Number(math.Round(v*1e4)/1e4))
			} else {
				cells = append(cells, "–")
			}
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
	slices.SortStableFunc(at, func(a, b int) int {
		switch {
		case s.X[a] < s.X[b]:
			return -1
		case s.X[a] > s.X[b]:
			return 1
		}
		return 0
	})
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
