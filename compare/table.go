package compare

import (
	"fmt"
	"slices"
	"strings"

	"hashgrove/eval"
)

// Table is the comparison for people: a head and a row of cells for each row of the result. What was not measured is a
// dash.
func (r *Result) Table() (head []string, rows [][]string) {
	for _, c := range r.columns() {
		head = append(head, c.head)
	}
	for i := range r.Rows {
		row, cells := &r.Rows[i], make([]string, len(head))
		for k, c := range r.columns() {
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
	cell func(*eval.Row) string
}

// columns are those that the data fill.
func (r *Result) columns() []column {
	share := func(v float64) string { return fmt.Sprintf("%.3f", v) }
	list := []column{
		{"method", func(row *eval.Row) string {
			if row.Recommended {
				return row.Method + " <-"
			}
			return row.Method
		}},
		{"bits", func(row *eval.Row) string { return countOrDash(row.Bits) }},
	}
	recall10 := column{"recall@10", func(row *eval.Row) string { return numberOrDash("%.3f", row.NeighbourRecall10) }}
	recall100 := column{"recall@100", func(row *eval.Row) string { return numberOrDash("%.3f", row.NeighbourRecall100) }}
	if r.unlabelled() {
		return slices.Concat(list, []column{recall10, recall100}, costs)
	}
	list = append(list, []column{
		{"MAP", func(row *eval.Row) string { return share(row.MAP) }},
		{"by ties", func(row *eval.Row) string { return fmt.Sprintf("%.3f-%.3f", row.MAPLow, row.MAPHigh) }},
		{"precision", func(row *eval.Row) string { return share(row.ReachablePrecision) }},
	}...)
	if r.Data.New > 0 {
		list = append(list, column{"learned MAP", func(row *eval.Row) string {
			return numberOrDash("%.3f", itemsOf(row.LearnedItems).MAP)
		}})
	}
	if len(r.Data.HeldOut) > 0 {
		list = append(list, column{"unseen", func(row *eval.Row) string { return numberOrDash("%.3f", row.UnseenMAP) }})
	}
	if r.Neighbours != "" {
		list = append(list, recall100)
	}
	return append(list, costs...)
}

// costs are the columns about time and room.
var costs = []column{
	{"train s", func(row *eval.Row) string { return numberOrDash("%.2f", row.TrainSeconds) }},
	{"encode us", func(row *eval.Row) string { return numberOrDash("%.1f", row.EncodeMicroseconds) }},
	{"search us", func(row *eval.Row) string { return numberOrDash("%.1f", row.SearchMicroseconds) }},
	{"bytes", func(row *eval.Row) string { return countOrDash(row.Bytes) }},
	{"codes", func(row *eval.Row) string { return countOrDash(row.DistinctCodes) }},
}

// unlabelled reports whether no labels said what is right.
func (r *Result) unlabelled() bool {
	return !slices.ContainsFunc(r.Rows, func(row eval.Row) bool { return row.LearnedItems != nil }) && r.Neighbours != ""
}

func countOrDash(n int) string { return numberOrDash("%.0f", float64(n)) }

func numberOrDash(format string, v float64) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf(format, v)
}

// Title says in a line what was compared.
func (r *Result) Title() string {
	d := r.Data
	text := fmt.Sprintf("%d queries against %d items of %d dimensions", d.Queries, d.Base, d.Dim)
	if d.New > 0 {
		text += fmt.Sprintf(" (%d learned from, %d new)", d.Learned, d.New)
	}
	text += ", similar by " + d.Similar
	if d.Classes > 0 {
		text += fmt.Sprintf(", %d classes", d.Classes)
	}
	if r.PCA > 0 {
		text += fmt.Sprintf(", methods after PCA to %d", r.PCA)
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
	var notes []string
	if !r.unlabelled() {
		notes = append(notes, "MAP is expected over the order of ties; precision is that of the first 100 items, or of as "+
			"many as there are right ones.")
	}
	if !r.unlabelled() && r.Data.New > 0 {
		notes = append(notes, fmt.Sprintf("MAP, precision and codes are about the %d new items, which no method "+
			"learned from; learned MAP is about the %d items that they learned from.", r.Data.New, r.Data.Learned))
	}
	if r.Neighbours != "" {
		text := fmt.Sprintf("recall@100 is the share of the %d nearest vectors of a query, by %s, among the first 100 items",
			eval.NeighbourCount, metricName(r.Neighbours))
		if r.Data.New > 0 {
			text += ", both among new items"
		}
		notes = append(notes, text+".")
	}
	notes = append(notes, "Times of encoding and searching are for one vector on one core; train s of shorter fasthash "+
		"codes is that of their bits, as a prefix of its code is a code.")
	if len(r.Data.HeldOut) > 0 {
		classes := strings.Join(r.Data.HeldOut, ", ")
		text := "unseen is MAP of queries of classes kept out of a second training (" + classes + ") in all items"
		if chance := r.unseenChance(); chance > 0 {
			text += fmt.Sprintf("; chance would be %.3f", chance)
		}
		notes = append(notes, text+".")
	}
	return notes
}

// metricName is a metric in words.
func metricName(m eval.Metric) string {
	if m == eval.Cosine {
		return "cosine"
	}
	return "Euclidean distance"
}

// itemsOf is what a row has of a part of the items: zeros where it has nothing.
func itemsOf(part *eval.Items) eval.Items {
	if part == nil {
		return eval.Items{}
	}
	return *part
}

// unseenChance is what random rankings reach for the held-out classes, 0 where it was not measured.
func (r *Result) unseenChance() float64 {
	for _, row := range r.Rows {
		if row.UnseenChance > 0 {
			return row.UnseenChance
		}
	}
	return 0
}
