package compare

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hashgrove/internal/eval"
	"hashgrove/internal/model"
	"hashgrove/internal/report"
	"hashgrove/internal/vectors"
)

// Pictures returns PNGs of rows of a part, by their number in its source; it may omit some.
type Pictures func(part *Part, rows []int) (map[int][]byte, error)

// Page holds what only the caller knows about a report.
type Page struct {
	Title    string
	Date     time.Time
	Machine  string
	Command  string
	Pictures Pictures // nil if the data are not pictures
}

// Report returns the comparison as a report page.
func (r *Result) Report(d *Data, page Page) (report.Data, error) {
	out := report.Data{
		Title: page.Title, Date: page.Date, Version: r.Version, Machine: page.Machine, Command: page.Command,
		Warnings: r.Warnings, Dataset: r.Data, RecallRank: r.recallRank(),
	}
	if r.PCA > 0 {
		out.Dataset.Notes = append(out.Dataset.Notes, fmt.Sprintf("Methods learn from the first %d principal "+
			"components; float search uses all %d dimensions.", r.PCA, r.Data.Dim))
	}
	if r.Scale != "" {
		out.Dataset.Notes = append(out.Dataset.Notes, strings.ToUpper(r.Scale[:1])+r.Scale[1:]+".")
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
	out.Confusions = report.Confusions{Method: name, Top: min(nearestItems, r.searched()), Pairs: shown.Confusions}
	d, err := d.parts(r.asked, r.Seed)
	if err != nil {
		return out, err
	}
	out.Searches, err = r.examples(name, shown.Searches, d, page.Pictures)
	return out, err
}

// exampleRow returns the row whose searches a page shows: the recommended one, or else the best codes.
func (r *Result) exampleRow() *eval.Row {
	for i := range r.Rows {
		if r.Rows[i].Recommended && r.Rows[i].Searches != nil {
			return &r.Rows[i]
		}
	}
	if r.unlabelled() {
		return nil
	}
	return factsOf(r).choice
}

// examples shows queries with what a method found for them.
func (r *Result) examples(
	method string, searches []eval.Search, d *Data, pictures Pictures,
) ([]report.Example, error) {
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
	truth, err := r.rightAnswers(d, queries)
	if err != nil {
		return nil, err
	}
	mark := make([]uint8, found.X.Rows)
	var out []report.Example
	for k, s := range searches {
		search := report.Example{Method: method, Query: d.Queries.picture(s.Query, queryPNG)}
		truth.Mark(k, mark)
		for i, item := range s.Items {
			search.Hits = append(search.Hits, report.Hit{
				Picture: found.picture(item, itemPNG), Distance: fmt.Sprint(s.Distances[i]), Right: mark[item] == eval.Relevant,
			})
		}
		out = append(out, search)
	}
	return out, nil
}

// rightAnswers returns the right answers to some queries: by labels or, without them, by float neighbours.
func (r *Result) rightAnswers(d *Data, queries []int) (eval.Truth, error) {
	found := d.searched()
	if d.labelled() {
		all, err := eval.TruthOf(d.Queries.Data, found.Data)
		return eval.Truth{
			Queries: len(queries), Base: all.Base, Mark: func(k int, mark []uint8) { all.Mark(queries[k], mark) },
		}, err
	}
	x := vectors.Matrix{Rows: len(queries), Cols: found.X.Cols}
	for _, q := range queries {
		x.Data = append(x.Data, d.Queries.X.Row(q)...)
	}
	near, err := r.neighbours(x, found.X)
	return eval.Truth{Queries: len(queries), Base: found.X.Rows, Mark: func(k int, mark []uint8) {
		clear(mark)
		for _, row := range near.Rows(k) {
			mark[row] = eval.Relevant
		}
	}}, err
}

// neighbours finds the neighbours of vectors in the form that float search compared.
func (r *Result) neighbours(queries, items vectors.Matrix) (*eval.Neighbours, error) {
	ctx := context.Background()
	if r.scale != nil {
		var err error
		if queries, err = model.Transform(ctx, 0, queries, r.scale); err != nil {
			return nil, err
		}
		if items, err = model.Transform(ctx, 0, items, r.scale); err != nil {
			return nil, err
		}
	}
	return eval.FindNeighbours(ctx, queries, items, r.Neighbours, 0)
}

// load returns the pictures of rows of a part, or none if p is nil.
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

// picture returns row i as a page shows it.
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
