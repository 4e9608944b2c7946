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
// recommended row or, without one, the longest.
func (d Data) focusBits() int {
	longest := 0
	for _, r := range d.Rows {
		if r.Recommended && r.Bits != 0 {
			return r.Bits
		}
		if r.Kind == eval.KindMethod {
			longest = max(longest, r.Bits)
		}
	}
	return longest
}

// compared returns the row of each method at the code length of the comparison, or else its longest, best first.
func (d Data) compared() []eval.Row {
	focus, place := d.focusBits(), map[string]int{}
	var rows []eval.Row
	for _, r := range d.Rows {
		if i, met := place[r.Method]; !met {
			place[r.Method] = len(rows)
			rows = append(rows, r)
		} else if rows[i].Bits != focus {
			rows[i] = r
		}
	}
	slices.SortStableFunc(rows, compare)
	return rows
}

// compare orders results by descending MAP.
func compare(a, b eval.Row) int {
	return cmp.Or(cmp.Compare(mean(b), mean(a)), cmp.Compare(a.Method, b.Method))
}

// curveResults returns the results shown in the curves: the recommended one, then the best, the best reference and the
// best floor.
func (d Data) curveResults() []curve {
	var picked, marks []eval.Row
	for _, r := range d.compared() {
		switch {
		case r.Recommended:
			picked = slices.Insert(picked, 0, r)
		case r.Kind == eval.KindMethod:
			picked = append(picked, r)
		case !slices.ContainsFunc(marks, func(m eval.Row) bool { return m.Kind == r.Kind }):
			marks = append(marks, r)
		}
	}
	picked = picked[:min(len(picked), mostCurves-len(marks))]
	var shown []curve
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
	all := []figure{
		d.overview(at),
		newCurves("precision-recall", "Higher is better. Each point is a radius around the queries, all of them together.",
			Lines{
				Title: "Precision and recall" + at, Desc: "Precision falls as recall grows.",
				X: Axis{Label: "recall", To: 1}, Y: Axis{Label: "precision", Zero: true},
			}, shown, func(r eval.Row) (x, y []float64) {
				for _, p := range r.PRCurve {
					x, y = append(x, p.Recall), append(y, p.Precision)
				}
				return x, y
			}),
		d.mapBits(shown),
	}
	return slices.DeleteFunc(all, func(f figure) bool { return f.plot == nil })
}

// newCurves returns a plot with one line for each method that has at least two points, or none if no method has.
func newCurves(name, caption string, l Lines, shown []curve, points func(eval.Row) (x, y []float64)) figure {
	for _, m := range shown {
		if x, y := points(m.Row); len(x) > 1 {
			l.Series = append(l.Series, Series{Name: m.Method, X: x, Y: y, Style: m.style, Strong: m.Recommended})
		}
	}
	if l.Series == nil {
		return figure{}
	}
	return figure{name: name, caption: caption, plot: l}
}

// Groups of the overview, by supervision and kind.
var groups = []Group{
	{Name: "supervised", Style: 0},
	{Name: "unsupervised", Style: 1},
	{Name: "floor", Style: 7, Hollow: true},
	{Name: "reference: no code of this length", Style: 2, Hollow: true},
}

func (d Data) overview(suffix string) figure {
	b := Bars{Title: "Mean average precision", Desc: "Bars, longest first.", X: Axis{Label: "MAP"}, Groups: groups}
	if d.Dataset.New > 0 {
		b.Title += " for new items"
	}
	b.Title += suffix
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
		b.Bars = append(b.Bars, Bar{Name: r.Method, Value: mean(r), Group: group, Strong: r.Recommended})
	}
	return figure{name: "overview", plot: b, caption: "Longer is better."}
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
		X:     Axis{Label: "bits", Ticks: lengths, Zero: true},
		Y:     Axis{Label: "MAP", Zero: true},
	}
	caption := "A line that has become flat says that more bits are not worth their memory."
	return newCurves("lengths", caption, l, shown, func(r eval.Row) (x, y []float64) {
		if r.Bits == 0 { // no code: the same at every length
			return []float64{lengths[0], lengths[len(lengths)-1]}, []float64{mean(r), mean(r)}
		}
		for _, o := range d.Rows {
			if o.Method == r.Method && slices.Contains(lengths, float64(o.Bits)) {
				x, y = append(x, float64(o.Bits)), append(y, mean(o))
			}
		}
		return x, y
	})
}
