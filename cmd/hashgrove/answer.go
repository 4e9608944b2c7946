package main

import (
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"hashgrove/internal/cli"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/items"
	"hashgrove/internal/model"
	"hashgrove/internal/plain"
	"hashgrove/internal/store"
)

// answer is what a search found and what is needed to print it.
type answer struct {
	path    string
	model   *model.Model // nil when the index has none, or it is not needed
	queries *items.Queries
	items   *store.Selection
	results []index.Result
	found   [][]index.Item // the items of the hits, by query
	took    time.Duration

	compared []int                  // items whose vectors were compared, by query, with --rerank
	vectors  map[index.ID][]float32 // of the first hits, with --rerank and --explain
}

// searchReport is what search --json prints.
type searchReport struct {
	Index       string        `json:"index"`
	Items       int           `json:"items"`
	Bits        int           `json:"bits"`
	Fingerprint string        `json:"fingerprint"`
	Seconds     float64       `json:"seconds"`
	Rank        string        `json:"rank,omitempty"` // what items are ordered by, when it is not the Hamming distance
	Memory      *memoryReport `json:"memory,omitempty"`
	Report      string        `json:"report,omitempty"`
	Results     []queryReport `json:"results"`
}

// queryReport is the answer to one query.
type queryReport struct {
	Query string       `json:"query"`           // id or row of the query, or its code
	Label string       `json:"label,omitempty"` // of the query
	Code  string       `json:"code"`
	Hits  []hitReport  `json:"hits"`
	Plan  index.Plan   `json:"plan,omitempty"`
	Why   *items.Match `json:"why,omitempty"` // about the first hit

	// Weights are those of the bits in which the first hit differs, with --rank margins and --explain.
	Weights []int `json:"weights,omitempty"`

	// Tied is the number of items at the distance of the last hit, and TiedHits that of those among the hits; with
	// --rerank vectors break ties, and Compared items were compared.
	Tied     int `json:"tied,omitempty"`
	TiedHits int `json:"tied_hits,omitempty"`
	Compared int `json:"compared,omitempty"`
}

type hitReport struct {
	ID             index.ID               `json:"id"`
	Distance       int                    `json:"distance"`
	MarginDistance *int                   `json:"margin_distance,omitempty"` // with --rank margins
	Label          string                 `json:"label,omitempty"`
	Tags           []string               `json:"tags,omitempty"`
	Attributes     map[string]index.Value `json:"attributes,omitempty"`
	Score          *float64               `json:"score,omitempty"`
}

type memoryReport struct {
	Total    int `json:"total_bytes"`
	Codes    int `json:"codes_bytes"`
	Postings int `json:"postings_bytes"`
	IDs      int `json:"ids_bytes"`
	Columns  int `json:"columns_bytes"`
	Tables   int `json:"tables_bytes"`
}

func memoryOf(m index.Memory) *memoryReport {
	return &memoryReport{m.Total(), m.Codes, m.Postings, m.IDs, m.Columns, m.Tables}
}

func (m *memoryReport) String() string {
	return fmt.Sprintf("%s: %s codes, %s postings, %s ids, %s labels, tags and attributes, %s tables",
		cli.Size(m.Total), cli.Size(m.Codes), cli.Size(m.Postings), cli.Size(m.IDs), cli.Size(m.Columns), cli.Size(m.Tables))
}

// queryReport collects the answer to one query.
func (c *searchCommand) queryReport(a *answer, q int) (queryReport, error) {
	r := queryReport{
		Query: a.queries.Names[q], Label: a.queries.Labels[q], Hits: []hitReport{}, Plan: a.results[q].Plan,
		Code: hex.EncodeToString(a.queries.Codes.AppendBytes(nil, q)),
	}
	for i, h := range a.results[q].Hits {
		item := a.found[q][i]
		hit := hitReport{
			ID: h.ID, Distance: h.Distance, Label: item.Label, Tags: item.Tags, Attributes: item.Attributes,
		}
		if c.isReranked() {
			hit.Score = &h.Score
		}
		if c.byMargins() {
			hit.MarginDistance = &h.MarginDistance
		}
		r.Hits = append(r.Hits, hit)
	}
	if r.Tied = a.results[q].Tied; r.Tied > 0 {
		for _, h := range r.Hits {
			if h.ranked() == r.Hits[len(r.Hits)-1].ranked() {
				r.TiedHits++
			}
		}
	}
	if q < len(a.compared) {
		r.Compared = a.compared[q]
	}
	if c.explain && len(r.Hits) > 0 {
		var err error
		first := a.found[q][0]
		r.Why, err = a.queries.Explain(q, first, a.model, a.vectors[first.ID])
		if err == nil && c.byMargins() {
			bits := a.queries.Codes.Bits
			weights := hamming.Weights(a.queries.Margins[q*bits : (q+1)*bits])
			for _, b := range r.Why.Differ {
				r.Weights = append(r.Weights, int(weights[b]))
			}
		}
		return r, err
	}
	return r, nil
}

// ranked is the distance that hits are ordered by.
func (h *hitReport) ranked() int {
	if h.MarginDistance != nil {
		return *h.MarginDistance
	}
	return h.Distance
}

// tieText says how many items are at the distance of the last hit.
func (r *queryReport) tieText() string {
	last := &r.Hits[len(r.Hits)-1]
	if last.MarginDistance != nil {
		return fmt.Sprintf("%d items are at margin distance %d", r.Tied, *last.MarginDistance)
	}
	return fmt.Sprintf("%d items are at distance %d", r.Tied, last.Distance)
}

func (c *searchCommand) isReranked() bool { return len(c.rerank) > 0 && c.rerankBy != "none" }

// queryReports collects the answers.
func (c *searchCommand) queryReports(a *answer) ([]queryReport, error) {
	reports := make([]queryReport, len(a.results))
	for q := range reports {
		var err error
		if reports[q], err = c.queryReport(a, q); err != nil {
			return nil, err
		}
	}
	return reports, nil
}

// printLines prints a line of JSON per query.
func (c *searchCommand) printLines(results []queryReport) error {
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
func (c *searchCommand) print(a *answer, results []queryReport) error {
	s := a.items
	all := searchReport{
		Index: a.path, Items: s.Len(), Bits: s.Bits(), Fingerprint: s.Fingerprint().String(), Seconds: a.took.Seconds(),
		Report: c.report, Results: results,
	}
	if c.byMargins() {
		all.Rank = c.rank
	}
	if c.explain {
		all.Memory = memoryOf(s.Memory())
	}
	switch {
	case c.to == "jsonl":
		return c.printLines(all.Results)
	case c.to == "csv" && !c.json:
		c.noteTies(all.Results)
		return c.printCSV(all.Results, true)
	}
	return c.printResult(all, func() {
		if c.explain {
			fmt.Fprintf(c.out, "%s: %d items in %v\n", a.path, s.Len(), all.Memory)
		}
		for _, r := range all.Results {
			c.printQuery(a, r)
		}
		if c.report != "" {
			fmt.Fprintf(c.out, "The page with these searches: %s\n", c.report)
		}
	})
}

// printQuery prints the answer to one query as a table.
func (c *searchCommand) printQuery(a *answer, r queryReport) {
	title := cli.Printable(r.Query)
	if r.Label != "" {
		title += " (" + cli.Printable(r.Label) + ")"
	}
	if len(r.Hits) == 0 {
		fmt.Fprintf(c.out, "%s: nothing found\n", title)
	} else {
		fmt.Fprintln(c.out, title)
		t := c.table()
		fields := c.shownFields(r.Hits)
		t.AppendHeader(tableRow(fields))
		for i := range r.Hits {
			t.AppendRow(tableRow(r.fieldTexts(fields, i)))
		}
		t.Render()
	}
	if r.Tied > r.TiedHits {
		order := "by id"
		if c.margins && !c.byMargins() {
			order = "by margins, then by id"
		}
		fmt.Fprintf(c.out, "%s; %s shown, the first %s\n",
			r.tieText(), plain.Count(r.TiedHits, "of them is", "of them are"), order)
	}
	if c.explain {
		fmt.Fprint(c.out, r.Plan)
		if r.Compared > 0 {
			fmt.Fprintf(c.out, "%s compared by vectors\n", plain.Count(r.Compared, "item was", "items were"))
		}
	}
	if r.Why != nil {
		c.printWhy(a, r)
	}
}

// shownFields is the fields to print of these hits: those asked for, or those that at least one of them has.
func (c *searchCommand) shownFields(hits []hitReport) []string {
	if len(c.fields) > 0 {
		return c.fields
	}
	fields := []string{"id", "distance"}
	if c.byMargins() {
		fields = append(fields, "margin_distance")
	}
	if c.isReranked() {
		fields = append(fields, "score")
	}
	items := make([]itemReport, len(hits))
	for i, h := range hits {
		items[i] = itemReport{Label: h.Label, Tags: h.Tags, Attributes: h.Attributes}
	}
	return append(fields, ownFields(items)...)
}

// fieldTexts is what the fields say of a hit.
func (r *queryReport) fieldTexts(fields []string, hit int) []string {
	texts := make([]string, len(fields))
	for j, f := range fields {
		texts[j] = r.Hits[hit].fieldText(f, r.Query, hit)
	}
	return texts
}

// fieldText is what a field says of a hit; "" when the item has nothing of that name.
func (h *hitReport) fieldText(name, query string, rank int) string {
	switch name {
	case "query":
		return query
	case "rank":
		return strconv.Itoa(rank + 1)
	case "id":
		return h.ID.String()
	case "distance":
		return strconv.Itoa(h.Distance)
	case "margin_distance":
		if h.MarginDistance == nil {
			return ""
		}
		return strconv.Itoa(*h.MarginDistance)
	case "score":
		if h.Score == nil {
			return ""
		}
		return strconv.FormatFloat(*h.Score, 'g', 6, 64)
	case "label":
		return h.Label
	case "tags":
		return strings.Join(h.Tags, ";")
	}
	return valueText(h.Attributes[name]) // of no attribute "", too
}

// valueText is the value of an attribute as people write it.
func valueText(v index.Value) string {
	if text, ok := v.Text(); ok {
		return text
	}
	return v.String()
}

// noteTies says where items at the last distance were left out.
func (c *searchCommand) noteTies(results []queryReport) {
	cut := 0
	for _, r := range results {
		if r.Tied > r.TiedHits {
			cut++
		}
	}
	if cut > 0 {
		c.note("for %d of %s some items at the last distance are not shown, the later ones by id; --rerank orders by vectors",
			cut, plain.Count(len(results), "query", "queries"))
	}
}

// printCSV prints a line per hit, after the names of the fields when they are wanted.
func (c *searchCommand) printCSV(results []queryReport, head bool) error {
	w := csv.NewWriter(c.raw)
	fields := c.fields
	if len(fields) == 0 {
		var all []hitReport
		for _, r := range results {
			all = append(all, r.Hits...)
		}
		fields = append([]string{"query", "rank"}, c.shownFields(all)...)
	}
	if head {
		if err := w.Write(fields); err != nil {
			return err
		}
	}
	for _, r := range results {
		for i := range r.Hits {
			if err := w.Write(r.fieldTexts(fields, i)); err != nil {
				return err
			}
		}
	}
	w.Flush()
	return w.Error()
}

// printWhy prints the bits of the first hit, and the strongest reason of each, the bits that differ first.
func (c *searchCommand) printWhy(a *answer, r queryReport) {
	fmt.Fprintf(c.out, "%s and %s differ in the bits: %s\n",
		cli.Printable(r.Query), cli.Printable(r.Why.ID.String()), cli.Ranges(r.Why.Differ))
	fmt.Fprintf(c.out, "and agree in the bits: %s\n", cli.Ranges(r.Why.Agree))
	if len(r.Weights) > 0 {
		fmt.Fprintf(c.out, "The bits that differ weigh, in sixteenths of an average bit: %s\n",
			strings.Trim(fmt.Sprint(r.Weights), "[]"))
	}
	if len(r.Why.Bits) == 0 {
		return
	}
	const most = 24
	t := c.table()
	t.AppendHeader(table.Row{"bit", "", "feature", "threshold", "query", "hit"})
	rows := 0
	for _, agree := range []bool{false, true} {
		for _, b := range r.Why.Bits {
			if b.Agree != agree || len(b.Reasons) == 0 {
				continue
			}
			if rows++; rows > most {
				continue
			}
			x := b.Reasons[0]
			threshold := fmt.Sprint(x.Threshold)
			if b, _, ok := model.Behind(a.model.Encoder); ok && b.Kind() == "linear" {
				threshold = "" // a hyperplane has none
			}
			verdict := map[bool]string{false: "differs", true: "agrees"}[agree]
			t.AppendRow(table.Row{b.Bit, verdict, cli.Printable(x.Name), threshold, x.A, x.B})
		}
	}
	t.Render()
	if rows > most {
		fmt.Fprintf(c.out, "and %d more bits; --json has them all\n", rows-most)
	}
}
