package main

import (
	"context"

	"hashgrove/internal/compare"
	"hashgrove/internal/eval"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// demoLook says how alike the first hits among new pictures are, as eval.Report.NearestOfClass10 does.
type demoLook struct {
	DetailBits     int     `json:"detail_bits"`
	NearestOfClass float64 `json:"nearest_of_class_10"`
	WithoutDetail  float64 `json:"nearest_of_class_10_without_detail"`
}

// addDetail adds bits of detail to the model, learned from the rows that it knows, and measures what they are worth.
func (c *demoCommand) addDetail(ctx context.Context, data *compare.Data, o compare.Options) error {
	class := *c.model
	parts, err := compare.AddDetail(ctx, c.model, data, o)
	if err != nil {
		return err
	}
	look := &c.report.Look
	look.DetailBits = c.model.DetailBits()
	if look.WithoutDetail, err = c.nearestOfClass(ctx, &class, parts); err != nil {
		return err
	}
	look.NearestOfClass, err = c.nearestOfClass(ctx, c.model, parts)
	return err
}

// nearestOfClass measures a model on new items, ranked as it chose.
func (c *demoCommand) nearestOfClass(ctx context.Context, m *model.Model, d *compare.Data) (float64, error) {
	truth, err := eval.TruthOf(d.Queries.Data, d.New.Data)
	if err != nil {
		return 0, err
	}
	o := eval.Options{K: []int{1}, CurveTo: 1, Threads: c.threads, Detail: m.DetailBits()}
	if o.OfClass, err = eval.FindOfClass(ctx, d.Queries.X, d.New.X, truth, c.threads); err != nil {
		return 0, err
	}
	items, err := m.Encode(ctx, d.New.X, c.threads)
	if err != nil {
		return 0, err
	}
	queries, scores, err := c.asked(ctx, m, d.Queries.X)
	if err != nil {
		return 0, err
	}
	var r *eval.Report
	if scores.Data == nil {
		r, err = eval.Retrieval(ctx, queries, items, truth, o)
	} else {
		r, err = eval.RetrievalMargins(ctx, queries, items, scores, truth, o)
	}
	if err != nil {
		return 0, err
	}
	return r.NearestOfClass10, nil
}

// asked returns the codes of queries, and the scores that rank as the model chose; none by Hamming distance.
func (c *demoCommand) asked(
	ctx context.Context, m *model.Model, x vectors.Matrix,
) (codes hamming.Codes, scores vectors.Matrix, err error) {
	codes, err = m.Encode(ctx, x, c.threads)
	if err != nil || m.Rank() == model.ByHamming {
		return codes, scores, err
	}
	scores, err = m.Margins(ctx, x, c.threads)
	if err == nil && m.Rank() == model.ByExpected {
		err = m.Expect(ctx, scores)
	}
	return codes, scores, err
}

// nearest finds the items nearest to one query, ranked as the model chose.
func (c *demoCommand) nearest(
	ctx context.Context, base hamming.Codes, query vectors.Matrix, k int,
) ([]index.Hit, error) {
	codes, scores, err := c.asked(ctx, c.model, query)
	if err != nil {
		return nil, err
	}
	o := index.Options{Threads: c.threads}
	if scores.Data != nil {
		o.Rank, o.Margins = index.ByMargins, scores.Data
	}
	found, err := index.FromCodes(base).Detailed(c.model.DetailBits()).Search(ctx, codes.Row(0), k, o)
	return found.Hits, err
}
