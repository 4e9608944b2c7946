package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"hashgrove/api"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
	"hashgrove/internal/search"
)

// Searcher answers requests from a table: by code, by id and, with a model, by vector and picture. The database
// knows only codes, so margins, expected codes, prefixes, reranking and explanations are refused, and hits are
// ranked by Hamming distance even if the model chose otherwise.
type Searcher struct {
	table *Table
	model *model.Model // nil means none
	info  Info
}

// NewSearcher returns an api.Searcher for a table. The model may be nil; one that did not make the codes is
// refused.
func NewSearcher(ctx context.Context, t *Table, m *model.Model) (*Searcher, error) {
	info, err := t.Info(ctx)
	if err == nil && m != nil {
		err = info.Accept(Space{m.Encoder.Bits(), m.Fingerprint()})
	}
	return &Searcher{t, m, info}, err
}

// Search implements api.Searcher.
func (s *Searcher) Search(ctx context.Context, r *api.Request) (*api.Answer, error) {
	began := time.Now()
	if err := s.check(r); err != nil {
		return nil, err
	}
	q := Query{K: r.Limit(), Radius: -1}
	if r.Radius != nil {
		q.Radius = *r.Radius
	}
	var err error
	if q.Filter, err = search.ParseFilter(r.Where); err != nil {
		return nil, err
	}
	a := &api.Answer{Fingerprint: s.info.Fingerprint.String(), Bits: s.info.Bits, Rank: api.Hamming}
	if chosen := s.model.Rank(); r.Rank != api.Hamming && r.Radius == nil && chosen != api.Hamming {
		a.Doubts = append(a.Doubts, fmt.Sprintf("The model would rank by %s, which %s cannot: search an index for that.",
			map[string]string{api.Margins: "margins", api.Expected: "the expected code"}[chosen], s.info.Server))
	}
	if err := s.read(ctx, r.All(), &q, a); err != nil {
		return nil, err
	}
	found, err := s.table.Search(ctx, q)
	switch {
	case errors.Is(err, ErrFilter):
		return nil, api.Errorf(api.ErrUnsupported, "%v", err)
	case err != nil:
		return nil, search.Coded(err)
	}
	if a.Items, err = s.table.Count(ctx); err != nil {
		return nil, err
	}
	if err := s.describe(ctx, a, found, &r.Options); err != nil {
		return nil, err
	}
	a.Seconds = time.Since(began).Seconds()
	return a, nil
}

// check rejects invalid requests and those that the database cannot answer.
func (s *Searcher) check(r *api.Request) error {
	if err := r.Check(); err != nil {
		return err
	}
	if r.NeedsMargins() || r.Ties != "" || r.Rank == api.Expected || r.Prefix != 0 || r.Rerank != "" || r.Explain {
		return api.Errorf(api.ErrUnsupported, "%s ranks by Hamming distance alone, without margins, expected codes, "+
			"prefix, rerank and explain: search an index for those", s.info.Server)
	}
	return search.Accept(s.info.Fingerprint, r.Fingerprint)
}

// read determines the codes of the queries and starts their results.
func (s *Searcher) read(ctx context.Context, queries []api.Query, q *Query, a *api.Answer) error {
	labels := map[api.ID]string{}
	none := index.New(s.info.Bits, s.info.Fingerprint, index.Config{}).Snapshot()
	read := &search.Items{Snapshot: none, Model: s.model, Get: func(
		ctx context.Context, id index.ID,
	) (item index.Item, found bool, err error) {
		err = s.table.Read(ctx, index.IDs(id), func(b *index.Batch) error {
			item, found = b.Item(0), true
			labels[api.ID(id.String())] = item.Label
			return nil
		})
		return item, found, err
	}}
	var err error
	if q.Codes, err = read.Codes(ctx, queries); err != nil {
		return err
	}
	a.Results = make([]api.Result, len(queries))
	for i, asked := range queries {
		a.Results[i] = api.Result{
			Query: cmp.Or(asked.Name, string(asked.ID), strconv.Itoa(i)), Label: cmp.Or(asked.Label, labels[asked.ID]),
			Code: search.HexCode(q.Codes.Row(i), q.Codes.Bits), Hits: []api.Hit{},
		}
	}
	return nil
}

// describe converts hits, adding the requested fields of the items.
func (s *Searcher) describe(ctx context.Context, a *api.Answer, found [][]index.Hit, o *api.Options) error {
	items := map[index.ID]index.Item{}
	if o.Fields == nil || len(o.Fields) > 0 {
		for _, hits := range found {
			for _, h := range hits {
				items[h.ID] = index.Item{}
			}
		}
		if err := s.fill(ctx, items); err != nil {
			return err
		}
	}
	detail := s.info.detail() > 0
	for i, hits := range found {
		a.Results[i].Hits = make([]api.Hit, len(hits))
		for j, h := range hits {
			it := items[h.ID]
			search.FillHit(&a.Results[i].Hits[j], &h, &it, o, detail, detail)
		}
	}
	return nil
}

// fill reads items by id, some at a time.
func (s *Searcher) fill(ctx context.Context, items map[index.ID]index.Item) error {
	const some = 1000
	for part := range slices.Chunk(slices.Collect(maps.Keys(items)), some) {
		err := s.table.Read(ctx, index.IDs(part...), func(b *index.Batch) error {
			for i, id := range b.IDs {
				items[id] = b.Item(i)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
