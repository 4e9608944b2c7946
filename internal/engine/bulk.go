package engine

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"hashgrove/internal/fault"
	"hashgrove/internal/index"
)

// Loader is an engine whose own programs load items from files: for offline import, or where nobody may write from
// outside. Such a file holds what a push would have sent.
type Loader interface {
	// Layouts tells which forms of files there are for codes of a space. It needs no connection.
	Layouts(s Space) []Layout
}

// Layout is one form of such files: a text with a piece for every item, or a table that others write, as Parquet.
type Layout struct {
	Name string // of the form, which is also how names of such files end
	Load string // how the file is loaded, where FILE stands for its name

	// Of a text: what comes before and after the items, and each of them.
	Head, Tail string
	Append     func(dst []byte, b *index.Batch, i int) ([]byte, error)

	// Of a text whose items stand in groups, as in the bodies of requests: how many a group has at most, 0 for one group
	// of all, and what comes before, between and after those of a group.
	Group                int
	Open, Between, Close string

	// Of a table: the names of the columns, a value of each one's type, and the values of an item, nil where it has
	// none. The types are string, int64, float64, []string, []byte, []int8 and []float32.
	Columns []string
	Samples []any
	Row     func(b *index.Batch, i int) ([]any, error)
}

// IsTable tells whether items are rows of a table.
func (l Layout) IsTable() bool { return l.Row != nil }

// WriteText writes the items of a source in a layout that is a text, in bounded memory, and returns how many there are.
// Progress may be nil.
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

// before is what comes before item n.
func (l Layout) before(n int) string {
	switch {
	case n == 0:
		return l.Open
	case l.Group > 0 && n%l.Group == 0:
		return l.Close + l.Open
	}
	return l.Between
}

// WriteRows hands over the items of a source in a layout that is a table, in bounded memory, and returns how many there
// are. Progress may be nil.
func (l Layout) WriteRows(ctx context.Context, s Source, progress func(done int), put func([]any) error) (int, error) {
	return l.each(ctx, s, progress, func(b *index.Batch, i int) error {
		row, err := l.Row(b, i)
		if err != nil {
			return err
		}
		return put(row)
	})
}

// each checks and hands over the items of a source.
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
				return fault.New("duplicate-id", "item %d: the id %q is there twice", n, shortened(id))
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
