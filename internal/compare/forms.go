package compare

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"

	"hashgrove/internal/eval"
)

// Markdown writes the table, notes and advice.
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

// csvColumns lists the values of a row in the CSV form, under the keys of the JSON form.
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
	{"capped_from", func(r *eval.Row) any { return r.CappedFrom }},
	{"neighbour_recall_10", func(r *eval.Row) any { return r.NeighbourRecall10 }},
	{"neighbour_recall_100", func(r *eval.Row) any { return r.NeighbourRecall100 }},
	{"detail_bits", func(r *eval.Row) any { return r.DetailBits }},
	{"rank", func(r *eval.Row) any { return r.Rank }},
	{"ranked.map", func(r *eval.Row) any { return r.Ranked.MAP }},
	{"ranked.precision", func(r *eval.Row) any { return r.Ranked.Precision }},
	{"ranked.nearest_of_class_10", func(r *eval.Row) any { return r.Ranked.NearestOfClass10 }},
	{"learned_items.ranked.map", func(r *eval.Row) any { return itemsOf(r.LearnedItems).Ranked.MAP }},
	{"learned_items.ranked.precision", func(r *eval.Row) any { return itemsOf(r.LearnedItems).Ranked.Precision }},
	{"learned_items.ranked.nearest_of_class_10", func(r *eval.Row) any {
		return itemsOf(r.LearnedItems).Ranked.NearestOfClass10
	}},
	{"nearest_of_class_10", func(r *eval.Row) any { return r.NearestOfClass10 }},
	{"expected.map", func(r *eval.Row) any { return r.Expected.MAP }},
	{"expected.precision", func(r *eval.Row) any { return r.Expected.Precision }},
	{"learned_items.expected.map", func(r *eval.Row) any { return itemsOf(r.LearnedItems).Expected.MAP }},
	{"learned_items.expected.precision", func(r *eval.Row) any { return itemsOf(r.LearnedItems).Expected.Precision }},
	{"margins.map", func(r *eval.Row) any { return r.Margins.MAP }},
	{"margins.precision", func(r *eval.Row) any { return r.Margins.Precision }},
	{"new_items.margins.map", func(r *eval.Row) any { return itemsOf(r.NewItems).Margins.MAP }},
	{"new_items.margins.precision", func(r *eval.Row) any { return itemsOf(r.NewItems).Margins.Precision }},
	{"learned_items.margins.map", func(r *eval.Row) any { return itemsOf(r.LearnedItems).Margins.MAP }},
	{"learned_items.margins.precision", func(r *eval.Row) any { return itemsOf(r.LearnedItems).Margins.Precision }},
}

// CSV writes a line per row, with the JSON keys that hold one value. Figures that failed or were not measured are
// empty.
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
			{itemsOf(row.LearnedItems).MAP, "learned-MAP"}, {row.Margins.MAP, "margins-MAP"},
			{row.Expected.MAP, "expected-MAP"}, {row.Ranked.MAP, "ranked-MAP"}, {row.Ranked.NearestOfClass10, "nearest"},
			{row.NeighbourRecall100, "recall@100"},
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
