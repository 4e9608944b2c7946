package engine

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"hashgrove/internal/fault"
	"hashgrove/internal/index"
)

// Loader is an engine whose own tools can load items from files, for offline import or if direct writes are not
// allowed. Such a file holds what a push would have sent.
type Loader interface {
	// Layouts returns the file forms for codes of a space. It needs no connection.
	Layouts(s Space) []Layout
}

// Layout is one form of bulk file: text with a piece per item, or a table such as Parquet, which the caller writes.
type Layout struct {
	Name string // of the form, also the file extension
	Load string // how to load the file; FILE stands for its name

	// For text: what precedes and follows the items, and how to append one.
	Head, Tail string
	Append     func(dst []byte, b *index.Batch, i int) ([]byte, error)

	// For text with items in groups, such as request bodies: the maximum size of a group (0 means a single group),
	// and what comes before, between and after the items of a group.
	Group                int
	Open, Between, Close string

	// For a table: the column names, a value of each column's type, and the values of an item, nil if absent. The
	// types are string, int64, float64, []string, []byte, []int8 and []float32.
	Columns []string
	Samples []any
	Row     func(b *index.Batch, i int) ([]any, error)
}

// IsTable reports whether items are rows of a table.
func (l Layout) IsTable() bool { return l.Row != nil }

// WriteText writes the items of a source as text, in bounded memory, and returns their number. progress may be nil.
func (l Layout) WriteText(ctx context.Context, w io.Writer, s Source, progress func(done int)) (int, error) {
	out := bufio.NewWriterSize(w, 1<<16)
	if _, err := out.WriteString(l.Head); err != nil {
		return 0, err
	}
	var line []byte
	written := 0
	n, err := l.each(ctx, s, progress, func(b *index.Batch, i int) (err error) {
		if line, err = l.Append(append(line[:0], l.before(written)...), b, i); err != nil {
			return err
		}
		written++
		_, err = out.Write(line)
		return err
	})
	if err != nil {
		return n, err
	}
	end := l.Tail
	if n > 0 {
		end = l.Close + end
	}
	if _, err := out.WriteString(end); err != nil {
		return n, err
	}
	return n, out.Flush()
}

// before returns what comes before item n.
func (l Layout) before(n int) string {
	switch {
	case n == 0:
		return l.Open
	case l.Group > 0 && n%l.Group == 0:
		return l.Close + l.Open
	}
	return l.Between
}

// WriteRows passes the items of a source as table rows to put, in bounded memory, and returns their number. progress
// may be nil.
func (l Layout) WriteRows(ctx context.Context, s Source, progress func(done int), put func([]any) error) (int, error) {
	return l.each(ctx, s, progress, func(b *index.Batch, i int) error {
		row, err := l.Row(b, i)
		if err != nil {
			return err
		}
		return put(row)
	})
}

// each validates the items of a source and passes them on.
func (l Layout) each(
	ctx context.Context, s Source, progress func(done int), take func(b *index.Batch, i int) error,
) (n int, err error) {
	var ids identities
	err = s.Each(ctx, func(b *index.Batch) error {
		if err := b.Check(s.Bits); err != nil {
			return err
		}
		for i, id := range b.IDs {
			if !s.Unique && !ids.add(id) {
				return fault.New("duplicate-id", "item %d: duplicate id %q", n, shortened(id))
			}
			if err := take(b, i); err != nil {
				return fmt.Errorf("item %d (id %q): %w", n, shortened(id), err)
			}
			n++
		}
		if progress != nil {
			progress(n)
		}
		return ctx.Err()
	})
	return n, err
}
