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

// mostCurves limits the methods in the plot; the overview and the table show all of them.
const mostCurves = 8

// draw fills in the overview and, with several lengths, the plot of them.
func (v *view) draw() {
	rows, focus := v.compared()
	v.Overview = "Mean average precision"
	if v.Data.New > 0 {
		v.Overview += " for new items"
	}
	if focus > 0 {
		v.Overview += fmt.Sprintf(" at %d bits", focus)
	}
	for _, row := range rows {
		percent := int(math.Round(70 * lead(row) / max(lead(rows[0]), 0.01)))
		v.Bars = append(v.Bars, bar{row, title(row.Method), lead(row), percent})
	}
	if plot := v.byLength(curves(rows)); len(plot.Series) > 0 {
		v.Plot = template.HTML(plot.SVG("lengths")) // escaped
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

// curves returns the rows shown in the plot: the advised one, then the best, the best reference and the best floor.
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
		X: report.Axis{Label: "bits", Ticks: lengths}, Y: report.Axis{Label: "MAP"},
	}
	if len(lengths) < 2 {
		return l
	}
	for style, row := range shown {
		line := report.Series{Name: title(row.Method), Style: style, Strong: row.Recommended}
		for i := range r.Rows {
			if o := &r.Rows[i]; o.Method == row.Method && slices.Contains(lengths, float64(o.Bits)) && o.Error == "" {
				line.X, line.Y = append(line.X, float64(o.Bits)), append(line.Y, lead(o))
			}
		}
		if isFloat(row) { // no code: the same at every length
			line.X, line.Y = []float64{lengths[0], lengths[len(lengths)-1]}, []float64{lead(row), lead(row)}
		}
		if len(line.X) > 1 {
			l.Series = append(l.Series, line)
		}
	}
	return l
}
