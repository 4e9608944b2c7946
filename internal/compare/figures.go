package compare

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"

	"hashgrove/internal/compare/report"
	"hashgrove/internal/eval"
)

// mostCurves limits the methods in a plot of curves; the overview and the table show all of them.
const mostCurves = 8

// plots fills in the overview and the plots that have data.
func (v *view) plots() {
	r := v.Result
	rows, focus := r.compared()
	shown, at := curves(rows), ""
	if focus > 0 {
		at = fmt.Sprintf(" at %d bits", focus)
	}
	v.Overview = "Mean average precision" + at
	if r.Data.New > 0 {
		v.Overview = "Mean average precision for new items" + at
	}
	for _, row := range rows {
		percent := int(math.Round(70 * lead(row) / max(lead(rows[0]), 0.01)))
		v.Bars = append(v.Bars, bar{row, title(row.Method), lead(row), percent})
	}
	caption := "Higher is better. Each point is a radius around the queries, all of them together."
	v.add("precision-recall", caption, report.Lines{
		Title: "Precision and recall" + at, Desc: "Precision falls as recall grows.",
		X: report.Axis{Label: "recall", To: 1}, Y: report.Axis{Label: "precision", Zero: true},
		Series: series(shown, func(row *eval.Row) (x, y []float64) {
			for _, p := range row.PRCurve {
				x, y = append(x, p.Recall), append(y, p.Precision)
			}
			return x, y
		}),
	})
	v.add("lengths", "A line that has become flat says that more bits are not worth their memory.", r.byLength(shown))
}

// add adds a plot, unless it is empty.
func (v *view) add(name, caption string, plot report.Lines) {
	if id := "plot-" + name; len(plot.Series) > 0 {
		v.Plots = append(v.Plots, drawing{id, plot.Title, caption, template.HTML(plot.SVG(id))}) // escaped
	}
}

// compared returns a row of each method, best first: that of the length of the advised row, or of the longest code
// without one, and else its longest.
func (r *Result) compared() (rows []*eval.Row, focus int) {
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Recommended && !isFloat(row) {
			focus = row.Bits
			break
		}
		if row.Kind == eval.KindMethod {
			focus = max(focus, row.Bits)
		}
	}
	place := map[string]int{}
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Error != "" {
			continue
		}
		if at, met := place[row.Method]; !met {
			place[row.Method] = len(rows)
			rows = append(rows, row)
		} else if rows[at].Bits != focus {
			rows[at] = row
		}
	}
	slices.SortStableFunc(rows, func(a, b *eval.Row) int {
		return cmp.Or(cmp.Compare(lead(b), lead(a)), cmp.Compare(a.Method, b.Method))
	})
	return rows, focus
}

// curves returns the rows shown in the curves: the advised one, then the best, the best reference and the best floor.
func curves(rows []*eval.Row) []*eval.Row {
	var picked, marks []*eval.Row
	for _, row := range rows {
		switch {
		case row.Recommended:
			picked = slices.Insert(picked, 0, row)
		case row.Kind == eval.KindMethod:
			picked = append(picked, row)
		case !slices.ContainsFunc(marks, func(m *eval.Row) bool { return m.Kind == row.Kind }):
			marks = append(marks, row)
		}
	}
	return append(picked[:min(len(picked), mostCurves-len(marks))], marks...)
}

// series returns a line for each method that has at least two points.
func series(shown []*eval.Row, points func(*eval.Row) (x, y []float64)) (list []report.Series) {
	for i, row := range shown {
		if x, y := points(row); len(x) > 1 {
			list = append(list, report.Series{Name: title(row.Method), X: x, Y: y, Style: i, Strong: row.Recommended})
		}
	}
	return list
}

// byLength shows MAP by code length.
func (r *Result) byLength(shown []*eval.Row) report.Lines {
	var lengths []float64
	for _, row := range r.Rows {
		if row.Kind == eval.KindMethod && row.Error == "" { // floors and references have lengths of their own
			lengths = append(lengths, float64(row.Bits))
		}
	}
	slices.Sort(lengths)
	lengths = slices.Compact(lengths)
	l := report.Lines{
		Title: "What more bits bring", Desc: "What methods reach by code length.",
		X: report.Axis{Label: "bits", Ticks: lengths, Zero: true}, Y: report.Axis{Label: "MAP", Zero: true},
	}
	if len(lengths) < 2 {
		return l
	}
	l.Series = series(shown, func(row *eval.Row) (x, y []float64) {
		if isFloat(row) { // no code: the same at every length
			return []float64{lengths[0], lengths[len(lengths)-1]}, []float64{lead(row), lead(row)}
		}
		for i := range r.Rows {
			if o := &r.Rows[i]; o.Method == row.Method && slices.Contains(lengths, float64(o.Bits)) && o.Error == "" {
				x, y = append(x, float64(o.Bits)), append(y, lead(o))
			}
		}
		return x, y
	})
	return l
}
