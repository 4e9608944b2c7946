package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hashgrove/api"
	"hashgrove/internal/cli"
)

// searchReport is the output of search --json.
type searchReport struct {
	Index string `json:"index"` // the file, or the collection of a service
	api.Answer
}

// tieText says how many items tie with the last hit.
func tieText(r *api.Result) string {
	last := &r.Hits[len(r.Hits)-1]
	if last.MarginDistance != nil {
		return fmt.Sprintf("%d items are at margin distance %d", r.Tied, *last.MarginDistance)
	}
	return fmt.Sprintf("%d items are at distance %d", r.Tied, last.Distance)
}

// printLines prints one line of JSON per query.
func (c *searchCommand) printLines(results []api.Result) error {
	e := json.NewEncoder(c.out)
	e.SetEscapeHTML(false)
	for i := range results {
		if err := e.Encode(&results[i]); err != nil {
			return err
		}
	}
	return nil
}

// print prints the answers as JSON, CSV or tables.
func (c *searchCommand) print() error {
	all := searchReport{Index: c.path, Answer: c.answer}
	switch {
	case c.to == "jsonl":
		return c.printLines(all.Results)
	case c.to == "csv" && !c.json:
		return c.printCSV(all.Results, true)
	}
	return c.printResult(all, func() {
		for i := range all.Results {
			c.printQuery(&all.Results[i])
		}
	})
}

// printQuery prints the answer to one query as a table.
func (c *searchCommand) printQuery(r *api.Result) {
	title := cli.Printable(r.Query)
	if r.Label != "" {
		title += " (" + cli.Printable(r.Label) + ")"
	}
	if len(r.Hits) == 0 {
		fmt.Fprintf(c.out, "%s: nothing found\n", title)
	} else {
		fmt.Fprintln(c.out, title)
		fields := c.shownFields(r.Hits)
		rows := [][]string{fields}
		for i := range r.Hits {
			rows = append(rows, fieldTexts(r, fields, i))
		}
		c.printTable(rows)
	}
	if r.Tied > r.TiedHits {
		fmt.Fprintf(c.out, "%s; %s shown, the first by id\n",
			tieText(r), cli.Count(r.TiedHits, "of them is", "of them are"))
	}
	if c.explain {
		if r.Compared > 0 {
			fmt.Fprintf(c.out, "%s compared by vectors\n", cli.Count(r.Compared, "item was", "items were"))
		}
	}
	if r.Why != nil {
		c.printWhy(r)
	}
}

// shownFields returns the fields to print: those asked for, or those that at least one hit has.
func (c *searchCommand) shownFields(hits []api.Hit) []string {
	if len(c.fields) > 0 {
		return c.fields
	}
	fields := []string{"id", "distance"}
	if slices.ContainsFunc(hits, func(h api.Hit) bool { return h.DetailDistance != nil }) {
		fields = append(fields, "detail_distance")
	}
	if slices.ContainsFunc(hits, func(h api.Hit) bool { return h.MarginDistance != nil }) {
		fields = append(fields, "margin_distance")
	}
	if c.isReranked() {
		fields = append(fields, "score")
	}
	items := make([]api.Item, len(hits))
	for i, h := range hits {
		items[i] = api.Item{Label: h.Label, Tags: h.Tags, Attributes: h.Attributes}
	}
	return append(fields, ownFields(items)...)
}

// fieldTexts formats the given fields of a hit.
func fieldTexts(r *api.Result, fields []string, hit int) []string {
	texts := make([]string, len(fields))
	for j, f := range fields {
		texts[j] = fieldText(&r.Hits[hit], f, r.Query, hit)
	}
	return texts
}

// fieldText formats one field of a hit; "" if the item does not have it.
func fieldText(h *api.Hit, name, query string, rank int) string {
	switch name {
	case "query":
		return query
	case "rank":
		return strconv.Itoa(rank + 1)
	case "id":
		return string(h.ID)
	case "distance":
		return strconv.Itoa(h.Distance)
	case "detail_distance":
		return optionalText(h.DetailDistance)
	case "margin_distance":
		return optionalText(h.MarginDistance)
	case "score":
		if h.Score == nil {
			return ""
		}
		return strconv.FormatFloat(*h.Score, 'g', 6, 64)
	}
	item := api.Item{Label: h.Label, Tags: h.Tags, Attributes: h.Attributes}
	return itemTexts(&item, []string{name})[0]
}

// optionalText formats a number; "" if there is none.
func optionalText(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

// valueText formats the value of an attribute; "" if there is none.
func valueText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}

// printCSV prints one line per hit, after a header line if head is set.
func (c *searchCommand) printCSV(results []api.Result, head bool) error {
	w := csv.NewWriter(c.raw)
	fields := c.fields
	if len(fields) == 0 {
		var all []api.Hit
		for _, r := range results {
			all = append(all, r.Hits...)
		}
		fields = append([]string{"query", "rank"}, c.shownFields(all)...)
	}
	if head {
		if err := w.Write(cli.Cells(fields)); err != nil {
			return err
		}
	}
	for _, r := range results {
		for i := range r.Hits {
			if err := w.Write(cli.Cells(fieldTexts(&r, fields, i))); err != nil {
				return err
			}
		}
	}
	w.Flush()
	return w.Error()
}

// printWhy prints the bits of the first hit with the strongest reason for each, differing bits first.
func (c *searchCommand) printWhy(r *api.Result) {
	w := r.Why
	ofClass := func(bits []int) []int {
		return slices.DeleteFunc(slices.Clone(bits), func(bit int) bool { return w.Bits[bit].Detail })
	}
	differ, agree := ofClass(w.Differ), ofClass(w.Agree)
	fmt.Fprintf(c.out, "%s and %s differ in bits: %s\n",
		cli.Printable(r.Query), cli.Printable(string(w.ID)), cli.Ranges(differ))
	fmt.Fprintf(c.out, "and agree in bits: %s\n", cli.Ranges(agree))
	if detail := len(w.Bits) - len(differ) - len(agree); detail > 0 {
		fmt.Fprintf(c.out, "and differ in %d of %s of detail\n", w.Detail, cli.Count(detail, "bit", "bits"))
	}
	if c.answer.Rank == api.Margins && len(differ) > 0 {
		var weights []int
		for _, bit := range differ {
			weights = append(weights, *w.Bits[bit].Weight)
		}
		fmt.Fprintf(c.out, "Weights of the differing bits, in sixteenths of an average bit: %s\n",
			strings.Trim(fmt.Sprint(weights), "[]"))
	}
	c.printReasons(w)
}

// printReasons prints the strongest reason for each bit.
func (c *searchCommand) printReasons(w *api.Why) {
	const most = 24
	rows := [][]string{{"bit", "", "feature", "threshold", "query", "hit"}}
	for _, agree := range []bool{false, true} {
		for _, b := range w.Bits {
			if b.Agree != agree || len(b.Reasons) == 0 {
				continue
			}
			x, threshold := b.Reasons[0], ""
			if x.Threshold != nil { // sums, as for scores of classes, have none
				threshold = fmt.Sprint(*x.Threshold)
			}
			verdict := map[bool]string{false: "differs", true: "agrees"}[agree]
			rows = append(rows,
				[]string{strconv.Itoa(b.Bit), verdict, x.Name, threshold, fmt.Sprint(x.Query), fmt.Sprint(x.Item)})
		}
	}
	if len(rows) > 1 {
		c.printTable(rows[:min(len(rows), 1+most)])
	}
	if more := len(rows) - 1 - most; more > 0 {
		fmt.Fprintf(c.out, "and %d more bits; --json has them all\n", more)
	}
}
