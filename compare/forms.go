package compare

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"strings"
	"time"

	"hashgrove/eval"
	"hashgrove/report"
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
		{"MAP", func(row *eval.Row) string { return share(row.MAP) }},
		{"by ties", func(row *eval.Row) string { return fmt.Sprintf("%.3f-%.3f", row.MAPLow, row.MAPHigh) }},
		{"precision", func(row *eval.Row) string { return share(row.ReachablePrecision) }},
	}
	if r.Data.New > 0 {
		list = append(list, column{"learned MAP", func(row *eval.Row) string {
			return numberOrDash("%.3f", itemsOf(row.LearnedItems).MAP)
		}})
	}
	if len(r.Data.HeldOut) > 0 {
		list = append(list, column{"unseen", func(row *eval.Row) string { return numberOrDash("%.3f", row.UnseenMAP) }})
	}
	return append(list,
		column{"train s", func(row *eval.Row) string { return numberOrDash("%.2f", row.TrainSeconds) }},
		column{"encode us", func(row *eval.Row) string { return numberOrDash("%.1f", row.EncodeMicroseconds) }},
		column{"search us", func(row *eval.Row) string { return numberOrDash("%.1f", row.SearchMicroseconds) }},
		column{"bytes", func(row *eval.Row) string { return countOrDash(row.Bytes) }},
		column{"codes", func(row *eval.Row) string { return countOrDash(row.DistinctCodes) }},
	)
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
	notes := []string{"MAP is expected over the order of ties; precision is that of the first 100 items, or of as many " +
		"as there are right ones."}
	if r.Data.New > 0 {
		notes = append(notes, fmt.Sprintf("MAP, precision and codes are about the %d new items, which no method "+
			"learned from; learned MAP is about the %d items that they learned from.", r.Data.New, r.Data.Learned))
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

// Markdown writes table, notes and advice.
func (r *Result) Markdown(w io.Writer) error {
	var b strings.Builder
	head, rows := r.Table()
	fmt.Fprintf(&b, "# Comparison on %s\n\n%s.\n\n", escapeCell(r.Data.Name), r.Title())
	fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for _, row := range rows {
		for i := range row {
			row[i] = escapeCell(row[i])
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	fmt.Fprintf(&b, "\n%s\n\n## Advice\n\n", strings.Join(r.Notes(), " "))
	for _, a := range r.Advice {
		fmt.Fprintf(&b, "- %s\n", a.Text)
	}
	for _, text := range append(r.Failures(), r.Warnings...) {
		fmt.Fprintf(&b, "- Note: %s\n", text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// escapeCell keeps text from breaking a table.
func escapeCell(text string) string { return strings.NewReplacer("|", "\\|", "\n", " ").Replace(text) }

// csvColumns are the values of a row that the CSV form has, under the keys of the JSON form.
var csvColumns = []struct {
	key   string
	value func(*eval.Row) any
}{
	{"method", func(r *eval.Row) any { return r.Method }},
	{"kind", func(r *eval.Row) any { return r.Kind }},
	{"supervised", func(r *eval.Row) any { return r.Supervised }},
	{"bits", func(r *eval.Row) any { return r.Bits }},
	{"bytes_per_item", func(r *eval.Row) any { return r.Bytes }},
	{"map", func(r *eval.Row) any { return r.MAP }},
	{"map_low", func(r *eval.Row) any { return r.MAPLow }},
	{"map_high", func(r *eval.Row) any { return r.MAPHigh }},
	{"precision_100", func(r *eval.Row) any { return r.Precision100 }},
	{"pr_area", func(r *eval.Row) any { return r.PRArea }},
	{"map_10000", func(r *eval.Row) any { return r.MAP10000 }},
	{"pr_area_10000", func(r *eval.Row) any { return r.PRArea10000 }},
	{"unseen_map", func(r *eval.Row) any { return r.UnseenMAP }},
	{"train_seconds", func(r *eval.Row) any { return r.TrainSeconds }},
	{"encode_microseconds", func(r *eval.Row) any { return r.EncodeMicroseconds }},
	{"search_microseconds", func(r *eval.Row) any { return r.SearchMicroseconds }},
	{"distinct_codes", func(r *eval.Row) any { return r.DistinctCodes }},
	{"largest_bucket", func(r *eval.Row) any { return r.LargestBucket }},
	{"recommended", func(r *eval.Row) any { return r.Recommended }},
	{"error", func(r *eval.Row) any { return r.Error }},
	{"reachable_precision", func(r *eval.Row) any { return r.ReachablePrecision }},
	{"macro_map", func(r *eval.Row) any { return r.MacroMAP }},
	{"new_items.map", func(r *eval.Row) any { return itemsOf(r.NewItems).MAP }},
	{"new_items.precision", func(r *eval.Row) any { return itemsOf(r.NewItems).Precision }},
	{"new_items.distinct_codes", func(r *eval.Row) any { return itemsOf(r.NewItems).DistinctCodes }},
	{"learned_items.map", func(r *eval.Row) any { return itemsOf(r.LearnedItems).MAP }},
	{"learned_items.precision", func(r *eval.Row) any { return itemsOf(r.LearnedItems).Precision }},
	{"learned_items.distinct_codes", func(r *eval.Row) any { return itemsOf(r.LearnedItems).DistinctCodes }},
	{"mixed_learned_share", func(r *eval.Row) any { return r.MixedLearnedShare }},
	{"unseen_chance", func(r *eval.Row) any { return r.UnseenChance }},
}

// CSV writes a line for each row, with the keys of the JSON form that hold one value. Numbers of a row that failed, and
// those that were not measured, are empty.
func (r *Result) CSV(w io.Writer) error {
	lines := [][]string{{}}
	for _, c := range csvColumns {
		lines[0] = append(lines[0], c.key)
	}
	for i := range r.Rows {
		var line []string
		for _, c := range csvColumns {
			v := c.value(&r.Rows[i])
			cell := fmt.Sprint(v)
			if number, ok := v.(float64); ok && number == 0 {
				cell = ""
			} else if ok {
				cell = fmt.Sprintf("%.6g", number)
			}
			line = append(line, cell)
		}
		lines = append(lines, line)
	}
	return csv.NewWriter(w).WriteAll(lines)
}

// Benchmark writes the rows as Go benchmark results, for benchstat.
func (r *Result) Benchmark(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "pkg: hashgrove/compare\ndata: %s\n", strings.Join(strings.Fields(r.Data.Name), "_"))
	for _, row := range r.Rows {
		if row.Error != "" {
			continue
		}
		fmt.Fprintf(&b, "BenchmarkCompare/method=%s/bits=%d 1", row.Method, row.Bits)
		for _, m := range []struct {
			value float64
			unit  string
		}{
			{row.MAP, "MAP"}, {row.Precision100, "prec@100"}, {row.PRArea, "PR-area"}, {row.MAP10000, "MAP-10000"},
			{itemsOf(row.LearnedItems).MAP, "learned-MAP"}, {row.UnseenMAP, "unseen-MAP"}, {row.TrainSeconds, "train-s"}, {row.EncodeMicroseconds, "encode-us"},
			{row.SearchMicroseconds, "search-us"}, {float64(row.Bytes), "bytes/item"},
			{float64(row.DistinctCodes), "codes"},
		} {
			if m.value != 0 {
				fmt.Fprintf(&b, " %.6g %s", m.value, m.unit)
			}
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Pictures gives the PNG of rows of a part, by their number in its source; it may leave some out.
type Pictures func(part *Part, rows []int) (map[int][]byte, error)

// Page is what only the caller knows of a report.
type Page struct {
	Title    string
	Date     time.Time
	Machine  string
	Command  string
	Pictures Pictures // nil when the data are no pictures
}

// Report is the comparison as a page.
func (r *Result) Report(d *Data, page Page) (report.Data, error) {
	out := report.Data{
		Title: page.Title, Date: page.Date, Version: r.Version, Machine: page.Machine, Command: page.Command,
		Warnings: r.Warnings, Dataset: r.Data,
	}
	if r.PCA > 0 {
		out.Dataset.Notes = append(out.Dataset.Notes, fmt.Sprintf("Methods learn from the first %d principal "+
			"components; float search uses all %d dimensions.", r.PCA, r.Data.Dim))
	}
	out.Dataset.Notes = append(out.Dataset.Notes, r.Failures()...)
	for _, a := range r.Advice {
		out.Advice = append(out.Advice, a.Text)
	}
	for _, row := range r.Rows {
		if row.Error != "" {
			continue
		}
		if isFloat(&row) {
			row.Bits, row.DistinctCodes = 0, 0 // no codes
		}
		row.Method = title(row.Method)
		out.Rows = append(out.Rows, row)
	}
	shown := r.exampleRow()
	if shown == nil {
		return out, nil
	}
	name := fmt.Sprintf("%s, %d bits", title(shown.Method), shown.Bits)
	out.Confusions = report.Confusions{Method: name, Top: min(nearestItems, cmp.Or(r.Data.New, r.Data.Base)), Pairs: shown.Confusions}
	d, err := d.parts(r.NewShare, r.Seed)
	if err != nil {
		return out, err
	}
	out.Searches, err = examples(name, shown.Searches, d, page.Pictures)
	return out, err
}

// exampleRow is the row whose searches a page shows: the recommended one, or else the best codes.
func (r *Result) exampleRow() *eval.Row {
	for i := range r.Rows {
		if r.Rows[i].Recommended && r.Rows[i].Searches != nil {
			return &r.Rows[i]
		}
	}
	return factsOf(r).choice
}

// examples shows queries with what a method found for them.
func examples(method string, searches []eval.Search, d *Data, pictures Pictures) ([]report.Example, error) {
	var queries, items []int
	for _, s := range searches {
		queries = append(queries, s.Query)
		items = append(items, s.Items...)
	}
	queryPNG, err := pictures.load(d.Queries, queries)
	if err != nil {
		return nil, err
	}
	found := d.searched()
	itemPNG, err := pictures.load(found, items)
	if err != nil {
		return nil, err
	}
	truth, err := eval.TruthOf(d.Queries.Data, found.Data)
	if err != nil {
		return nil, err
	}
	mark := make([]uint8, found.X.Rows)
	var out []report.Example
	for _, s := range searches {
		search := report.Example{Method: method, Query: d.Queries.picture(s.Query, queryPNG)}
		truth.Mark(s.Query, mark)
		for i, item := range s.Items {
			search.Hits = append(search.Hits, report.Hit{
				Picture: found.picture(item, itemPNG), Distance: fmt.Sprint(s.Distances[i]), Right: mark[item] == 1,
			})
		}
		out = append(out, search)
	}
	return out, nil
}

// load gives the pictures of rows of a part; none without Pictures.
func (p Pictures) load(part *Part, rows []int) (map[int][]byte, error) {
	if p == nil || len(rows) == 0 {
		return nil, nil
	}
	list := make([]int, len(rows))
	for i, r := range rows {
		list[i] = part.Row[r]
	}
	return p(part, list)
}

// picture is row i as a page shows it.
func (p *Part) picture(i int, png map[int][]byte) report.Picture {
	out := report.Picture{PNG: png[p.Row[i]], Name: fmt.Sprintf("row %d", p.Row[i]+1)}
	if p.IDs != nil {
		out.Name = p.IDs[i]
	}
	switch {
	case p.Labels != nil:
		out.Label = p.Labels.Names[p.Labels.Class[i]]
	case p.Tags != nil:
		var names []string
		for _, t := range p.Tags.Row(i) {
			names = append(names, p.Tags.Names[t])
		}
		out.Label = strings.Join(names, ", ")
	}
	return out
}
