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
	if err := t.CheckLengths(); err != nil {
		return err
	}
	return Chunk{X: t.X}.CheckFinite()
}

// CheckLengths reports what does not have an entry for every row.
func (t Table) CheckLengths() error {
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

// maxValues is the number of values that Read keeps in memory at most: 16 GB of float32.
const maxValues = 1 << 32

// Read reads all of a source into memory.
func Read(ctx context.Context, src Source) (Table, error) {
	all := Chunk{X: Matrix{Cols: src.Dim()}}
	for c, err := range src.Chunks(ctx) {
		if err != nil {
			return Table{}, err
		}
		if len(all.X.Data)+len(c.X.Data) > maxValues {
			return Table{}, fmt.Errorf("more than %d rows of %d values do not fit in memory: take fewer rows or reduce them to "+
				"fewer dimensions", all.X.Rows, all.X.Cols)
		}
		all.Append(c)
	}
	return Table{all.X, all.IDs, all.Labels, all.Tags}, nil
}

// Dim makes Table a Source.
func (t Table) Dim() int { return t.X.Cols }

// Chunks makes Table a Source.
func (t Table) Chunks(ctx context.Context) iter.Seq2[Chunk, error] {
	all := Chunk{X: t.X, IDs: t.IDs, Labels: t.Labels, Tags: t.Tags}
	return func(yield func(Chunk, error) bool) {
		if err := t.CheckLengths(); err != nil {
			yield(Chunk{}, err)
			return
		}
		for c, err := range t.X.Chunks(ctx) {
			if err == nil {
				c = all.Slice(c.First, c.First+c.X.Rows)
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// Append copies the rows of a lent chunk behind those of c.
func (c *Chunk) Append(lent Chunk) {
	c.X.Cols = lent.X.Cols
	c.X.Rows += lent.X.Rows
	c.X.Data = append(c.X.Data, lent.X.Data...)
	c.IDs = append(c.IDs, lent.IDs...)
	c.Labels = append(c.Labels, lent.Labels...)
	for _, tags := range lent.Tags {
		c.Tags = append(c.Tags, slices.Clone(tags))
	}
	c.Places = append(c.Places, lent.Places...)
}
