package items

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"hashgrove/internal/fault"
	"hashgrove/internal/index"
	"hashgrove/internal/par"
	"hashgrove/internal/vectors"
)

// Reranking says how Rerank orders items.
type Reranking struct {
	K        int    // hits of a query
	Distance string // euclidean or cosine
	Threads  int
	Progress func(rows int)
}

// ranking is the nearest items of one query so far.
type ranking struct {
	hits  []index.Hit
	seen  int     // items of the shortlist that were compared
	bound float64 // a score beyond it is not among the first k

	byMargins bool // of the shortlist
}

// Rerank orders the items on the shortlists of the queries by the distance of their vectors and returns the first k of
// each query. It reads the vectors in one pass, by id, or by the number of the row where they have no ids, and keeps
// only the hits in memory. An item without a vector is left out and told of, but k items must be left where there are
// as many.
func Rerank(
	ctx context.Context, src vectors.Source, list *index.Shortlist, q *Queries, o Reranking,
) ([]index.Result, *Missing, error) {
	distance, err := newDistance(o.Distance, q.Vectors)
	if err != nil {
		return nil, nil, err
	}
	if slices.ContainsFunc(q.Vectors.Data, isNaN) {
		return nil, nil, errors.New("a query has missing values, and distances of vectors need every value: compare codes " +
			"alone, or fill the values in")
	}
	if src.Dim() != q.Vectors.Cols {
		return nil, nil, fault.New("wrong-dimension", "the items have vectors of %d dimensions, the query has %d", src.Dim(),
			q.Vectors.Cols)
	}
	all := make([]ranking, q.Vectors.Rows)
	for i := range all {
		all[i].bound, all[i].byMargins = math.Inf(1), list.ByMargins()
	}
	var hits []index.Hit
	var rows []int
	for chunk, err := range src.Chunks(ctx) {
		if err != nil {
			return nil, nil, err
		}
		hits, rows = hits[:0], rows[:0]
		for i := range chunk.X.Rows {
			id, err := rowID(chunk, i, chunk.First+i)
			if err != nil {
				return nil, nil, err
			}
			if h, ok := list.Meet(id); ok {
				hits, rows = append(hits, h), append(rows, i)
			}
		}
		err = par.For(ctx, o.Threads, len(all), func(i int) {
			for j, h := range hits {
				if h, ok := list.Measured(i, h); ok {
					h.Score = distance(i, chunk.X.Row(rows[j]), all[i].bound)
					all[i].add(h, o.K)
				}
			}
		})
		if err != nil {
			return nil, nil, err
		}
		o.Progress(chunk.First + chunk.X.Rows)
		if isComplete(all, list) {
			break
		}
	}
	results := make([]index.Result, len(all))
	var missing *Missing
	for i := range all {
		if left := list.Len(i) - all[i].seen; left > 0 {
			id, _ := list.Missing(i)
			if all[i].seen < min(o.K, list.Len(i)) {
				return nil, nil, fmt.Errorf("query %d: %w %q", i, ErrNoVector, id.String())
			}
			if missing == nil || left > missing.Items {
				missing = &Missing{Items: left, Of: list.Len(i), First: id}
			}
		}
		all[i].cut(o.K)
		results[i].Hits = all[i].hits
	}
	return results, missing, nil
}

// ErrNoVector is an item that is needed and has no vector.
var ErrNoVector = errors.New("there is no vector of the item")

// Missing is items of a shortlist, the most of any query, that have no vectors and so could not be found.
type Missing struct {
	Items, Of int
	First     index.ID
}

// isComplete reports whether all items on all shortlists were compared.
func isComplete(all []ranking, list *index.Shortlist) bool {
	for i := range all {
		if all[i].seen < list.Len(i) {
			return false
		}
	}
	return true
}

// add takes an item of the shortlist. The hits are cut now and then, not each time.
func (r *ranking) add(h index.Hit, k int) {
	r.seen++
	if h.Score > r.bound {
		return
	}
	if r.hits = append(r.hits, h); len(r.hits)/2-8 > k {
		r.cut(k)
		r.bound = r.hits[k-1].Score
	}
}

// cut keeps the first k hits in order: by score, then by the distance that codes were ranked by, then by id.
func (r *ranking) cut(k int) {
	slices.SortFunc(r.hits, func(a, b index.Hit) int {
		c := cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(a.MarginDistance, b.MarginDistance))
		if !r.byMargins {
			c = cmp.Or(c, cmp.Compare(a.Distance, b.Distance))
		}
		if c != 0 {
			return c
		}
		return a.ID.Compare(b.ID)
	})
	r.hits = r.hits[:min(k, len(r.hits))]
}

// Distance is the distance of vectors from a query, by its name: euclidean or cosine.
func Distance(name string, query []float32) (func(y []float32) float64, error) {
	d, err := newDistance(name, vectors.Matrix{Rows: 1, Cols: len(query), Data: query})
	if err != nil {
		return nil, err
	}
	return func(y []float32) float64 { return d(0, y, math.Inf(1)) }, nil
}

// errDistance is the error about a distance of another name.
var errDistance = errors.New("the distances are euclidean and cosine")

// newDistance is the distance of a vector from query i; what is certain to be above the bound may come out as infinity.
func newDistance(name string, queries vectors.Matrix) (func(i int, y []float32, bound float64) float64, error) {
	switch name {
	case "euclidean":
		return func(i int, y []float32, bound float64) float64 { return euclidean(queries.Row(i), y, bound) }, nil
	case "cosine":
		return func(i int, y []float32, _ float64) float64 { return cosine(queries.Row(i), y) }, nil
	}
	return nil, errDistance
}

// euclidean is the distance of two vectors, or infinity where it is above the bound: most items are far away, and the
// first values show it.
func euclidean(x, y []float32, bound float64) float64 {
	const step = 32
	most := float64(bound*bound) * (1 + 1e-9) // no rounding may hide an item at the bound
	var s0, s1, s2, s3 float64                // four sums, because each addition waits for the one before
	for len(x) >= step && len(y) >= step {
		a, b := x[:step], y[:step]
		for j := 0; j < step; j += 4 {
			d0, d1 := float64(a[j])-float64(b[j]), float64(a[j+1])-float64(b[j+1])
			d2, d3 := float64(a[j+2])-float64(b[j+2]), float64(a[j+3])-float64(b[j+3])
			s0, s1, s2, s3 = s0+float64(d0*d0), s1+float64(d1*d1), s2+float64(d2*d2), s3+float64(d3*d3)
		}
		if s0+s1+s2+s3 > most {
			return math.Inf(1)
		}
		x, y = x[step:], y[step:]
	}
	sum := s0 + s1 + s2 + s3
	for j, a := range x {
		d := float64(a) - float64(y[j])
		sum += float64(d * d)
	}
	return math.Sqrt(sum)
}

// cosine is 1 less the cosine of the angle; a vector of zeros is at a right angle to everything.
func cosine(x, y []float32) float64 {
	xy, xx, yy := 0.0, 0.0, 0.0
	for j := range x {
		a, b := float64(x[j]), float64(y[j])
		xy += float64(a * b)
		xx += float64(a * a)
		yy += float64(b * b)
	}
	if xx == 0 || yy == 0 {
		return 1
	}
	return max(0, 1-xy/(math.Sqrt(xx)*math.Sqrt(yy))) // rounding can make the cosine of equal directions more than 1
}
