package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hashgrove/internal/eval"
	"hashgrove/internal/message"
)

// Table returns the comparison in readable form: a head and a row of cells for each row of the result. A dash means not
// measured.
func (r *Result) Table() (head []string, rows [][]string) { return r.table(false) }

// table is Table, with the columns that only a page has room for if it is wide.
func (r *Result) table(wide bool) (head []string, rows [][]string) {
	columns := slices.DeleteFunc(r.columns(), func(c column) bool { return c.wide && !wide })
	for _, c := range columns {
		head = append(head, c.head)
	}
	for i := range r.Rows {
		row, cells := &r.Rows[i], make([]string, len(head))
		for k, c := range columns {
			if row.Error == "" || k < 2 {
				cells[k] = c.cell(row)
			}
		}
		if row.Error != "" {
			cells[2] = "failed"
		}
		rows = append(rows, cells)
	}
	return head, rows
}

// column is one column of the table.
type column struct {
	head string
	wide bool // only in a page
	cell func(*eval.Row) string
}

// columns returns the columns that the data fill; those that are not wide fit a terminal of 100 characters together.
func (r *Result) columns() []column {
	number := func(head, format string, wide bool, value func(*eval.Row) float64) column {
		return column{head, wide, func(row *eval.Row) string { return numberOrDash(format, value(row)) }}
	}
	share := func(head string, wide bool, value func(*eval.Row) float64) column {
		return number(head, "%.3f", wide, value)
	}
	list := []column{
		{"method", false, func(row *eval.Row) string {
			if row.Recommended {
				return row.Method + "*"
			}
			return row.Method
		}},
		{"bits", false, func(row *eval.Row) string {
			if row.CappedFrom > 0 {
				return fmt.Sprintf("%d of %d", row.Bits, row.CappedFrom)
			}
			if row.DetailBits > 0 {
				return fmt.Sprintf("%d + %d", row.Bits, row.DetailBits)
			}
			return numberOrDash("%.0f", float64(row.Bits))
		}},
		share("MAP", false, lead),
		{"rank", false, func(row *eval.Row) string { return cmp.Or(string(row.Rank), "-") }},
		share("by Hamming", true, func(row *eval.Row) float64 { return row.MAP }),
		share("by margins", true, func(row *eval.Row) float64 { return row.Margins.MAP }),
		share("by expected code", true, func(row *eval.Row) float64 { return row.Expected.MAP }),
		share("precision", true, func(row *eval.Row) float64 { return row.Leading().Precision }),
		share("PR area", true, func(row *eval.Row) float64 { return row.Leading().PRArea }),
		share("nearest", false, func(row *eval.Row) float64 { return row.Leading().NearestOfClass10 }),
	}
	if r.Data.New > 0 {
		list = append(list, share("learned", false, (*eval.Row).LearnedMAP))
	}
	if len(r.Data.HeldOut) > 0 {
		list = append(list, share("unseen", false, func(row *eval.Row) float64 { return row.UnseenMAP }))
	}
	return append(list,
		number("train s", "%.2f", false, func(row *eval.Row) float64 { return row.TrainSeconds }),
		number("encode µs", "%.1f", true, func(row *eval.Row) float64 { return row.EncodeMicroseconds }),
		number("bytes", "%.0f", false, func(row *eval.Row) float64 { return float64(row.Bytes) }),
		number("distinct codes", "%.0f", true, func(row *eval.Row) float64 { return float64(row.DistinctCodes) }))
}

func numberOrDash(format string, v float64) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf(format, v)
}

// Title says in a line what was compared.
func (r *Result) Title() string {
	d := r.Data
	text := fmt.Sprintf("%s against %d items of %d dimensions", message.Count(d.Queries, "query", "queries"), d.Base,
		d.Dim)
	if d.New > 0 {
		text += fmt.Sprintf(" (%d learned from, %d new)", d.Learned, d.New)
	}
	text += ", similar by " + d.Similar
	if d.Classes > 0 {
		text += fmt.Sprintf(", %d classes", d.Classes)
	}
	if r.Standardized {
		text += ", columns standardised"
	}
	return text
}

// Failures lists the rows that have no numbers, with the reason.
func (r *Result) Failures() []string {
	var list []string
	for _, row := range r.Rows {
		if row.Error != "" {
			list = append(list, fmt.Sprintf("%s failed: %s", rowName(&row), row.Error))
		}
	}
	return list
}

// Notes explain the columns.
func (r *Result) Notes() []string {
	notes := []string{
		"MAP is expected over the order of ties, by the ranking in the next column.",
		"nearest is the share of the ten items of the query's class that are nearest by cosine which are in the first ten.",
	}
	if r.Data.New > 0 {
		notes = append(notes, fmt.Sprintf("Figures are about the %d new items, which no method learned from; learned is "+
			"MAP among the %d that they learned from.", r.Data.New, r.Data.Learned))
	}
	if i := slices.IndexFunc(r.Rows, func(row eval.Row) bool { return row.CappedFrom > 0 }); i >= 0 {
		notes = append(notes, fmt.Sprintf("%d of %d says that the method can make only %[1]d bits from these data.",
			r.Rows[i].Bits, r.Rows[i].CappedFrom))
	}
	if len(r.Data.HeldOut) > 0 {
		notes = append(notes, fmt.Sprintf("unseen is MAP of queries of classes kept out of a second training (%s) in all "+
			"items; chance would be %.3f.", strings.Join(r.Data.HeldOut, ", "), r.unseenChance()))
	}
	if r.Scale != "" {
		notes = append(notes, strings.ToUpper(r.Scale[:1])+r.Scale[1:]+".")
	}
	return append(notes, "The advised codes have a star. The report and --json hold all other figures.")
}

// unseenChance returns what random rankings reach for the held-out classes, or 0 if it was not measured.
func (r *Result) unseenChance() float64 {
	for _, row := range r.Rows {
		if row.UnseenChance > 0 {
			return row.UnseenChance
		}
	}
	return 0
}
