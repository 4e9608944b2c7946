// Package vectors holds rows of float32 values and their quantised form, which all other packages build on.
//
//	Matrix, Table       rows in memory, alone or with their labels, tags and ids
//	Source, Chunk       rows in order, any number of times, in bounded memory
//	Schema              what a source knows about its rows
//	Cached              rows that are computed once, then read from memory or disk
//	Ranges, Quantizer   256 bins per column: linear, or at quantiles if outliers would waste them
//	Columns             quantised rows, one byte per value, column by column
//	RowHash             identifies a row by its values
//	Spill               arrays that grow with the rows, in memory or in files
package vectors

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"hashgrove/internal/message"
)

// Matrix is a dense matrix in memory, stored row by row.
type Matrix struct {
	Rows, Cols int
	Data       []float32 // len Rows*Cols
}

// Mean returns the mean of every column, summed in row order.
func (m Matrix) Mean() []float32 {
	sum := make([]float64, m.Cols)
	for i := range m.Rows {
		for j, v := range m.Row(i) {
			sum[j] += float64(v)
		}
	}
	mean := make([]float32, m.Cols)
	for j, s := range sum {
		mean[j] = float32(s / float64(m.Rows))
	}
	return mean
}

// Row returns row i without copying it.
func (m Matrix) Row(i int) []float32 { return m.Data[i*m.Cols : (i+1)*m.Cols : (i+1)*m.Cols] }

// Slice returns rows lo to hi without copying them.
func (m Matrix) Slice(lo, hi int) Matrix {
	return Matrix{Rows: hi - lo, Cols: m.Cols, Data: m.Data[lo*m.Cols : hi*m.Cols : hi*m.Cols]}
}

// CheckValues returns an error for the first value that is infinite, or NaN unless values may be missing, counting rows
// as the source does.
func (c Chunk) CheckValues(missing bool) error {
	for i, v := range c.X.Data {
		if v-v != 0 && !(missing && v != v) { // 0 for finite values only
			return message.New("not-finite", "row %d, column %d: %v is not a finite number", c.First+i/c.X.Cols, i%c.X.Cols, v)
		}
	}
	return nil
}

// Chunk is a run of consecutive rows of a Source. It is valid only until the next chunk.
type Chunk struct {
	First int    // number of X's first row in the source, from 0
	X     Matrix // the vectors: finite, or NaN if the source was asked for missing values

	// One entry per row of X, or nil if the source has none.
	IDs    []string
	Labels []string
	Tags   [][]string

	Places []int // of a Set: each row's number in the files, counting bad rows too
}

// Source yields vectors in order, any number of times, in bounded memory.
type Source interface {
	// Dim returns the length of every vector.
	Dim() int
	// Schema describes the rows; the zero value says nothing.
	Schema() Schema
	// Chunks yields all rows in order. It yields nothing after an error.
	Chunks(ctx context.Context) iter.Seq2[Chunk, error]
}

// CheckRows returns an error if a source has a different number of rows than before.
func CheckRows(rows, counted int) error {
	switch {
	case rows > counted:
		return message.New("file-changed",
			"the data have more than the %d rows seen before: did a file change while it was read?", counted)
	case rows < counted:
		return message.New("file-changed",
			"the data have %d rows, not the %d seen before: did a file change while it was read?", rows,
			counted)
	}
	return nil
}

// ChunkRows returns how many rows of the given width make a chunk of about a megabyte; for wide rows 64, but never more
// than 64 megabytes or one row: rows of millions of values can come from a few bytes.
func ChunkRows(cols int) int {
	cols = max(cols, 1)
	return min(max(1<<18/cols, 64), max(1<<24/cols, 1), 8192)
}

// Dim implements Source.
func (m Matrix) Dim() int { return m.Cols }

// Schema implements Source.
func (m Matrix) Schema() Schema { return Schema{} }

// Chunks implements Source.
func (m Matrix) Chunks(ctx context.Context) iter.Seq2[Chunk, error] { return Table{X: m}.Chunks(ctx) }

// Pick returns a Source of some columns of src, in the given order.
func Pick(src Source, columns []int) Source { return picked{src, columns} }

type picked struct {
	Source
	columns []int
}

// Schema implements Source, with the names of the picked columns.
func (p picked) Schema() Schema {
	s := p.Source.Schema()
	if s.Names != nil {
		names := make([]string, len(p.columns))
		for i, j := range p.columns {
			names[i] = s.Names[j]
		}
		s.Names = names
	}
	return s
}

func (p picked) Dim() int { return len(p.columns) }

func (p picked) Chunks(ctx context.Context) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		var x []float32
		for c, err := range p.Source.Chunks(ctx) {
			x = x[:0]
			for i := range c.X.Rows {
				row := c.X.Row(i)
				for _, j := range p.columns {
					x = append(x, row[j])
				}
			}
			c.X = Matrix{Rows: c.X.Rows, Cols: len(p.columns), Data: x}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// Select returns a Source of the rows of src whose entry in keep is true, renumbered. src must have exactly len(keep)
// rows.
func Select(src Source, keep []bool) Source { return selection{src, keep} }

type selection struct {
	src  Source
	keep []bool
}

func (s selection) Dim() int { return s.src.Dim() }

func (s selection) Schema() Schema { return s.src.Schema() }

func (s selection) Chunks(ctx context.Context) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		var out Chunk
		seen := 0
		for c, err := range s.src.Chunks(ctx) {
			if err != nil {
				yield(Chunk{}, err)
				return
			}
			if seen = c.First + c.X.Rows; seen > len(s.keep) {
				break
			}
			out.First += out.X.Rows
			c.Only(s.keep[c.First:seen], &out)
			if out.X.Rows > 0 && !yield(out, nil) {
				return
			}
		}
		if err := CheckRows(seen, len(s.keep)); err != nil {
			yield(Chunk{}, err)
		}
	}
}

// Only copies the kept rows of a chunk into out, reusing its memory.
func (c Chunk) Only(keep []bool, out *Chunk) {
	out.X = Matrix{Cols: c.X.Cols, Data: out.X.Data[:0]}
	for i, k := range keep {
		if k {
			out.X.Rows++
			out.X.Data = append(out.X.Data, c.X.Row(i)...)
		}
	}
	out.IDs = appendKept(out.IDs[:0], c.IDs, keep)
	out.Labels = appendKept(out.Labels[:0], c.Labels, keep)
	out.Tags = appendKept(out.Tags[:0], c.Tags, keep)
}

// appendKept appends the kept entries of a list, which may be nil.
func appendKept[T any](dst, list []T, keep []bool) []T {
	for i, v := range list {
		if keep[i] {
			dst = append(dst, v)
		}
	}
	return dst
}

// Slice returns rows lo to hi of the chunk without copying them.
func (c Chunk) Slice(lo, hi int) Chunk {
	return Chunk{
		First: c.First + lo, X: c.X.Slice(lo, hi),
		IDs: between(c.IDs, lo, hi), Labels: between(c.Labels, lo, hi),
		Tags: between(c.Tags, lo, hi), Places: between(c.Places, lo, hi),
	}
}

// between returns entries lo to hi of a list, which may be nil.
func between[T any](list []T, lo, hi int) []T {
	if list == nil {
		return nil
	}
	return list[lo:hi]
}

// Append copies the rows of another chunk to the end of c.
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

// Table is a Source of rows in memory with their labels, tags and ids. Lists that are not nil have an entry per row.
type Table struct {
	X      Matrix
	IDs    []string
	Labels []string
	Tags   [][]string
	Known  Schema // what else is known of the rows, such as the names of the columns
}

// WithLabels returns a table of rows with labels.
func WithLabels(m Matrix, labels []string) Table { return Table{X: m, Labels: labels} }

// CheckLengths returns an error for lists that do not have an entry per row.
func (t Table) CheckLengths() error {
	switch {
	case t.IDs != nil && len(t.IDs) != t.X.Rows:
		return fmt.Errorf("%d ids for %d rows", len(t.IDs), t.X.Rows)
	case t.Labels != nil && len(t.Labels) != t.X.Rows:
		return fmt.Errorf("%d labels for %d rows", len(t.Labels), t.X.Rows)
	case t.Tags != nil && len(t.Tags) != t.X.Rows:
		return fmt.Errorf("%d sets of tags for %d rows", len(t.Tags), t.X.Rows)
	}
	if x := t.X; x.Rows < 0 || x.Cols < 0 || len(x.Data) != x.Rows*x.Cols {
		return fmt.Errorf("a matrix of %d rows and %d columns has %d values instead of %d: the values end in row %d, "+
			"column %d",
			x.Rows, x.Cols, len(x.Data), x.Rows*x.Cols, len(x.Data)/max(x.Cols, 1), len(x.Data)%max(x.Cols, 1))
	}
	return nil
}

// maxValues is the most values that Read holds in memory: 16 GB of float32.
const maxValues = 1 << 32

// Read reads all of a source into memory.
func Read(ctx context.Context, src Source) (Table, error) {
	all := Chunk{X: Matrix{Cols: src.Dim()}}
	for c, err := range src.Chunks(ctx) {
		if err != nil {
			return Table{}, err
		}
		if int64(len(all.X.Data)+len(c.X.Data)) > maxValues {
			return Table{}, fmt.Errorf("more than %d rows of %d values do not fit in memory: take fewer rows or reduce them to "+
				"fewer dimensions", all.X.Rows, all.X.Cols)
		}
		all.Append(c)
	}
	return Table{X: all.X, IDs: all.IDs, Labels: all.Labels, Tags: all.Tags}, nil
}

// Dim implements Source.
func (t Table) Dim() int { return t.X.Cols }

// Schema implements Source.
func (t Table) Schema() Schema { return t.Known }

// Chunks implements Source.
func (t Table) Chunks(ctx context.Context) iter.Seq2[Chunk, error] {
	all := Chunk{X: t.X, IDs: t.IDs, Labels: t.Labels, Tags: t.Tags}
	return func(yield func(Chunk, error) bool) {
		if err := t.CheckLengths(); err != nil {
			yield(Chunk{}, err)
			return
		}
		step := ChunkRows(t.X.Cols)
		for lo := 0; lo < t.X.Rows; lo += step {
			if ctx.Err() != nil {
				yield(Chunk{}, context.Cause(ctx))
				return
			}
			if !yield(all.Slice(lo, min(lo+step, t.X.Rows)), nil) {
				return
			}
		}
	}
}
