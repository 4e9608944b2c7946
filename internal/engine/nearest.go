package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// Some engines find the nearest items, but break ties in their own order, limit the number of hits, and cannot evaluate
// our filters. They are searched in two ways, both of them exact.
//
//	ask    for more hits than wanted, until one is farther than the last one wanted, so that no tie is cut off
//	scan   all items that may match, if asking does not settle it, and compute the distances here

// finder is what such an engine can do.
type finder interface {
	// ask returns, for each spread code, the nearest items that match a clause, at most limit of them.
	ask(ctx context.Context, codes hamming.Codes, limit int, c clause) ([][]index.Hit, error)

	// scan passes on the items that match a clause, and maybe others, in any order. An item that is moved meanwhile
	// may come twice.
	scan(ctx context.Context, c clause, take func(*index.Batch) error) error
}

// skill describes the abilities of a finder's engine.
type skill struct {
	most    int                    // hits per response
	numbers func(name string) bool // attributes it can compare with numbers; nil means none
}

// search answers a query through a finder. Distances are those of spread codes (shape.go).
func (s skill) search(ctx context.Context, e finder, of shape, q Query) ([][]index.Hit, error) {
	if err := q.check(of.bits); err != nil {
		return nil, err
	}
	q.Codes, q.Radius = of.spreadAll(q.Codes), of.radius(q.Radius)
	c, exact := narrow(q.Filter, s.numbers)
	all := make([][]index.Hit, q.Codes.Len())
	open := make([]int, len(all)) // unsettled queries
	for i := range all {
		all[i], open[i] = []index.Hit{}, i
	}
	if c.op == "none" || len(all) == 0 {
		return all, nil
	}
	ask := asking{e, of, c, q, all}
	for limit, more := min(2*q.K+100, s.most), exact; more && len(open) > 0; limit = min(8*limit, s.most) {
		more = limit < s.most
		var err error
		if open, err = ask.round(ctx, limit, open); err != nil {
			return nil, err
		}
	}
	if len(open) == 0 {
		return all, nil
	}
	return all, ask.measure(ctx, open)
}

// asking is a query in progress.
type asking struct {
	engine finder
	shape  shape
	clause clause
	query  Query         // of spread codes
	all    [][]index.Hit // of each code
}

// round asks for limit hits for the open queries and returns those that are still not settled.
func (a asking) round(ctx context.Context, limit int, open []int) ([]int, error) {
	const rows = 10000 // approximate size of a response
	var left []int
	for part := range slices.Chunk(open, min(max(rows/limit, 1), 50)) {
		codes := hamming.NewCodes(0, a.query.Codes.Bits)
		for _, i := range part {
			codes.Data = append(codes.Data, a.query.Codes.Row(i)...)
		}
		answers, err := a.engine.ask(ctx, codes, limit, a.clause)
		if err != nil {
			return nil, err
		}
		if len(answers) != len(part) {
			return nil, fmt.Errorf("the engine answered %d of %d queries", len(answers), len(part))
		}
		for n, i := range part {
			if len(answers[n]) > limit {
				return nil, fmt.Errorf("the engine returned %d hits when asked for %d", len(answers[n]), limit)
			}
			if hits, certain := settled(a.query, answers[n], limit); certain {
				a.all[i] = hits
			} else {
				left = append(left, i)
			}
		}
	}
	return left, nil
}

// settled returns the hits that a query asks for; false means that the limit may have cut some off.
func settled(q Query, hits []index.Hit, limit int) ([]index.Hit, bool) {
	cut, farthest := len(hits) == limit, -1
	for _, h := range hits {
		farthest = max(farthest, h.Distance)
	}
	hits = best(q, hits)
	return hits, !cut || q.Radius >= 0 && farthest > q.Radius ||
		q.K > 0 && len(hits) == q.K && hits[q.K-1].Distance < farthest
}

// best returns the hits that a query asks for, in order. It modifies the list.
func best(q Query, hits []index.Hit) []index.Hit {
	if q.Radius >= 0 {
		hits = slices.DeleteFunc(hits, func(h index.Hit) bool { return h.Distance > q.Radius })
	}
	slices.SortFunc(hits, compareHits)
	hits = slices.CompactFunc(hits, func(a, b index.Hit) bool { return a.ID == b.ID }) // a scan may return an item twice
	if q.K > 0 {
		hits = hits[:min(q.K, len(hits))]
	}
	return hits
}

// measure answers the open queries from a scan.
func (a asking) measure(ctx context.Context, open []int) error {
	q, all := a.query, a.all
	return a.engine.scan(ctx, a.clause, func(b *index.Batch) error {
		rows, err := b.Matching(q.Filter)
		if err != nil {
			return err
		}
		codes := a.shape.spreadAll(b.Codes)
		for _, i := range open {
			for _, r := range rows {
				all[i] = append(all[i], index.Hit{ID: b.IDs[r], Distance: hamming.Distance(q.Codes.Row(i), codes.Row(r))})
			}
			all[i] = best(q, all[i])
		}
		return ctx.Err()
	})
}

// readOrdered is Engine.Read for a finder. It holds all matching items in memory, because the engine returns them in
// its own order.
func readOrdered(ctx context.Context, e finder, bits int, f index.Filter, take func(*index.Batch) error) error {
	c, _ := narrow(f, nil)
	if c.op == "none" {
		return nil
	}
	all := index.NewBatch(bits)
	err := e.scan(ctx, c, func(b *index.Batch) error {
		rows, err := b.Matching(f)
		for _, r := range rows {
			all.Append(b.Item(r))
		}
		return cmp.Or(err, ctx.Err())
	})
	if err != nil {
		return err
	}
	order, err := all.Order(true) // an item changed meanwhile may have come twice
	if err != nil {
		return err
	}
	const some = 4096
	for part := range slices.Chunk(order, some) {
		b := index.NewBatch(bits)
		for _, r := range part {
			b.Append(all.Item(r))
		}
		if err := take(b); err != nil {
			return err
		}
	}
	return nil
}
