package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"hashgrove/api"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/message"
	"hashgrove/internal/par"
	"hashgrove/internal/vectors"
)

// Vectors provides the vectors of items as the model sees them. It is a Table or a Pass.
type Vectors interface {
	// Of returns the known vectors of some items of a snapshot, which must have dim dimensions, or any number if it is 0.
	Of(ctx context.Context, s *index.Snapshot, ids map[index.ID]bool, dim int) (map[index.ID][]float32, error)
}

// noVector is the score of an item without a known vector: it comes last.
var noVector = math.Inf(1)

// tableQueries is the number of queries that are answered at a time if vectors are in memory: each may have many items
// at one distance.
const tableQueries = 64

// byVectors orders what codes find by the distance of vectors. A reranking orders all items on a shortlist; those
// without a vector come last, and it is an error if none of a query's items has one. Otherwise only items at the same
// distance are ordered: codes say which items belong together, and vectors which of those are most alike.
//
//	search for the shortlist, or for k items and all that tie with the last
//	order by the vectors, or by the codes and then by the vectors; then by id
//	keep k
func (x *Items) byVectors(
	ctx context.Context, q *queries, k int, o *api.Options, io index.Options,
) ([]index.Result, error) {
	m, err := x.comparable(q, o)
	if err != nil {
		return nil, err
	}
	size := tableQueries
	if _, reads := x.Vectors.(*Pass); reads {
		size = m.Rows // it reads everything, once for all queries
	}
	q.compared = make([]int, m.Rows)
	results := make([]index.Result, 0, m.Rows)
	missing, margins := make([]unknown, m.Rows), io.Margins
	for lo := 0; lo < m.Rows; lo += size {
		hi := min(lo+size, m.Rows)
		codes := q.codes
		codes.Data = codes.Data[lo*codes.Words : hi*codes.Words]
		if margins != nil {
			io.Margins = margins[lo*codes.Bits : hi*codes.Bits]
		}
		found, err := x.candidates(ctx, codes, k, o, io)
		if err != nil {
			return nil, err
		}
		known, err := x.vectorsOfHits(ctx, found, m.Cols)
		if err != nil {
			return nil, err
		}
		err = par.For(ctx, x.threads(len(found)), len(found), func(i int) {
			hits := found[i].Hits
			q.compared[lo+i], missing[lo+i] = len(hits), setScores(hits, known, o.Rerank, m.Row(lo+i))
			slices.SortStableFunc(hits, func(a, b index.Hit) int {
				if o.Rerank != "" {
					return cmp.Compare(a.Score, b.Score)
				}
				return cmp.Or(cmp.Compare(x.apart(q, &a), x.apart(q, &b)), cmp.Compare(a.Score, b.Score))
			})
			if k > 0 && k < len(hits) {
				found[i].Hits = slices.Clone(hits[:k])
			}
		})
		if err != nil {
			return nil, err
		}
		results = append(results, found...)
	}
	if o.Rerank == "" {
		return results, nil
	}
	err = q.noteUnknown(results, missing)
	if p, reads := x.Vectors.(*Pass); reads && p.numbered.Load() && errors.Is(err, ErrNoVectors) {
		err = message.New("rows-without-ids", "%w: its rows were matched by number, because they have no ids: give them ids",
			err)
	}
	return results, err
}

// comparable returns the vectors of the queries, or an error if they or those of the items cannot be compared.
func (x *Items) comparable(q *queries, o *api.Options) (vectors.Matrix, error) {
	field := "rerank"
	if o.Rerank == "" {
		field = "ties"
	}
	if x.Vectors == nil {
		return vectors.Matrix{}, api.Errorf(api.ErrUnsupported,
			"the items' vectors are not available here, so hits cannot be ordered by them")
	}
	m, err := x.matrix(q, field, "ordering hits by vectors needs the vectors of the queries, but this one has none")
	if err == nil && slices.ContainsFunc(m.Data, isNaN) {
		err = invalid("queries", "a query has missing values, but distances between vectors need all of them: "+
			"compare codes alone, or fill in the values")
	}
	return m, err
}

// candidates returns the items whose vectors are compared.
func (x *Items) candidates(
	ctx context.Context, codes hamming.Codes, k int, o *api.Options, io index.Options,
) ([]index.Result, error) {
	if o.Rerank == "" {
		io.Whole = true
		return x.byCodes(ctx, codes, k, o, io)
	}
	if io.Ties = false; io.Rank != index.ByMargins {
		io.Margins = nil // scores decide
	}
	if o.Radius == nil {
		io.Shortlist = max(index.Shortlisted(k), k) // so that there are k hits whenever k items match
	}
	return x.byCodes(ctx, codes, 0, o, io)
}

// vectorsOfHits returns the known vectors of all items that were found.
func (x *Items) vectorsOfHits(
	ctx context.Context, found []index.Result, dim int,
) (map[index.ID][]float32, error) {
	ids := map[index.ID]bool{}
	for _, r := range found {
		for _, h := range r.Hits {
			ids[h.ID] = true
		}
	}
	return x.Vectors.Of(ctx, x.Snapshot, ids, dim)
}

// setScores sets the distances of items from a query, and counts the items without a vector or with a missing value.
func setScores(hits []index.Hit, known map[index.ID][]float32, name string, query []float32) unknown {
	missing := unknown{of: len(hits)}
	for i := range hits {
		h := &hits[i]
		h.Score = noVector
		if y := known[h.ID]; y != nil {
			h.Score = distance(name, query, y)
		}
		if math.IsInf(h.Score, 1) {
			if missing.items++; missing.items == 1 {
				missing.first = h.ID.String()
			}
		}
	}
	return missing
}

// unknown counts the shortlisted items of a query that have no vector.
type unknown struct {
	items, of int
	first     string
}

// noteUnknown notes the query with the most items without vectors. It returns an error for one whose items all lack
// them.
func (q *queries) noteUnknown(results []index.Result, missing []unknown) error {
	worst := unknown{}
	for i, u := range missing {
		if len(results[i].Hits) > 0 && u.items == u.of {
			return inQuery(i, len(results), refused(api.ErrInvalid, fmt.Errorf("%w for the %d items nearest by code, "+
				"for instance %q", ErrNoVectors, u.of, u.first)))
		}
		if u.items > worst.items {
			worst = u
		}
	}
	if worst.items > 0 {
		q.doubts = append(q.doubts, fmt.Sprintf("%d of %d compared items have no vector without missing values, "+
			"for instance %q, and come last", worst.items, worst.of, worst.first))
	}
	return nil
}

// ErrNoVectors is returned if a reranking finds no vector of any item.
var ErrNoVectors = errors.New("a reranking needs the items' vectors, but there are none")

// Pass reads vectors from a source, in one pass for all queries of a request. Rows are matched with items by id, or by
// row number if they have no ids.
type Pass struct {
	// Open opens the source; a request may need it several times.
	Open     func(ctx context.Context) (vectors.Source, error)
	Progress func(rows int) // may be nil

	numbered atomic.Bool // the rows last read have no ids
}

// Of implements Vectors.
func (p *Pass) Of(
	ctx context.Context, _ *index.Snapshot, ids map[index.ID]bool, dim int,
) (found map[index.ID][]float32, err error) {
	src, err := p.Open(ctx)
	if err != nil {
		return nil, err
	}
	if dim > 0 && src.Dim() != dim {
		return nil, api.Errorf(api.ErrDimension, "the items have vectors of %d dimensions, the query has %d", src.Dim(), dim)
	}
	found = make(map[index.ID][]float32, len(ids))
	for chunk, err := range src.Chunks(ctx) {
		if err != nil {
			return nil, err
		}
		p.numbered.Store(chunk.IDs == nil)
		for i := range chunk.X.Rows {
			id, err := index.RowID(chunk.IDs, i, chunk.First+i)
			if err != nil {
				return nil, err
			}
			if ids[id] && found[id] == nil { // the first row counts
				found[id] = slices.Clone(chunk.X.Row(i))
			}
		}
		if len(found) == len(ids) {
			break
		}
		if p.Progress != nil {
			p.Progress(chunk.First + chunk.X.Rows)
		}
	}
	return found, nil
}

func isNaN(v float32) bool { return v != v }
