package compare

import (
	"fmt"
	"strings"
	"time"

	"hashgrove/eval"
	"hashgrove/report"
)

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
		Title: page.Title, Date: page.Date, Version: r.Version, Machine: page.Machine, Command: page.Command, Warnings: r.Warnings,
		Dataset: report.Dataset{
			Name: r.Data.Name, Base: r.Data.Base, Queries: r.Data.Queries, Dim: r.Data.Dim, Classes: r.Data.Classes,
			Similar: r.Data.Similar, HeldOut: r.Data.HeldOut,
		},
	}
	if r.PCA > 0 {
		out.Dataset.Notes = append(out.Dataset.Notes, fmt.Sprintf("Methods learn from the first %d principal components; float search uses all %d dimensions.", r.PCA, r.Data.Dim))
	}
	out.Dataset.Notes = append(out.Dataset.Notes, r.Failures()...)
	for _, a := range r.Advice {
		out.Advice = append(out.Advice, a.Text)
	}
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Error == "" {
			out.Results = append(out.Results, row.result())
		}
	}
	shown := r.shown()
	if shown == nil {
		return out, nil
	}
	for _, c := range shown.Confusions {
		out.Confusions.Pairs = append(out.Confusions.Pairs, report.Confusion(c))
	}
	out.Confusions.Method, out.Confusions.Top = shown.printed(), min(nearestItems, r.Data.Base)
	var err error
	out.Searches, err = shown.searches(d, page.Pictures)
	return out, err
}

// shown is the row whose searches a page shows: the recommended one, or else the best codes.
func (r *Result) shown() *Row {
	f := factsOf(r)
	for i := range r.Rows {
		if r.Rows[i].Recommended && r.Rows[i].Searches != nil {
			return &r.Rows[i]
		}
	}
	return f.choice
}

// printed names a row in print.
func (row *Row) printed() string { return fmt.Sprintf("%s, %d bits", title(row.Method), row.Bits) }

// result is the row as package report has it.
func (row *Row) result() report.Result {
	out := report.Result{
		Method: title(row.Method), Bits: row.Bits, Supervised: row.Supervised, Recommended: row.Recommended,
		MAP: row.MAP, MAPLow: row.MAPLow, MAPHigh: row.MAPHigh, Precision100: row.Precision100, PRArea: row.PRArea, UnseenMAP: row.UnseenMAP,
		TrainSeconds: row.TrainSeconds, EncodeMicroseconds: row.EncodeMicroseconds, BytesPerItem: float64(row.Bytes), DistinctCodes: row.DistinctCodes,
		PRCurve: row.PRCurve, Retrieved: row.PrecisionCurve, Objective: row.Objective, Usage: row.Usage, Classes: row.PerClass,
	}
	switch row.Kind {
	case Floor:
		out.Kind = report.Floor
	case Ceiling:
		out.Kind = report.Ceiling
	}
	if row.Method == euclidean || row.Method == cosine {
		out.Bits, out.DistinctCodes = 0, 0
	}
	return out
}

// searches shows queries with what was found for them.
func (row *Row) searches(d *Data, pictures Pictures) ([]report.Search, error) {
	var queries, items []int
	for _, s := range row.Searches {
		queries = append(queries, s.Query)
		items = append(items, s.Items...)
	}
	queryPNG, err := pictures.of(d.Queries, queries)
	if err != nil {
		return nil, err
	}
	itemPNG, err := pictures.of(d.Base, items)
	if err != nil {
		return nil, err
	}
	truth, err := eval.TruthOf(d.Queries.Data, d.Base.Data)
	if err != nil {
		return nil, err
	}
	mark := make([]uint8, d.Base.X.Rows)
	var out []report.Search
	for _, s := range row.Searches {
		search := report.Search{Method: row.printed(), Query: d.Queries.picture(s.Query, queryPNG)}
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

func (p Pictures) of(part *Part, rows []int) (map[int][]byte, error) {
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
