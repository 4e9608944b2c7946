// Rows of a source in memory: all of them, or some drawn at random.

package baseline

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"

	"hashgrove/vectors"
)

// sampleRows reads want rows of a source, drawn at random but in order, or all when there are no more. It reads the source
// once for their number and once for the rows.
func sampleRows(ctx context.Context, x vectors.Source, want int, seed uint64) (vectors.Matrix, error) {
	n, err := countRows(ctx, x)
	if err != nil {
		return vectors.Matrix{}, err
	}
	if n == 0 {
		return vectors.Matrix{}, errors.New("there are no rows to learn from")
	}
	if want >= n {
		return rowsOf(ctx, x, n)
	}
	keep := make([]bool, n)
	for _, i := range draw(n, want, rand.New(rand.NewPCG(seed, 'S'))) {
		keep[i] = true
	}
	return rowsOf(ctx, vectors.Select(x, keep), want)
}

// countRows reads a source for the number of its rows.
func countRows(ctx context.Context, x vectors.Source) (int, error) {
	switch m := x.(type) {
	case vectors.Matrix:
		return m.Rows, nil
	case *remembered:
		return m.x.Rows, nil
	}
	n := 0
	for c, err := range x.Chunks(ctx) {
		if err != nil {
			return 0, err
		}
		n += c.X.Rows
	}
	return n, nil
}

// remembered is a source in memory.
type remembered struct {
	x      vectors.Matrix
	ids    []string
	labels []string
	tags   [][]string
	behind vectors.Source
}

// remember reads all of a source into memory.
func remember(ctx context.Context, src vectors.Source) (*remembered, error) {
	r := &remembered{x: vectors.Matrix{Cols: src.Dim()}, behind: src}
	for c, err := range src.Chunks(ctx) {
		if err != nil {
			return nil, err
		}
		if len(r.x.Data)+len(c.X.Data) > maxValues {
			return nil, fmt.Errorf("more than %d rows of %d values do not fit in memory: learn from fewer rows or reduce to fewer dimensions", r.x.Rows, r.x.Cols)
		}
		r.x.Rows += c.X.Rows
		r.x.Data = append(r.x.Data, c.X.Data...)
		r.ids = append(r.ids, c.IDs...)
		r.labels = append(r.labels, c.Labels...)
		for _, t := range c.Tags {
			r.tags = append(r.tags, slices.Clone(t))
		}
	}
	return r, nil
}

// Unwrap lends the source that was read, for whatever it knows besides rows.
func (r *remembered) Unwrap() vectors.Source { return r.behind }

// Dim implements vectors.Source.
func (r *remembered) Dim() int { return r.x.Cols }

// Chunks implements vectors.Source.
func (r *remembered) Chunks(ctx context.Context) iter.Seq2[vectors.Chunk, error] {
	return func(yield func(vectors.Chunk, error) bool) {
		for c, err := range r.x.Chunks(ctx) {
			lo, hi := c.First, c.First+c.X.Rows
			if r.ids != nil {
				c.IDs = r.ids[lo:hi]
			}
			if r.labels != nil {
				c.Labels = r.labels[lo:hi]
			}
			if r.tags != nil {
				c.Tags = r.tags[lo:hi]
			}
			if !yield(c, err) {
				return
			}
		}
	}
}
