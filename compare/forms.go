package compare

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"
	"time"

	"hashgrove/eval"
	"hashgrove/report"
)

// Table is the comparison for people: a head and a row of cells for each row of the result. What was not measured is a
// dash. Columns marked * follow the paper's convention.
func (r *Result) Table() (head []string, rows [][]string) {
	head = []string{
		"method", "bits", "MAP", "by ties", "prec@100", "PR area", "MAP*", "unseen",
		"train s", "encode us", "search us", "bytes", "codes",
	}
	for _, row := range r.Rows {
		name := row.Method
		if row.Recommended {
			name += " <-"
		}
		if row.Error != "" {
			cells := make([]string, len(head))
			cells[0], cells[1], cells[2] = name, countOrDash(row.Bits), "failed"
			rows = append(rows, cells)
			continue
		}
		rows = append(rows, []string{
			name, countOrDash(row.Bits), fmt.Sprintf("%.3f", row.MAP),
			fmt.Sprintf("%.3f-%.3f", row.MAPLow, row.MAPHigh),
			fmt.Sprintf("%.3f", row.Precision100), fmt.Sprintf("%.3f", row.PRArea), fmt.Sprintf("%.3f", row.MAP10000),
			numberOrDash("%.3f", row.UnseenMAP), numberOrDash("%.2f", row.TrainSeconds),
			numberOrDash("%.1f", row.EncodeMicroseconds),
			numberOrDash("%.1f", row.SearchMicroseconds), countOrDash(row.Bytes), countOrDash(row.DistinctCodes),
		})
	}
	return head, rows
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
	text := fmt.Sprintf("%d queries against %d items of %d dimensions, similar by %s",
		d.Queries, d.Base, d.Dim, d.Similar)
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
	notes := []string{
		"MAP is expected over the order of ties; * is the paper's convention: ties in base order, lists cut at " +
			"10,000, divided by the hits in the list.",
		"Times of encoding and searching are for one vector on one core; train s of shorter fasthash codes is that " +
			"of their bits, as a prefix of its code is a code.",
	}
	if len(r.Data.HeldOut) > 0 {
		classes := strings.Join(r.Data.HeldOut, ", ")
		notes = append(notes, "unseen is MAP among classes kept out of a second training: "+classes+".")
	}
	return notes
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

// CSV writes a line for each row, with the keys of the JSON form that hold one value. Numbers of a row that failed, and
// those that were not measured, are empty.
func (r *Result) CSV(w io.Writer) error {
	lines := [][]string{{
		"method", "kind", "supervised", "bits", "bytes_per_item", "map", "map_low", "map_high", "precision_100",
		"pr_area", "map_10000", "pr_area_10000", "unseen_map", "train_seconds", "encode_microseconds",
		"search_microseconds", "distinct_codes", "largest_bucket", "recommended", "error",
	}}
	for _, row := range r.Rows {
		var line []string
		for _, v := range []any{
			row.Method, row.Kind, row.Supervised, row.Bits, row.Bytes, row.MAP, row.MAPLow, row.MAPHigh,
			row.Precision100, row.PRArea, row.MAP10000, row.PRArea10000, row.UnseenMAP, row.TrainSeconds,
			row.EncodeMicroseconds, row.SearchMicroseconds, row.DistinctCodes, row.LargestBucket,
			row.Recommended, row.Error,
		} {
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
			{row.UnseenMAP, "unseen-MAP"}, {row.TrainSeconds, "train-s"}, {row.EncodeMicroseconds, "encode-us"},
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
		if row.Method == euclidean || row.Method == cosine {
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
	out.Confusions = report.Confusions{Method: name, Top: min(nearestItems, r.Data.Base), Pairs: shown.Confusions}
	var err error
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
	itemPNG, err := pictures.load(d.Base, items)
	if err != nil {
		return nil, err
	}
	truth, err := eval.TruthOf(d.Queries.Data, d.Base.Data)
	if err != nil {
		return nil, err
	}
	mark := make([]uint8, d.Base.X.Rows)
	var out []report.Example
	for _, s := range searches {
		search := report.Example{Method: method, Query: d.Queries.picture(s.Query, queryPNG)}
		truth.Mark(s.Query, mark)
		for i, item := range s.Items {
			search.Hits = append(search.Hits, report.Hit{
				Picture: d.Base.picture(item, itemPNG), Distance: fmt.Sprint(s.Distances[i]), Right: mark[item] == 1,
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
