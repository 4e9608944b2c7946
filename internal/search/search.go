// Package search answers the requests of package api from an index. The rules of a search are all here, whether the
// command, the service or a Go program asks.
//
//	Items.Search    check the request, find the codes of its queries, search, collect the answer
//	Items.Explain   why an item is near a query
//	Table, Pass     the vectors of items, in memory or in files, for reranking
package search

import (
	"cmp"
	"context"
	"encoding/hex"
	"math"
	"time"

	"hashgrove/api"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
)

// Items implements api.Searcher over an index. All queries of a request see the same items.
type Items struct {
	Snapshot *index.Snapshot
	Model    *model.Model // nil means that queries cannot be vectors or pictures
	Vectors  Vectors      // of the items; nil if unknown

	// Select returns the snapshot for some queries with a filter, and what is to be Find, where Snapshot is nil.
	Select func(ctx context.Context, f index.Filter, queries int) (*index.Snapshot, Find, error)
	// Filter reads a filter; nil means ParseFilter.
	Filter func(where string) (index.Filter, error)

	Find Find // nil means to take items from the snapshot
	// Get returns an item by id; nil means to take it from the snapshot.
	Get func(ctx context.Context, id index.ID) (index.Item, bool, error)

	Threads int // for large requests; 0 means all cores. Small ones use one
	MaxHits int // maximum hits per query; 0 means no limit
	Pixels  int // maximum pixels of a picture; 0 means picture.MaxPixels
}

// Find returns the items of hits.
type Find func(ctx context.Context, hits []index.Hit) ([]index.Item, error)

// Threads returns the number of threads for some queries. Small requests get one, because many may run at a time.
func Threads(queries, most int) int {
	if queries < 32 {
		return 1
	}
	return most
}

func (x *Items) threads(queries int) int { return Threads(queries, x.Threads) }

// Search implements api.Searcher.
func (x *Items) Search(ctx context.Context, r *api.Request) (*api.Answer, error) {
	began := time.Now()
	if err := r.Check(); err != nil {
		return nil, err
	}
	parse := x.Filter
	if parse == nil {
		parse = ParseFilter
	}
	filter, err := parse(r.Where)
	if err != nil {
		return nil, err
	}
	if x, err = x.ready(ctx, filter, len(r.All())); err != nil {
		return nil, err
	}
	if err := r.CheckBits(x.Snapshot.Bits()); err != nil {
		return nil, err
	}
	if err := Accept(x.Snapshot.Fingerprint(), r.Fingerprint); err != nil {
		return nil, err
	}
	q, err := x.queries(ctx, r)
	if err != nil {
		return nil, err
	}
	results, err := x.find(ctx, q, filter, &r.Options)
	if err != nil {
		return nil, Coded(err)
	}
	a := &api.Answer{
		Fingerprint: x.Snapshot.Fingerprint().String(), Items: x.Snapshot.Len(), Bits: x.Snapshot.Bits(),
		Rank: q.rank, Doubts: q.doubts,
	}
	if a.Results, err = x.results(ctx, q, results, &r.Options); err != nil {
		return nil, err
	}
	a.Seconds = time.Since(began).Seconds()
	return a, nil
}

// ready returns a searcher that has a snapshot.
func (x *Items) ready(ctx context.Context, f index.Filter, queries int) (*Items, error) {
	if x.Snapshot != nil {
		return x, nil
	}
	out := *x
	var err error
	out.Snapshot, out.Find, err = x.Select(ctx, f, queries)
	return &out, Coded(err)
}

// find searches for all queries.
func (x *Items) find(ctx context.Context, q *queries, f index.Filter, o *api.Options) ([]index.Result, error) {
	io := index.Options{
		Filter: f, Prefix: o.Prefix, Rank: index.ByHamming, Margins: q.scores, Ties: true,
		Threads: x.threads(len(q.names)),
	}
	if q.rank != api.Hamming {
		io.Rank = index.ByMargins
	}
	k := o.Limit()
	if x.MaxHits > 0 && (k == 0 || k > x.MaxHits) {
		k = x.MaxHits
	}
	if o.Rerank != "" || o.Ties == api.Vectors {
		return x.byVectors(ctx, q, k, o, io)
	}
	return x.byCodes(ctx, q.codes, k, o, io)
}

// byCodes searches by codes; k = 0 means all items within the radius, or all on the shortlist.
func (x *Items) byCodes(
	ctx context.Context, codes hamming.Codes, k int, o *api.Options, io index.Options,
) ([]index.Result, error) {
	radius := math.MaxInt
	if o.Radius != nil {
		radius = *o.Radius
	}
	return x.Snapshot.Search(ctx, codes, cmp.Or(k, math.MaxInt), radius, io)
}

// apart returns the distance that ranks a hit.
func (x *Items) apart(q *queries, h *index.Hit) int {
	if q.rank != api.Hamming || x.Snapshot.Detail() > 0 {
		return h.MarginDistance
	}
	return h.Distance
}

// results collects the answers to all queries.
func (x *Items) results(
	ctx context.Context, q *queries, found []index.Result, o *api.Options,
) ([]api.Result, error) {
	items, err := x.itemsOf(ctx, found, o)
	if err != nil {
		return nil, err
	}
	whys, err := x.firstWhys(ctx, q, found, items, o)
	if err != nil {
		return nil, err
	}
	detail := x.Snapshot.Detail() > 0
	results := make([]api.Result, len(found))
	for i := range found {
		r := &results[i]
		*r = api.Result{
			Query: q.names[i], Label: q.labels[i], Code: hex.EncodeToString(q.codes.AppendBytes(nil, i)),
			Hits: make([]api.Hit, len(found[i].Hits)), Tied: found[i].Tied, Why: whys[i],
		}
		for j := range r.Hits {
			FillHit(&r.Hits[j], &found[i].Hits[j], &items[j], o, detail, detail || q.rank != api.Hamming)
		}
		items = items[len(r.Hits):]
		if r.Tied > 0 && len(r.Hits) > 0 {
			last := r.Hits[len(r.Hits)-1].Ranked()
			for j := range r.Hits {
				if r.Hits[j].Ranked() == last {
					r.TiedHits++
				}
			}
		}
		if q.compared != nil {
			r.Compared = q.compared[i]
		}
	}
	return results, nil
}

// FillHit fills in a hit of an answer from a hit of the index, which may have a distance of detail and one by weights.
func FillHit(to *api.Hit, h *index.Hit, it *index.Item, o *api.Options, detail, weighted bool) {
	to.ID, to.Distance = api.ID(h.ID.String()), h.Distance
	if detail {
		to.DetailDistance = &h.DetailDistance
	}
	if weighted {
		to.MarginDistance = &h.MarginDistance
	}
	if (o.Rerank != "" || o.Ties == api.Vectors) && !math.IsInf(h.Score, 0) {
		to.Score = &h.Score
	}
	if o.Wants("label") {
		to.Label = it.Label
	}
	if o.Wants("tags") {
		to.Tags = it.Tags
	}
	if o.Wants("attributes") {
		to.Attributes = Attributes(it.Attributes)
	}
}

// itemsOf returns the items of all hits, query by query; empty ones where nothing is wanted of them.
func (x *Items) itemsOf(ctx context.Context, found []index.Result, o *api.Options) ([]index.Item, error) {
	n := 0
	for i := range found {
		n += len(found[i].Hits)
	}
	if o.Fields != nil && len(o.Fields) == 0 && !o.Explain {
		return make([]index.Item, n), nil
	}
	if x.Find != nil {
		hits := make([]index.Hit, 0, n)
		for i := range found {
			hits = append(hits, found[i].Hits...)
		}
		return x.Find(ctx, hits)
	}
	items := make([]index.Item, 0, n)
	for i := range found {
		for _, h := range found[i].Hits {
			items = append(items, x.Snapshot.Item(h))
		}
	}
	return items, nil
}

// get returns an item by id.
func (x *Items) get(ctx context.Context, id index.ID) (index.Item, bool, error) {
	if x.Get != nil {
		return x.Get(ctx, id)
	}
	it, ok := x.Snapshot.Get(id)
	return it, ok, nil
}
