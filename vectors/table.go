package vectors

import (
	"context"
	"fmt"
	"iter"
	"slices"
)

// Table is rows in memory with what is known about each: a Source. Lists that are not nil have an entry for every row.
type Table struct {
	X      Matrix
	IDs    []string
	Labels []string
	Tags   [][]string
}

// WithLabels is a matrix whose rows have labels.
func WithLabels(m Matrix, labels []string) Table { return Table{X: m, Labels: labels} }

// Check reports values that are missing or not finite, and lists of another length than the rows.
func (t Table) Check() error {
	if err := t.checkLengths(); err != nil {
		return err
	}
	return Chunk{X: t.X}.CheckFinite()
}

// checkLengths reports what does not have an entry for every row.
func (t Table) checkLengths() error {
	switch {
	case t.IDs != nil && len(t.IDs) != t.X.Rows:
		return fmt.Errorf("%d ids for %d rows", len(t.IDs), t.X.Rows)
	case t.Labels != nil && len(t.Labels) != t.X.Rows:
		return fmt.Errorf("%d labels for %d rows", len(t.Labels), t.X.Rows)
	case t.Tags != nil && len(t.Tags) != t.X.Rows:
		return fmt.Errorf("%d sets of tags for %d rows", len(t.Tags), t.X.Rows)
	}
	return t.X.checkLength()
}

// MaxValues is the number of values that Read keeps in memory at most: 16 GB of float32.
const MaxValues = 1 << 32

// Read reads all of a source into memory.
func Read(ctx context.Context, src Source) (Table, error) {
	t := Table{X: Matrix{Cols: src.Dim()}}
	for c, err := range src.Chunks(ctx) {
		if err != nil {
			return Table{}, err
		}
		if len(t.X.Data)+len(c.X.Data) > MaxValues {
			return Table{}, fmt.Errorf("more than %d rows of %d values do not fit in memory: take fewer rows or reduce them to "+
				"fewer dimensions", t.X.Rows, t.X.Cols)
		}
		t.X.Rows += c.X.Rows
		t.X.Data = append(t.X.Data, c.X.Data...)
		t.IDs = append(t.IDs, c.IDs...)
		t.Labels = append(t.Labels, c.Labels...)
		for _, tags := range c.Tags {
			t.Tags = append(t.Tags, slices.Clone(tags))
		}
	}
	return t, nil
}

// Dim makes Table a Source.
func (t Table) Dim() int { return t.X.Cols }

// Chunks makes Table a Source.
func (t Table) Chunks(ctx context.Context) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		if err := t.checkLengths(); err != nil {
			yield(Chunk{}, err)
			return
		}
		for c, err := range t.X.Chunks(ctx) {
			if err == nil {
				c = t.describe(c)
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// describe adds what is known about the rows of a chunk.
func (t Table) describe(c Chunk) Chunk {
	lo, hi := c.First, c.First+c.X.Rows
	if t.IDs != nil {
		c.IDs = t.IDs[lo:hi]
	}
	if t.Labels != nil {
		c.Labels = t.Labels[lo:hi]
	}
	if t.Tags != nil {
		c.Tags = t.Tags[lo:hi]
	}
	return c
}
