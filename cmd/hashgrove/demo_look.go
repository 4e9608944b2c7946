package main

import (
	"cmp"
	"context"
	"math"
	"slices"

	"hashgrove/internal/compare"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/method"
	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// demoDetail is the number of bits of detail behind those of the class.
const demoDetail = 64

// demoLook says how alike the first hits of new pictures are: of the ten nearest items of a query's class, by the angle
// between their pixels, the share that is among the first ten hits. Tied hits count as often as they would come first
// in a random order.
type demoLook struct {
	DetailBits     int     `json:"detail_bits"`
	NearestOfClass float64 `json:"nearest_of_class_10"`
	WithoutDetail  float64 `json:"nearest_of_class_10_without_detail"`
}

// addDetail adds bits of detail to the model, learned from the rows that it knows, and measures what they are worth.
func (c *demoCommand) addDetail(ctx context.Context, data *compare.Data, o compare.Options) error {
	parts, err := data.Parts(o)
	if err != nil {
		return err
	}
	class := *c.model
	err = method.AddDetail(ctx, c.model, parts.Base.Data, method.Options{
		Detail: demoDetail, Seed: c.seed, Threads: c.threads,
	})
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
	found, err := c.searchAll(ctx, m, d.New, d.Queries, d.New.X.Rows)
	if err != nil {
		return 0, err
	}
	const first = 10
	distance := func(h index.Hit) int { return h.Distance }
	if m.DetailBits() > 0 || m.Rank() != model.ByHamming {
		distance = func(h index.Hit) int { return h.MarginDistance }
	}
	sum, asked := 0.0, 0
	for q, r := range found {
		alike := mostAlike(d, q, first)
		if len(alike) == 0 {
			continue
		}
		last := distance(r.Hits[min(first, len(r.Hits))-1])
		before, tied := 0, 0
		for _, h := range r.Hits {
			switch w := distance(h); {
			case w < last:
				before++
			case w == last:
				tied++
			}
		}
		hit := 0.0
		for _, h := range r.Hits {
			row, _ := h.ID.Integer()
			switch w := distance(h); {
			case !slices.Contains(alike, int(row)) || w > last:
			case w < last:
				hit++
			default:
				hit += float64(first-before) / float64(tied)
			}
		}
		sum, asked = sum+hit/float64(len(alike)), asked+1
	}
	return sum / float64(max(asked, 1)), nil
}

// mostAlike returns the new items of a query's class at the smallest angles from it.
func mostAlike(d *compare.Data, q, n int) []int {
	type item struct {
		row    int
		cosine float64
	}
	var list []item
	query := d.Queries.X.Row(q)
	for i, class := range d.New.Labels.Class {
		if d.New.Labels.Names[class] != d.Queries.Labels.Names[d.Queries.Labels.Class[q]] {
			continue
		}
		var dot, norm float64
		for j, v := range d.New.X.Row(i) {
			dot += float64(float64(v) * float64(query[j]))
			norm += float64(float64(v) * float64(v))
		}
		list = append(list, item{i, dot / math.Sqrt(max(norm, 1e-30))})
	}
	slices.SortStableFunc(list, func(a, b item) int { return cmp.Compare(b.cosine, a.cosine) })
	var rows []int
	for _, it := range list[:min(n, len(list))] {
		rows = append(rows, it.row)
	}
	return rows
}

// searchAll finds the k nearest items of every query, ranked as the model chose.
func (c *demoCommand) searchAll(ctx context.Context, m *model.Model, base, queries *compare.Part, k int) ([]index.Result, error) {
	codes, err := m.Encode(ctx, base.X, c.threads)
	if err != nil {
		return nil, err
	}
	asked, o, err := c.asked(ctx, m, queries.X)
	if err != nil {
		return nil, err
	}
	return index.FromCodes(codes).Detailed(m.DetailBits()).SearchBatch(ctx, asked, k, o)
}

// asked returns the codes of queries, and the options that rank as the model chose.
func (c *demoCommand) asked(ctx context.Context, m *model.Model, x vectors.Matrix) (hamming.Codes, index.Options, error) {
	o := index.Options{Threads: c.threads}
	codes, err := m.Encode(ctx, x, c.threads)
	if err != nil || m.Rank() == model.ByHamming {
		return codes, o, err
	}
	scores, err := m.Margins(ctx, x, c.threads)
	if err == nil && m.Rank() == model.ByExpected {
		err = m.Expect(ctx, scores)
	}
	o.Rank, o.Margins = index.ByMargins, scores.Data
	return codes, o, err
}
