package worker

import (
	"bytes"
	"cmp"

	"hashgrove"
	"hashgrove/internal/compare"
	"hashgrove/internal/eval"
	"hashgrove/internal/method"
)

// compareParams say what to compare; names are the flags of the command with underscores, and so are defaults.
type compareParams struct {
	rowParams
	Title string  `json:"title,omitempty"`
	Share float64 `json:"share,omitempty"` // of the rows, to search with

	Methods     []string          `json:"methods,omitempty"`
	Bits        []int             `json:"bits,omitempty"`
	NewShare    *float64          `json:"new_share,omitempty"`
	Standardize string            `json:"standardize,omitempty"`
	Rank        string            `json:"rank,omitempty"`
	DetailBits  *int              `json:"detail_bits,omitempty"`
	Unseen      int               `json:"unseen,omitempty"`
	Seed        uint64            `json:"seed,omitempty"`
	Threads     int               `json:"threads,omitempty"`
	MinShared   int               `json:"min_shared,omitempty"`
	Train       hashgrove.Options `json:"train,omitzero"`
}

// options returns the options of the comparison.
func (p *compareParams) options() compare.Options {
	o := compare.Options{
		Methods: p.Methods, Bits: p.Bits, Standardize: p.Standardize,
		Unseen: p.Unseen, Seed: max(p.Seed, 1), Threads: p.Threads, Train: p.Train,
		DetailBits: method.UsualDetail,
	}
	if p.Rank != "" && p.Rank != "auto" {
		o.Rank = eval.Ranking(p.Rank)
	}
	if p.DetailBits != nil {
		o.DetailBits = *p.DetailBits
	}
	if p.NewShare != nil {
		if o.NewShare = *p.NewShare; o.NewShare == 0 {
			o.NewShare = -1
		}
	}
	return o
}

// compare trains several methods on the rows and measures them. The arrays of the answer are the result as JSON, as
// compare --json prints it, and the report as a page of HTML.
func (c *call) compare(p *compareParams) (any, []Array, error) {
	o := p.options()
	o.Threads = cmp.Or(o.Threads, c.threads)
	if err := o.Check(); err != nil {
		return nil, nil, err
	}
	t, err := c.table(&p.rowParams)
	if err != nil {
		return nil, nil, err
	}
	all, err := compare.Read(c.ctx, t, nil)
	if err != nil {
		return nil, nil, err
	}
	if all.MinShared = 2; p.MinShared > 0 {
		all.MinShared = p.MinShared
	}
	data := &compare.Data{Name: p.Title}
	if data.Base, data.Queries, err = all.Split(p.Share, o.Seed); err != nil {
		return nil, nil, err
	}
	o.Progress = func(now compare.Progress) {
		c.progress(map[string]any{"done": now.Done, "total": now.Total, "note": now.Note})
	}
	r, err := compare.Run(c.ctx, data, o)
	if err != nil {
		return nil, nil, err
	}
	var html bytes.Buffer
	if err := r.Write(&html, "Comparison on "+p.Title, "hashgrove.compare"); err != nil {
		return nil, nil, err
	}
	head, rows := r.Table()
	return map[string]any{
		"title": r.Title(), "head": head, "rows": rows, "notes": r.Notes(), "failures": r.Failures(), "result": r,
	}, []Array{arrayOf(html.Bytes())}, nil
}
