package search

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"hashgrove/api"
	"hashgrove/internal/index"
	"hashgrove/internal/par"
	"hashgrove/internal/vectors"
)

// Vectors provides the vectors of items as the model sees them. It is a Table or a Pass.
type Vectors interface {
	// Of returns the known vectors of some items of a snapshot.
	Of(ctx context.Context, s *index.Snapshot, ids map[index.ID]bool) (map[index.ID][]float32, error)

	rerank(ctx context.Context, x *Items, q *queries, d distance, c cut) ([]index.Result, error)
}

// cut is how many items a reranking keeps, and how it finds them.
type cut struct {
	k, radius int
	options   index.Options
}

// noVector is the score of an item without a known vector: it comes last.
var noVector = math.Inf(1)

// rerank orders the shortlisted items of every query by the distance of their vectors. Items without a vector come
// last; it is an error if none of a query's items has one.
func (x *Items) rerank(
	ctx context.Context, q *queries, k int, o *api.Options, io index.Options,
) ([]index.Result, error) {
	if x.Vectors == nil {
		return nil, api.Errorf(api.ErrUnsupported, "the items' vectors are not available here, so hits cannot be reranked")
	}
	m, err := x.matrix(q, "rerank", "a reranking needs the vectors of the queries, but this one has none")
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(m.Data, isNaN) {
		return nil, invalid("queries", "a query has missing values, but distances between vectors need all of them: "+
			"compare codes alone, or fill in the values")
	}
	c := cut{k: k, radius: math.MaxInt, options: io}
	if c.k == 0 {
		c.k = math.MaxInt
	}
	if o.Radius != nil {
		c.radius = *o.Radius
	}
	if o.Radius == nil {
		c.options.Shortlist = max(index.Shortlisted(c.k), c.k) // so that there are k hits whenever k items match
	}
	q.compared = make([]int, len(q.names))
	results, err := x.Vectors.rerank(ctx, x, q, newDistance(o.Rerank, m), c)
	if err != nil {
		return nil, err
	}
	return results, q.noteUnknown(results)
}

// unknown counts the shortlisted items without vectors.
type unknown struct {
	items, of int
	first     string
}

// doubt returns a warning for the query with the most items without vectors.
func (u unknown) doubt() string {
	return fmt.Sprintf("%d of %d compared items have no vector without missing values, for instance %q, and come last",
		u.items, u.of, u.first)
}

// noteUnknown returns an error for a query whose hits all lack vectors.
func (q *queries) noteUnknown(results []index.Result) error {
	for i, r := range results {
		if len(r.Hits) > 0 && math.IsInf(r.Hits[0].Score, 1) {
			return inQuery(i, len(results), refused(api.ErrInvalid, fmt.Errorf("%w for the %d items nearest by code, "+
				"for instance %q", ErrNoVectors, q.compared[i], r.Hits[0].ID.String())))
		}
	}
	return nil
}

// ErrNoVectors is returned if a reranking finds no vector of any item.
var ErrNoVectors = errors.New("a reranking needs the items' vectors, but there are none")

// Pass reads vectors that may not fit in memory: one pass over their source serves all queries of a request. Rows are
// matched with items by id, or by row number if they have no ids.
type Pass struct {
	Name string // for errors; empty means none
	// Open opens the source; a request may need it several times.
	Open     func(ctx context.Context) (vectors.Source, error)
	Progress func(rows int) // may be nil
	Done     func()         // called after each pass; may be nil
}

// chunks reads the source.
func (p *Pass) chunks(
	ctx context.Context, dim int, take func(vectors.Chunk) (done bool, err error),
) (err error) {
	defer func() {
		if err != nil && p.Name != "" {
			err = fmt.Errorf("%s: %w", p.Name, err)
		}
	}()
	src, err := p.Open(ctx)
	if err != nil {
		return err
	}
	if p.Done != nil {
		defer p.Done()
	}
	if dim > 0 && src.Dim() != dim {
		return api.Errorf(api.ErrDimension, "the items have vectors of %d dimensions, the query has %d", src.Dim(), dim)
	}
	for chunk, err := range src.Chunks(ctx) {
		if err != nil {
			return err
		}
		done, err := take(chunk)
		if err != nil || done {
			return err
		}
		if p.Progress != nil {
			p.Progress(chunk.First + chunk.X.Rows)
		}
	}
	return nil
}

// Of implements Vectors.
func (p *Pass) Of(ctx context.Context, _ *index.Snapshot, ids map[index.ID]bool) (map[index.ID][]float32, error) {
	found := make(map[index.ID][]float32, len(ids))
	err := p.chunks(ctx, 0, func(chunk vectors.Chunk) (bool, error) {
		for i := range chunk.X.Rows {
			id, err := index.RowID(chunk.IDs, i, chunk.First+i)
			if err != nil {
				return false, err
			}
			if ids[id] {
				found[id] = slices.Clone(chunk.X.Row(i))
			}
		}
		return len(found) == len(ids), nil
	})
	return found, err
}

// ranking holds the nearest items of one query so far.
type ranking struct {
	hits  []index.Hit
	seen  int     // compared items of the shortlist
	bound float64 // higher scores are not among the first k
}

func (p *Pass) rerank(ctx context.Context, x *Items, q *queries, d distance, c cut) ([]index.Result, error) {
	if c.options.Rank != index.ByMargins {
		c.options.Margins = nil // scores decide
	}
	list, err := x.Snapshot.Shortlist(ctx, q.codes, c.radius, c.options)
	if err != nil {
		return nil, err
	}
	all := make([]ranking, len(q.names))
	for i := range all {
		all[i].bound = noVector
		q.compared[i] = list.Len(i)
	}
	var hits []index.Hit
	var rows []int
	err = p.chunks(ctx, len(q.vectors[0]), func(chunk vectors.Chunk) (bool, error) {
		hits, rows = hits[:0], rows[:0]
		for i := range chunk.X.Rows {
			id, err := index.RowID(chunk.IDs, i, chunk.First+i)
			if err != nil {
				return false, err
			}
			if h, ok := list.Meet(id); ok {
				hits, rows = append(hits, h), append(rows, i)
			}
		}
		err := par.For(ctx, x.Threads, len(all), func(i int) {
			for j, h := range hits {
				if h, ok := list.Measured(i, h); ok {
					h.Score = d(i, chunk.X.Row(rows[j]), all[i].bound)
					all[i].add(h, c.k, list)
				}
			}
		})
		return isComplete(all, list), err
	})
	if err != nil {
		return nil, err
	}
	results, worst := make([]index.Result, len(all)), unknown{}
	for i := range all {
		all[i].cut(c.k, list)
		results[i] = index.Result{Hits: all[i].hits, Plan: list.Plan(i)}
		left := list.Len(i) - all[i].seen
		if left == 0 {
			continue
		}
		unmet := list.Unmet(i, max(1, c.k-len(results[i].Hits)))
		if left > worst.items {
			worst = unknown{items: left, of: list.Len(i), first: unmet[0].ID.String()}
		}
		for _, h := range unmet[:min(len(unmet), c.k-len(results[i].Hits))] {
			h.Score = noVector
			results[i].Hits = append(results[i].Hits, h)
		}
	}
	if worst.items > 0 {
		q.doubts = append(q.doubts, worst.doubt())
	}
	return results, nil
}

// isComplete reports whether all items on all shortlists have been compared.
func isComplete(all []ranking, list *index.Shortlist) bool {
	for i := range all {
		if all[i].seen < list.Len(i) {
			return false
		}
	}
	return true
}

// add adds an item of the shortlist. It cuts the hits only now and then.
func (r *ranking) add(h index.Hit, k int, list *index.Shortlist) {
	r.seen++
	if h.Score > r.bound {
		return
	}
	if r.hits = append(r.hits, h); len(r.hits)/2-8 > k {
		r.cut(k, list)
		r.bound = r.hits[k-1].Score
	}
}

// cut keeps the first k hits, sorted.
func (r *ranking) cut(k int, list *index.Shortlist) {
	slices.SortFunc(r.hits, list.Compare)
	r.hits = r.hits[:min(k, len(r.hits))]
}

func isNaN(v float32) bool { return v != v }
