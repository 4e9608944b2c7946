package report

import (
	"cmp"
	"fmt"
	"slices"

	"hashgrove/internal/eval"
)

// figure is a plot with its caption.
type figure struct {
	name    string // of its anchor in the page
	caption string // how to read it
	plot    Figure
}

// mostCurves limits the methods in a plot of curves; the overview and the table show all of them.
const mostCurves = 8

// curve is a method with its line style in the plots.
type curve struct {
	eval.Row
	style int
}

// focusBits returns the code length at which methods are compared in curves, classes and the overview: that of the
// recommended row or, without one, the length with the most rows, preferring the longer one.
func (d Data) focusBits() int {
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

// compared returns the results at the code length of the comparison, those without a code, and those with a length
// of their own, best first, one per name.
func (d Data) compared() []eval.Row {
	focus := d.focusBits()
	var rows []eval.Row
	for _, r := range d.Rows {
		capped := r.CappedFrom > 0 && r.CappedFrom <= focus // the method cannot make more bits
		if r.Bits == focus || r.Bits == 0 || capped || d.ownLength(r) {
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, d.compare)
	var kept []eval.Row
	for _, r := range rows {
		if !slices.ContainsFunc(kept, func(k eval.Row) bool { return k.Method == r.Method }) {
			kept = append(kept, r)
		}
	}
	return kept
}

// ownLength reports whether a reference has a single code length that no method has: the output of a classifier has
// a bit for each class.
func (d Data) ownLength(r eval.Row) bool {
	return r.Kind != eval.KindMethod && !slices.ContainsFunc(d.Rows, func(o eval.Row) bool {
		return o.Method == r.Method && o.Bits != r.Bits || o.Kind == eval.KindMethod && o.Bits == r.Bits
	})
}

// compare orders results by descending quality.
func (d Data) compare(a, b eval.Row) int {
	return cmp.Or(cmp.Compare(d.quality(b), d.quality(a)), cmp.Compare(a.Method, b.Method))
}

// curveResults returns the results shown in the curves: the recommended one, then the best, the best reference with
// labels and the best without, preferably without codes, and the lowest floor, which is random codes.
func (d Data) curveResults() []curve {
	var first, methods, floors, learned, plain []eval.Row
	for _, r := range d.compared() {
		switch {
		case r.Recommended:
			first = append(first, r)
		case r.Kind == eval.KindFloor:
			floors = append(floors, r)
		case r.Kind == eval.KindReference && r.Supervised:
			learned = append(learned, r)
		case r.Kind == eval.KindReference:
			plain = append(plain, r)
		default:
			methods = append(methods, r)
		}
	}
	var marks []eval.Row
	for _, references := range [][]eval.Row{learned, plain} {
		if len(references) > 0 {
			at := slices.IndexFunc(references, func(r eval.Row) bool { return r.Bits == 0 })
			marks = append(marks, references[max(at, 0)])
		}
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

// figures returns the plots that have data, in the order of the page.
func (d Data) figures() []figure {
	shown := d.curveResults()
	at := ""
	if f := d.focusBits(); f != 0 {
		at = fmt.Sprintf(" at %d bits", f)
	}
	precision := Axis{Label: "precision", Zero: true}
	all := []figure{
		d.overview(at),
		newCurves(shown, "Higher is better. Each point is a radius around the queries, all of them together.", Lines{
			Title: "Precision and recall" + at, Desc: "Precision falls as recall grows.",
			X: Axis{Label: "recall", To: 1}, Y: precision,
		}, func(r eval.Row) (x, y []float64) {
			for _, p := range r.PRCurve {
				x, y = append(x, p.Recall), append(y, p.Precision)
			}
			return x, y
		}),
		newCurves(shown, "Higher is better: the share of right ones among the nearest items.", Lines{
			Title: "Precision of the first results" + at, Desc: "Precision of the nearest items as more are retrieved.",
			X: Axis{Label: "items retrieved", To: lastRank(shown)}, Y: precision,
		}, func(r eval.Row) (x, y []float64) {
			for _, p := range r.PrecisionCurve {
				if p.Rank <= mostRetrieved {
					x, y = append(x, float64(p.Rank)), append(y, p.Precision)
				}
			}
			return x, y
		}),
		d.mapBits(shown),
	}
	for i, name := range []string{"overview", "precision-recall", "first-results", "lengths"} {
		all[i].name = name
	}
	return slices.DeleteFunc(all, func(f figure) bool { return f.plot == nil })
}

// mostRetrieved is the last rank shown.
const mostRetrieved = 2000

// lastRank returns the last rank shown for any method.
func lastRank(shown []curve) float64 {
	last := 0
	for _, m := range shown {
		if n := len(m.PrecisionCurve); n > 0 {
			last = max(last, min(m.PrecisionCurve[n-1].Rank, mostRetrieved))
		}
	}
	return float64(last)
}

// newCurves returns a plot with one line for each method that has at least two points, or none if no method has.
func newCurves(shown []curve, caption string, l Lines, points func(eval.Row) (x, y []float64)) figure {
	for _, m := range shown {
		if x, y := points(m.Row); len(x) > 1 {
			l.Series = append(l.Series, Series{Name: m.Method, X: x, Y: y, Style: m.style, Strong: m.Recommended})
		}
	}
	if l.Series == nil {
		return figure{}
	}
	return figure{caption: caption, plot: l}
}

// Groups of the overview, by supervision and kind.
var groups = []Group{
	{Name: "supervised", Style: 0},
	{Name: "unsupervised", Style: 1},
	{Name: "floor", Style: 7, Hollow: true},
	{Name: "reference: no code of this length", Style: 2, Hollow: true},
}

func (d Data) overview(suffix string) figure {
	b := Bars{
		Title:  "Mean average precision" + d.ofNew() + suffix,
		Desc:   "Bars, longest first.",
		X:      Axis{Label: d.measure()},
		Groups: groups,
	}
	if d.unjudged() {
		b.Title = "Recall of float neighbours" + d.ofNew() + suffix
	}
	for _, r := range d.compared() {
		group := 1
		switch {
		case r.Kind == eval.KindFloor:
			group = 2
		case r.Kind == eval.KindReference:
			group = 3
		case r.Supervised:
			group = 0
		}
		low, high := mapBounds(r)
		if d.unjudged() {
			low, high = d.quality(r), d.quality(r)
		}
		b.Bars = append(b.Bars, Bar{
			Name: r.Method, Value: d.quality(r), Low: low, High: high, Group: group, Strong: r.Recommended,
		})
	}
	if b.Bars == nil {
		return figure{}
	}
	if d.unjudged() {
		return figure{plot: b, caption: fmt.Sprintf("Longer is better: the share of the nearest vectors that is among the "+
			"first %d items.", d.RecallRank)}
	}
	return figure{plot: b, caption: "Longer is better. " +
		"The thin line across the end of a bar runs from the worst to the best order of ties."}
}

// ofNew returns the part of a title that says the numbers are about new items.
func (d Data) ofNew() string {
	if d.Dataset.New > 0 {
		return " for new items"
	}
	return ""
}

// mapBounds returns the bounds of MAP; without bounds a result has no ties.
func mapBounds(r eval.Row) (low, high float64) {
	by := r.Leading()
	if by.MAPLow == 0 && by.MAPHigh == 0 {
		return by.MAP, by.MAP
	}
	return by.MAPLow, by.MAPHigh
}

func (d Data) mapBits(shown []curve) figure {
	var lengths []float64
	for _, r := range d.Rows {
		if r.Bits > 0 && r.Kind == eval.KindMethod { // floors and references have lengths of their own
			lengths = append(lengths, float64(r.Bits))
		}
	}
	slices.Sort(lengths)
	lengths = slices.Compact(lengths)
	if len(lengths) < 2 {
		return figure{}
	}
	l := Lines{
		Title: "What more bits bring",
		Desc:  "What methods reach by code length.",
		X:     Axis{Label: "bits", Log: true, Ticks: lengths},
		Y:     Axis{Label: d.measure(), Zero: true},
	}
	caption := "A line that has become flat says that more bits are not worth their memory."
	return newCurves(shown, caption, l, func(r eval.Row) (x, y []float64) {
		if r.Bits == 0 { // no code: the same at every length
			return []float64{lengths[0], lengths[len(lengths)-1]}, []float64{d.quality(r), d.quality(r)}
		}
		for _, bits := range lengths {
			i := slices.IndexFunc(d.Rows, func(o eval.Row) bool {
				return o.Method == r.Method && float64(o.Bits) == bits
			})
			if i >= 0 {
				x, y = append(x, bits), append(y, d.quality(d.Rows[i]))
			}
		}
		return x, y
	})
}
