package search

import (
	"cmp"
	"context"
	"slices"

	"hashgrove/api"
	"hashgrove/internal/index"
)

// tiesByVectors searches by codes and orders items at the same distance by their vectors, then by id. Codes say which
// items belong together, and vectors which of those are most alike, so neither is thrown away.
//
//	search for k items and count those tied with the last
//	where some of these are left out, search for all of them
//	order by the distance of codes, of vectors, and by id; keep k
func (x *Items) tiesByVectors(
	ctx context.Context, q *queries, k int, o *api.Options, io index.Options,
) ([]index.Result, error) {
	if x.Vectors == nil {
		return nil, api.Errorf(api.ErrUnsupported,
			"the items' vectors are not available here, so ties cannot be ordered by them")
	}
	m, err := x.matrix(q, "ties", "ordering ties by vectors needs the vectors of the queries, but this one has none")
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(m.Data, isNaN) {
		return nil, invalid("queries", "a query has missing values, but distances between vectors need all of them: "+
			"compare codes alone, or fill in the values")
	}
	results, err := x.byCodes(ctx, q, k, o, io)
	if err != nil {
		return nil, err
	}
	ids := map[index.ID]bool{}
	for i := range results {
		if results[i], err = x.withTied(ctx, q, i, results[i], o, io); err != nil {
			return nil, err
		}
		for _, h := range results[i].Hits {
			ids[h.ID] = true
		}
	}
	known, err := x.Vectors.Of(ctx, x.Snapshot, ids)
	if err != nil {
		return nil, err
	}
	distance := newDistance(api.Euclidean, m)
	q.compared = make([]int, len(results))
	for i := range results {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		hits := results[i].Hits
		for j := range hits {
			hits[j].Score = noVector
			if y := known[hits[j].ID]; y != nil {
				hits[j].Score = distance(i, y, noVector)
			}
		}
		q.compared[i] = len(hits)
		slices.SortFunc(hits, func(a, b index.Hit) int {
			return cmp.Or(cmp.Compare(x.apart(q, &a), x.apart(q, &b)), cmp.Compare(a.Score, b.Score), a.ID.Compare(b.ID))
		})
		if k > 0 {
			results[i].Hits = hits[:min(k, len(hits))]
		}
	}
	return results, nil
}

// byCodes searches for all queries by their codes.
func (x *Items) byCodes(
	ctx context.Context, q *queries, k int, o *api.Options, io index.Options,
) ([]index.Result, error) {
	if o.Radius != nil {
		io.Limit = k
		return x.Snapshot.WithinBatch(ctx, q.codes, *o.Radius, io)
	}
	return x.Snapshot.SearchBatch(ctx, q.codes, k, io)
}

// withTied returns the result of query i with all items that are tied with the last one.
func (x *Items) withTied(
	ctx context.Context, q *queries, i int, r index.Result, o *api.Options, io index.Options,
) (index.Result, error) {
	n := len(r.Hits)
	if n == 0 || r.Tied == 0 {
		return r, nil
	}
	last, shown := x.apart(q, &r.Hits[n-1]), 0
	for j := range r.Hits {
		if x.apart(q, &r.Hits[j]) == last {
			shown++
		}
	}
	if shown == r.Tied {
		return r, nil
	}
	one := *q
	one.codes.Data = q.codes.Row(i)
	if io.Margins != nil {
		io.Margins = io.Margins[i*q.codes.Bits : (i+1)*q.codes.Bits]
	}
	all, err := x.byCodes(ctx, &one, n-shown+r.Tied, o, io)
	if err != nil {
		return r, err
	}
	all[0].Plan = r.Plan
	return all[0], nil
}

// apart returns the distance that ranks a hit.
func (x *Items) apart(q *queries, h *index.Hit) int {
	if q.rank != api.Hamming || x.Snapshot.Detail() > 0 {
		return h.MarginDistance
	}
	return h.Distance
}
