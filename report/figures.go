package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"hashgrove/eval"
	"hashgrove/internal/plot"
)

// figure is a plot with its caption.
type figure struct {
	caption string // how to read it
	plot    plot.Figure
}

// mostCurves is the number of methods that a plot of curves shows; the overview and the table show all of them.
const mostCurves = 8

// curve is a method with the style of its line in the plots.
type curve struct {
	eval.Row
	style int
}

// focusBits returns the code length of the comparison; see Data.Bits.
func (d Data) focusBits() int {
	if d.Bits != 0 {
		return d.Bits
	}
	count := map[int]int{}
	best := 0
	for _, r := range d.Rows {
		if r.Recommended && r.Bits != 0 {
			return r.Bits
		}
		if r.Bits != 0 {
			count[r.Bits]++
		}
	}
	for _, r := range d.Rows { // not over the map: its order is random
		if count[r.Bits] > count[best] || count[r.Bits] == count[best] && r.Bits > best {
			best = r.Bits
		}
	}
	return best
}

// compared returns the results at the code length of the comparison and those without a code, best first, one for each
// name.
func (d Data) compared() []eval.Row {
	focus := d.focusBits()
	var rows []eval.Row
	for _, r := range d.Rows {
		if r.Bits == focus || r.Bits == 0 {
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, compareMAP)
	var kept []eval.Row
	for _, r := range rows {
		if !slices.ContainsFunc(kept, func(k eval.Row) bool { return k.Method == r.Method }) {
			kept = append(kept, r)
		}
	}
	return kept
}

// compareMAP orders results by falling MAP.
func compareMAP(a, b eval.Row) int {
	return cmp.Or(cmp.Compare(b.MAP, a.MAP), cmp.Compare(a.Method, b.Method))
}

// curveResults returns the results that the curves show: the recommended one first, then the best, and for reference
// the best ceiling, preferably one without codes, and the lowest floor, which is that of random codes.
func (d Data) curveResults() []curve {
	var first, methods, floors, ceilings []eval.Row
	for _, r := range d.compared() {
		switch {
		case r.Recommended:
			first = append(first, r)
		case r.Kind == eval.KindFloor:
			floors = append(floors, r)
		case r.Kind == eval.KindCeiling:
			ceilings = append(ceilings, r)
		default:
			methods = append(methods, r)
		}
	}
	var marks []eval.Row
	if len(ceilings) > 0 {
		plain := slices.IndexFunc(ceilings, func(r eval.Row) bool { return r.Bits == 0 })
		marks = append(marks, ceilings[max(plain, 0)])
	}
	if len(floors) > 0 {
		marks = append(marks, floors[len(floors)-1])
	}
	picked := append(first, methods...)
	picked = picked[:min(len(picked), mostCurves-len(marks))]
	shown := make([]curve, 0, mostCurves)
	for i, r := range append(picked, marks...) {
		shown = append(shown, curve{r, i})
	}
	return shown
}

// figures returns the plots that there are data for, in the order of the page.
func (d Data) figures() []figure {
	shown := d.curveResults()
	at := ""
	if f := d.focusBits(); f != 0 {
		at = fmt.Sprintf(" at %d bits", f)
	}
	all := []figure{
		d.overview(at), precisionRecall(shown, at), precisionRetrieved(shown, at), d.mapBits(shown),
		d.trainTime(at), objective(shown), codeUsage(shown, at), bitBalance(shown, at),
	}
	return slices.DeleteFunc(all, func(f figure) bool { return f.plot == nil })
}

// newCurvePlot returns a plot with one line for each method that has two points or more, or nil when none has.
func newCurvePlot(shown []curve, l plot.Lines, points func(eval.Row) (x, y []float64)) plot.Figure {
	for _, m := range shown {
		if x, y := points(m.Row); len(x) > 1 {
			l.Series = append(l.Series, plot.Series{Name: m.Method, X: x, Y: y, Style: m.style, Strong: m.Recommended})
		}
	}
	if l.Series == nil {
		return nil
	}
	return l
}

// largest returns the end of an axis: the largest number of any method.
func largest(shown []curve, count func(eval.Row) int) float64 {
	end := 0
	for _, m := range shown {
		end = max(end, count(m.Row))
	}
	return float64(end)
}

// bitAxis returns an axis up to the last bit with ticks at quarters, since code lengths are rarely multiples of ten.
func bitAxis(label string, shown []curve, count func(eval.Row) int) plot.Axis {
	a := plot.Axis{Label: label, To: largest(shown, count)}
	if int(a.To)%4 == 0 {
		a.Ticks = []float64{0, a.To / 4, a.To / 2, 3 * a.To / 4, a.To}
	}
	return a
}

// The groups of the overview, by supervision and kind.
var groups = []plot.Group{
	{Name: "supervised", Style: 0},
	{Name: "unsupervised", Style: 1},
	{Name: "floor", Style: 7, Hollow: true},
	{Name: "ceiling: not a code of this length", Style: 2, Hollow: true},
}

func (d Data) overview(suffix string) figure {
	b := plot.Bars{
		Title:  "Mean average precision" + suffix,
		Desc:   "Bars, longest first.",
		X:      plot.Axis{Label: "MAP"},
		Groups: groups,
	}
	for _, r := range d.compared() {
		group := 1
		switch {
		case r.Kind == eval.KindFloor:
			group = 2
		case r.Kind == eval.KindCeiling:
			group = 3
		case r.Supervised:
			group = 0
		}
		low, high := mapBounds(r)
		b.Bars = append(b.Bars, plot.Bar{
			Name: r.Method, Value: r.MAP, Low: low, High: high, Group: group, Strong: r.Recommended,
		})
	}
	if b.Bars == nil {
		return figure{}
	}
	return figure{"Longer is better. " +
		"The thin line across the end of a bar runs from the worst to the best order of ties.", b}
}

// mapBounds returns the bounds of MAP; a result without them has no ties.
func mapBounds(r eval.Row) (low, high float64) {
	if r.MAPLow == 0 && r.MAPHigh == 0 {
		return r.MAP, r.MAP
	}
	return r.MAPLow, r.MAPHigh
}

func precisionRecall(shown []curve, suffix string) figure {
	l := plot.Lines{
		Title: "Precision and recall" + suffix,
		Desc:  "Precision falls as recall grows.",
		X:     plot.Axis{Label: "recall", From: 0, To: 1},
		Y:     plot.Axis{Label: "precision", Zero: true},
	}
	return figure{"Higher is better. Each point is a Hamming radius, all queries together.",
		newCurvePlot(shown, l, func(r eval.Row) (x, y []float64) {
			for _, p := range r.PRCurve {
				x, y = append(x, p.Recall), append(y, p.Precision)
			}
			return x, y
		})}
}

func precisionRetrieved(shown []curve, suffix string) figure {
	const most = 2000
	l := plot.Lines{
		Title: "Precision of the first results" + suffix,
		Desc:  "Precision of the nearest items as more are retrieved.",
		X: plot.Axis{Label: "items retrieved", To: largest(shown, func(r eval.Row) int {
			if len(r.PrecisionCurve) == 0 {
				return 0
			}
			return min(r.PrecisionCurve[len(r.PrecisionCurve)-1].Rank, most)
		})},
		Y: plot.Axis{Label: "precision", Zero: true},
	}
	return figure{"Higher is better: the share of right ones among the nearest items.",
		newCurvePlot(shown, l, func(r eval.Row) (x, y []float64) {
			for _, p := range r.PrecisionCurve {
				if p.Rank <= most {
					x, y = append(x, float64(p.Rank)), append(y, p.Precision)
				}
			}
			return x, y
		})}
}

func (d Data) mapBits(shown []curve) figure {
	var lengths []float64
	for _, r := range d.Rows {
		if r.Bits > 0 && r.Kind == eval.KindMethod { // floors and ceilings have lengths of their own
			lengths = append(lengths, float64(r.Bits))
		}
	}
	slices.Sort(lengths)
	lengths = slices.Compact(lengths)
	if len(lengths) < 2 {
		return figure{}
	}
	l := plot.Lines{
		Title: "What more bits bring",
		Desc:  "Mean average precision by code length.",
		X:     plot.Axis{Label: "bits", Log: true, Ticks: lengths},
		Y:     plot.Axis{Label: "MAP", Zero: true},
	}
	return figure{"A line that has become flat says that more bits are not worth their memory.",
		newCurvePlot(shown, l, func(r eval.Row) (x, y []float64) {
			if r.Bits == 0 { // no code: the same at every length
				return []float64{lengths[0], lengths[len(lengths)-1]}, []float64{r.MAP, r.MAP}
			}
			for _, bits := range lengths {
				i := slices.IndexFunc(d.Rows, func(o eval.Row) bool {
					return o.Method == r.Method && float64(o.Bits) == bits
				})
				if i >= 0 {
					x, y = append(x, bits), append(y, d.Rows[i].MAP)
				}
			}
			return x, y
		})}
}

func (d Data) trainTime(suffix string) figure {
	l := plot.Lines{
		Title:  "Training time and what it buys" + suffix,
		Desc:   "Points: mean average precision by training seconds on a logarithmic axis.",
		X:      plot.Axis{Label: "training time, seconds", Log: true},
		Y:      plot.Axis{Label: "MAP", Zero: true},
		Direct: true,
	}
	styles := map[string]int{}
	for _, m := range d.curveResults() {
		styles[m.Method] = m.style
	}
	for _, r := range d.compared() {
		if r.TrainSeconds <= 0 {
			continue
		}
		style, ok := styles[r.Method]
		if !ok {
			style = len(plot.Styles) - 1 // the rest share the last look; their names stand beside them
		}
		l.Series = append(l.Series, plot.Series{
			Name: r.Method, X: []float64{r.TrainSeconds}, Y: []float64{r.MAP},
			Style: style, Strong: r.Recommended, Points: true,
		})
	}
	if len(l.Series) < 2 {
		return figure{}
	}
	return figure{"Up and to the left is better. Each step along the axis multiplies the time.", l}
}

func objective(shown []curve) figure {
	l := plot.Lines{
		Title: "The objective, bit by bit",
		Desc:  "The loss that training lowers, after each bit.",
		X:     bitAxis("bits learned", shown, func(r eval.Row) int { return len(r.Objective) }),
		Y:     plot.Axis{Label: "objective"},
	}
	return figure{"Lower is better: how far the codes still are from the wanted similarities of the training pairs.",
		newCurvePlot(shown, l, func(r eval.Row) (x, y []float64) {
			for i, v := range r.Objective {
				x, y = append(x, float64(i+1)), append(y, v)
			}
			return x, y
		})}
}

// codeUsage is the cumulative form of a histogram of items per code: it needs no bins, and the curves of several
// methods fit into one plot.
func codeUsage(shown []curve, suffix string) figure {
	largest := 1
	for _, m := range shown {
		if b := m.Usage.Buckets; len(b) > 0 {
			largest = max(largest, b[len(b)-1].Size)
		}
	}
	if largest == 1 {
		return figure{} // every code is its own in every method: nothing to see
	}
	l := plot.Lines{
		Title: "Items that share a code" + suffix,
		Desc:  "Share of the items whose code at most so many items have.",
		X:     plot.Axis{Label: "items with one code, at most", Log: true},
		Y:     plot.Axis{Label: "share of the items", From: 0, To: 1},
	}
	return figure{"Items of one code cannot be told apart: a line that rises far to the right means crowded codes.",
		newCurvePlot(shown, l, func(r eval.Row) (x, y []float64) {
			total, sum := 0, 0
			for _, b := range r.Usage.Buckets {
				total += b.Size * b.Codes
			}
			if total == 0 {
				return nil, nil
			}
			// A step before each rise, since between two sizes nothing is added.
			step := func(size int) {
				x, y = append(x, float64(size)), append(y, float64(sum)/float64(total))
			}
			step(1)
			for _, b := range r.Usage.Buckets {
				step(b.Size)
				sum += b.Size * b.Codes
				step(b.Size)
			}
			step(largest)
			return x, y
		})}
}

func bitBalance(shown []curve, suffix string) figure {
	l := plot.Lines{
		Title: "Balance of the bits" + suffix,
		Desc:  "Share of items in which a bit is one, bits sorted by it.",
		X:     bitAxis("bits, sorted", shown, func(r eval.Row) int { return len(r.Usage.Ones) }),
		Y:     plot.Axis{Label: "share of items with a one", From: 0, To: 1},
	}
	return figure{"A bit near one half tells most; one near 0 or 1 is the same for nearly every item.",
		newCurvePlot(shown, l, func(r eval.Row) (x, y []float64) {
			y = slices.Sorted(slices.Values(r.Usage.Ones))
			for i := range y {
				x = append(x, float64(i+1))
			}
			return x, y
		})}
}

// finite reports whether v is neither NaN nor infinite.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
