package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"hashgrove/internal/eval"
)

// group is the part of the results table with one code length.
type group struct {
	Name string
	Rows []tableRow
}

type tableRow struct {
	Method      string
	Mark        string // "floor", "reference", or nothing
	Recommended bool
	Supervision string
	Cells       []cell
}

type cell struct {
	Text string
	Note string // a second, smaller line
	Best bool   // among the methods of the group
}

// column is one measure in the table. Columns that no result fills are left out.
type column struct {
	Head, Unit string
	value      func(eval.Row) float64
	text       func(float64) string
	less       bool // smaller is better
	even       bool // 0 is a number, not a missing value
}

var columns = []column{
	{"MAP", "", mean, formatShare, false, true},
	{"MAP by", "Hamming", hammingMAP, formatShare, false, false},
	{"MAP by", "margins", marginsMAP, formatShare, false, false},
	{"MAP by", "expected code", func(r eval.Row) float64 { return r.Expected.MAP }, formatShare, false, false},
	{"Precision", "", func(r eval.Row) float64 { return r.Leading().Precision }, formatShare, false, true},
	{"Nearest of", "its class", nearest, formatShare, false, false},
	{"PR area", "", func(r eval.Row) float64 { return r.Leading().PRArea }, formatShare, false, true},
	{"MAP of learned", "items", func(r eval.Row) float64 { return r.LearnedMAP() }, formatShare, false, false},
	{"Nearest of class,", "learned items", learnedNearest, formatShare, false, false},
	{"MAP of unseen", "classes", func(r eval.Row) float64 { return r.UnseenMAP }, formatShare, false, false},
	{"Training", "s", func(r eval.Row) float64 { return r.TrainSeconds }, formatQuantity, true, false},
	{"Encoding", "µs/vector", func(r eval.Row) float64 { return r.EncodeMicroseconds }, formatQuantity, true, false},
	{"Size", "bytes/item", func(r eval.Row) float64 { return float64(r.Bytes) }, Number, true, false},
	{"Distinct", "codes", func(r eval.Row) float64 { return float64(r.DistinctCodes) }, Number, false, false},
}

// columns returns the columns for which at least one result has a number.
func (d Data) columns() []column {
	hasNew := d.Dataset.New > 0
	return slices.DeleteFunc(slices.Clone(columns), func(c column) bool {
		if (c.Head == "MAP of learned" || c.Unit == "learned items") && !hasNew {
			return true
		}
		return !c.even && !slices.ContainsFunc(d.Rows, func(r eval.Row) bool { return c.value(r) != 0 })
	})
}

// groups returns the results by code length, shortest first and results without a code last; within each group the
// best come first.
func (d Data) groups(columns []column) []group {
	rows := slices.Clone(d.Rows)
	slices.SortStableFunc(rows, func(a, b eval.Row) int {
		if (a.Bits == 0) != (b.Bits == 0) {
			return cmp.Compare(b.Bits, a.Bits)
		}
		return cmp.Or(cmp.Compare(a.Bits, b.Bits), compare(a, b))
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
			g.Rows = append(g.Rows, newTableRow(r, rows[:n], columns))
		}
		groups = append(groups, g)
		rows = rows[n:]
	}
	return groups
}

func newTableRow(r eval.Row, rivals []eval.Row, columns []column) tableRow {
	t := tableRow{Method: r.Method, Recommended: r.Recommended, Supervision: "none"}
	if r.Kind != eval.KindMethod {
		t.Mark = string(r.Kind)
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
		t.Cells = append(t.Cells, cell{Text: c.text(v), Best: isBest(r, c, rivals)})
	}
	if by := r.Leading(); formatShare(by.MAPLow) != formatShare(by.MAPHigh) {
		t.Cells[0].Note = formatShare(by.MAPLow) + "–" + formatShare(by.MAPHigh)
	}
	return t
}

// isBest reports whether no other method of the group is better. Floors and references do not compete, and a column
// in which all methods are equal has no best.
func isBest(r eval.Row, c column, rivals []eval.Row) bool {
	own := c.value(r)
	if r.Kind != eval.KindMethod || r.Bits == 0 {
		return false
	}
	differ := false
	for _, o := range rivals {
		v := c.value(o)
		if o.Kind != eval.KindMethod || v == 0 && !c.even {
			continue
		}
		if c.less && v < own || !c.less && v > own {
			return false
		}
		differ = differ || v != own
	}
	return differ
}

// formatShare formats a number from 0 to 1.
func formatShare(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }

// formatQuantity formats a measured number with two or three significant digits.
func formatQuantity(v float64) string {
	switch {
	case v >= 100:
		return Number(float64(int(v + 0.5)))
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v >= 0.01:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v > 0 && v < 0.001:
		return "< 0.001"
	}
	return Number(v)
}
