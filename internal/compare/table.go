package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hashgrove/internal/eval"
	"hashgrove/internal/method"
	"hashgrove/internal/plain"
)

// Table returns the comparison in readable form: a head and a row of cells for each row of the result. A dash means not
// measured.
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

// columns returns the columns that the data fill.
func (r *Result) columns() []column {
	share := func(v float64) string { return fmt.Sprintf("%.3f", v) }
	list := []column{
		{"method", func(row *eval.Row) string {
			if row.Recommended {
				return row.Method + " <-"
			}
			return row.Method
		}},
		{"bits", func(row *eval.Row) string {
			if row.CappedFrom > 0 {
				return fmt.Sprintf("%d (of %d)", row.Bits, row.CappedFrom)
			}
			if row.DetailBits > 0 {
				return fmt.Sprintf("%d + %d", row.Bits, row.DetailBits)
			}
			return countOrDash(row.Bits)
		}},
	}
	recall := func(rank int) column {
		return column{fmt.Sprint("recall@", rank), func(row *eval.Row) string {
			return numberOrDash("%.3f", recallOf(row, rank))
		}}
	}
	if r.unlabelled() {
		return slices.Concat(list, []column{recall(10), recall(100)}, costs)
	}
	list = append(list, []column{
		{"MAP", func(row *eval.Row) string { return share(lead(row)) }},
		{"by ties", func(row *eval.Row) string {
			return fmt.Sprintf("%.3f-%.3f", row.Leading().MAPLow, row.Leading().MAPHigh)
		}},
		{"ranked by", func(row *eval.Row) string { return cmp.Or(string(row.Rank), "-") }},
		{"hamming", func(row *eval.Row) string {
			if row.Rank == "" {
				return "-"
			}
			return share(row.MAP)
		}},
		{"margins", func(row *eval.Row) string { return numberOrDash("%.3f", row.Margins.MAP) }},
		{"expected", func(row *eval.Row) string { return numberOrDash("%.3f", row.Expected.MAP) }},
		{"precision", func(row *eval.Row) string { return share(row.Leading().Precision) }},
	}...)
	nearest := r.Neighbours != ""
	if nearest {
		list = append(list, column{"nearest", func(row *eval.Row) string {
			return numberOrDash("%.3f", row.Leading().NearestOfClass10)
		}})
	}
	if r.Data.New > 0 {
		list = append(list, column{"learned MAP", func(row *eval.Row) string {
			return numberOrDash("%.3f", learnedLead(row))
		}})
		if nearest {
			list = append(list, column{"learned nearest", func(row *eval.Row) string {
				return numberOrDash("%.3f", itemsOf(row.LearnedItems).Ranked.NearestOfClass10)
			}})
		}
	}
	if len(r.Data.HeldOut) > 0 {
		list = append(list, column{"unseen", func(row *eval.Row) string { return numberOrDash("%.3f", row.UnseenMAP) }})
	}
	if r.Neighbours != "" {
		list = append(list, recall(r.recallRank()))
	}
	return append(list, costs...)
}

// costs lists the columns about time and size.
var costs = []column{
	{"train s", func(row *eval.Row) string { return numberOrDash("%.2f", row.TrainSeconds) }},
	{"encode us", func(row *eval.Row) string { return numberOrDash("%.1f", row.EncodeMicroseconds) }},
	{"search us", func(row *eval.Row) string { return numberOrDash("%.1f", row.SearchMicroseconds) }},
	{"bytes", func(row *eval.Row) string { return countOrDash(row.Bytes) }},
	{"codes", func(row *eval.Row) string { return countOrDash(row.DistinctCodes) }},
}

// searched returns the number of items that decide: the new ones, or all if there are none.
func (r *Result) searched() int { return cmp.Or(r.Data.New, r.Data.Base) }

// recallRank returns the rank that decides about the recall of float neighbours: the first 100 items are worth
// comparing again by their vectors, but in a small base they are most items anyway.
func (r *Result) recallRank() int {
	if r.searched() < 1000 {
		return 10
	}
	return 100
}

// recallOf returns the recall of float neighbours at a rank of 10 or 100.
func recallOf(row *eval.Row, rank int) float64 {
	if rank == 10 {
		return row.NeighbourRecall10
	}
	return row.NeighbourRecall100
}

// unlabelled reports whether there were no labels to say what is right.
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
	text := fmt.Sprintf("%s against %d items of %d dimensions", plain.Count(d.Queries, "query", "queries"), d.Base, d.Dim)
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
			"many as there are right ones.",
			"The next columns are MAP of the same codes by each ranking: hamming, the number of bits that differ; margins, "+
				"where each bit that differs counts by how certain the query is of it; expected, for the code that the "+
				"query most likely has. All else is by the ranking named in \"ranked by\", "+r.chosenBy()+".")
		if r.Neighbours != "" {
			notes = append(notes, "nearest is the share of the ten items of the query's class that are nearest by cosine which "+
				"are among the first ten.")
		}
	}
	if !r.unlabelled() && r.Data.New > 0 {
		notes = append(notes, fmt.Sprintf("MAP, precision, nearest and codes are about the %d new items, which no method "+
			"learned from; learned MAP is about the %d items that they learned from.", r.Data.New, r.Data.Learned))
	}
	if r.Neighbours != "" {
		text := fmt.Sprintf("recall@%d is the share of the %d nearest vectors of a query, by %s, among the first %[1]d items",
			r.recallRank(), eval.NeighbourCount, metricName(r.Neighbours))
		if r.Data.New > 0 {
			text += ", both among new items"
		}
		notes = append(notes, text+".")
	}
	times := "Times of encoding and searching are for one vector on one core"
	if r.Find(method.FastHash, 0) != nil {
		times += "; train s of shorter fasthash codes is that of their bits, as a prefix of its code is a code"
	}
	notes = append(notes, times+".")
	if i := slices.IndexFunc(r.Rows, func(row eval.Row) bool { return row.CappedFrom > 0 }); i >= 0 {
		notes = append(notes, fmt.Sprintf("%d (of %d) says that the method can make only %[1]d bits from these data.",
			r.Rows[i].Bits, r.Rows[i].CappedFrom))
	}
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

// chosenBy says who chose the rankings that lead.
func (r *Result) chosenBy() string {
	if r.Rank != "" {
		return "which was asked for"
	}
	return "the usual one, or one that is clearly better"
}

// metricName returns a metric in words.
func metricName(m eval.Metric) string {
	if m == eval.Cosine {
		return "cosine"
	}
	return "Euclidean distance"
}

// itemsOf returns the figures of a row for a part of the items, or zeros.
func itemsOf(part *eval.Items) eval.Items {
	if part == nil {
		return eval.Items{}
	}
	return *part
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
