package report

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strconv"

	"hashgrove/eval"
	"hashgrove/internal/plot"
)

// group is the part of the table of results with one code length.
type group struct {
	Name string
	Rows []tableRow
}

type tableRow struct {
	Method      string
	Mark        string // "floor", "ceiling", or nothing
	Recommended bool
	Supervision string
	Cells       []cell
}

type cell struct {
	Text string
	Note string // a second, smaller line
	Best bool   // of the methods of the group
}

// column is one measure of the table. Columns that no result fills are left out.
type column struct {
	Head, Unit string
	value      func(Result) float64
	text       func(float64) string
	less       bool // less is better
	even       bool // a 0 is a number too, not a gap
}

var columns = []column{
	{"MAP", "", func(r Result) float64 { return r.MAP }, share, false, true},
	{"Precision", "@100", func(r Result) float64 { return r.Precision100 }, share, false, true},
	{"PR area", "", func(r Result) float64 { return r.PRArea }, share, false, true},
	{"MAP of unseen", "classes", func(r Result) float64 { return r.UnseenMAP }, share, false, false},
	{"Training", "s", func(r Result) float64 { return r.TrainSeconds }, quantity, true, false},
	{"Encoding", "µs/vector", func(r Result) float64 { return r.EncodeMicroseconds }, quantity, true, false},
	{"Size", "bytes/item", func(r Result) float64 { return r.BytesPerItem }, plot.Number, true, false},
	{"Distinct", "codes", func(r Result) float64 { return float64(r.DistinctCodes) }, plot.Number, false, false},
}

// columns are those that some result fills.
func (d Data) columns() []column {
	return slices.DeleteFunc(slices.Clone(columns), func(c column) bool {
		return !c.even && !slices.ContainsFunc(d.Results, func(r Result) bool { return c.value(r) != 0 })
	})
}

// groups are the results by code length, short codes first and those without a code last; within each, best first.
func (d Data) groups(columns []column) []group {
	rows := slices.Clone(d.Results)
	slices.SortStableFunc(rows, func(a, b Result) int {
		if (a.Bits == 0) != (b.Bits == 0) {
			return cmp.Compare(b.Bits, a.Bits)
		}
		return cmp.Or(cmp.Compare(a.Bits, b.Bits), better(a, b))
	})
	var groups []group
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].Bits == rows[0].Bits {
			n++
		}
		g := group{Name: fmt.Sprintf("%d bits", rows[0].Bits)}
		if rows[0].Bits == 0 {
			g.Name = "Without codes"
		}
		for _, r := range rows[:n] {
			g.Rows = append(g.Rows, r.row(rows[:n], columns))
		}
		groups = append(groups, g)
		rows = rows[n:]
	}
	return groups
}

func (r Result) row(rivals []Result, columns []column) tableRow {
	t := tableRow{Method: r.Method, Recommended: r.Recommended, Supervision: "none"}
	switch {
	case r.Kind == Floor:
		t.Mark = "floor"
	case r.Kind == Ceiling:
		t.Mark = "ceiling"
	}
	if r.Supervised {
		t.Supervision = "labels"
	}
	for _, c := range columns {
		v := c.value(r)
		if v == 0 && !c.even {
			t.Cells = append(t.Cells, cell{Text: "–"})
			continue
		}
		t.Cells = append(t.Cells, cell{Text: c.text(v), Best: r.best(c, rivals)})
	}
	if low, high := r.bounds(); share(low) != share(high) {
		t.Cells[0].Note = share(low) + "–" + share(high)
	}
	return t
}

// best tells whether no other method of the group is better. Marks do not compete, nor do columns in which all are
// equal, and the size of an item is set by the code length.
func (r Result) best(c column, rivals []Result) bool {
	own := c.value(r)
	if r.Kind != Method || r.Bits == 0 {
		return false
	}
	differ := false
	for _, o := range rivals {
		v := c.value(o)
		if o.Kind != Method || v == 0 && !c.even {
			continue
		}
		if c.less && v < own || !c.less && v > own {
			return false
		}
		differ = differ || v != own
	}
	return differ
}

// share is a number from 0 to 1.
func share(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }

// quantity is a measured number: two or three digits are all it is good for.
func quantity(v float64) string {
	switch {
	case v >= 100:
		return plot.Number(float64(int(v + 0.5)))
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v >= 0.01:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return plot.Number(v)
}

// classTable is MAP by class of the query, a column for each method.
type classTable struct {
	Caption string
	Methods []string
	Rows    []classRow
}

type classRow struct {
	Name          string
	Queries, Base string
	Precision     string // at 100, of the first method
	Cells         []cell
	Bar           template.CSS // MAP of the first method as a length
}

// classes joins the tables of the methods in the curves, worst class of the first method first: one table for the
// worst classes and one, folded away, for the rest.
func (d Data) classes() []classTable {
	const most, open = 6, 20
	var methods []Result
	for _, m := range d.shown() {
		if len(m.Classes) > 0 && len(methods) < most {
			methods = append(methods, m.Result)
		}
	}
	if len(methods) == 0 {
		return nil
	}
	var names []string
	for _, m := range methods {
		names = append(names, m.Method)
	}
	tables := []classTable{{"MAP by class of the query, worst class first", names, nil}, {"MAP by class of the query, continued", names, nil}}
	rows := slices.Clone(methods[0].Classes)
	slices.SortStableFunc(rows, func(a, b eval.Class) int { return cmp.Or(cmp.Compare(a.MAP, b.MAP), cmp.Compare(a.Name, b.Name)) })
	for i, c := range rows {
		r := classRow{
			Name: c.Name, Queries: plot.Number(float64(c.Queries)), Base: plot.Number(float64(c.Base)),
			Precision: share(c.Precision100),
			Bar:       bar(c.MAP),
		}
		best, at := -1.0, 0
		for k, m := range methods {
			j := slices.IndexFunc(m.Classes, func(o eval.Class) bool { return o.Name == c.Name })
			if j < 0 {
				r.Cells = append(r.Cells, cell{Text: "–"})
				continue
			}
			v := m.Classes[j].MAP
			r.Cells = append(r.Cells, cell{Text: share(v)})
			if v > best {
				best, at = v, k
			}
		}
		r.Cells[at].Best = len(methods) > 1
		part := &tables[min(i/open, 1)]
		part.Rows = append(part.Rows, r)
	}
	if tables[1].Rows == nil {
		return tables[:1]
	}
	return tables
}

// mixup is a confusion as shown.
type mixup struct {
	Query, Found, Share string
	Bar                 template.CSS
}

func (d Data) mixups() []mixup {
	var shown []mixup
	worst := 0.0 // as long as a bar gets: mix-ups are small next to 1
	for _, c := range d.Confusions.Pairs {
		worst = max(worst, c.Share)
	}
	for _, c := range d.Confusions.Pairs {
		shown = append(shown, mixup{c.Query, c.Found, strconv.FormatFloat(100*c.Share, 'f', 1, 64) + " %", bar(c.Share / max(worst, 1e-9))})
	}
	return shown
}

// bar is the length of a bar behind a number.
func bar(share float64) template.CSS {
	return template.CSS(fmt.Sprintf("--share:%.1f%%", 100*min(max(share, 0), 1)))
}
