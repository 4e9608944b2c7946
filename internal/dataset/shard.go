package dataset

import (
	"cmp"
	"context"
	"errors"
	"io"

	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
)

// A shard is a run of the rows of a set, including bad ones. Formats with rows of fixed length are read from the first
// row of the shard; in others the rows before it are skipped without decoding them. Files before and after the shard
// are not read, once their rows are counted.

// span holds the rows that a set is limited to, counted over all files, if it is.
type span struct {
	first, end int
	set        bool
}

// TakeShard limits all later passes to one of several shards of the rows. If a file does not say how many rows it has,
// they are counted first. Data that can be read only once cannot be divided.
func (s *Set) TakeShard(ctx context.Context, number, of int) (hamming.Shard, error) {
	if of < 1 || of > hamming.MaxShards || number < 1 || number > of {
		return hamming.Shard{}, message.New("no-such-shard",
			"there is no shard %d of %d: shards count from 1, and at most %d are possible",
			number, of, hamming.MaxShards)
	}
	if s.Once() {
		return hamming.Shard{}, message.New("read-once",
			"data that can be read only once have no shards, because their rows must be "+
				"counted first: save them to a file, or send each reader its part")
	}
	total := 0
	for i := range s.files {
		f := &s.files[i]
		if f.header.rows < 0 {
			var err error
			if f.header.rows, err = s.countRows(ctx, *f); err != nil {
				return hamming.Shard{}, err
			}
		}
		total += f.header.rows
	}
	err := cmp.Or(s.labels.checkLength(total), s.tags.checkLength(total), s.ids.checkLength(total))
	if err != nil {
		return hamming.Shard{}, err
	}
	shard := hamming.NewShard(number, of, total)
	if shard.Data, err = s.sample(); err != nil {
		return hamming.Shard{}, err
	}
	s.span = span{shard.First, shard.First + shard.Rows, true}
	return shard, nil
}

// countRows counts the rows of a file, good or bad.
func (s *Set) countRows(ctx context.Context, f file) (int, error) {
	r, err := s.read(ctx, f)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	for n := 0; ; n++ {
		if n%8192 == 0 && ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if err := skipRows(ctx, r, 1); err == io.EOF {
			return n, nil
		} else if err != nil {
			return 0, err
		}
	}
}

// skipper is a reader that can skip rows faster than it reads them. After fewer than n rows it returns io.EOF.
type skipper interface{ skip(n int) error }

// skipRows skips the next n rows.
func skipRows(ctx context.Context, r reader, n int) error {
	if fast, ok := r.(skipper); ok {
		const step = 8192 // rows between checks of the context
		for ; n > 0; n -= step {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := fast.skip(min(n, step)); err != nil {
				return err
			}
		}
		return nil
	}
	var rec record
	for i := range n {
		if i%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := r.next(&rec)
		if _, bad := errors.AsType[*RowError](err); err != nil && !bad {
			return err
		}
	}
	return nil
}

// skip skips bytes, by seeking if the content allows it.
func (in *input) skip(n int64) error {
	if have := int64(in.buf.Buffered()); in.seek != nil && n > have {
		_, err := in.buf.Discard(int(have))
		if err == nil {
			_, err = in.seek.Seek(n-have, io.SeekCurrent)
		}
		if err == nil {
			in.buf.Reset(in.seek)
		}
		return err
	}
	done, err := io.CopyN(io.Discard, in.buf, n)
	if err == io.EOF && done > 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}

// skipFixed skips rows of a fixed length in bytes, and reports where a file ends among them.
func (in *input) skipFixed(n int, length int64, row *int, rows int) error {
	if in.seek == nil && rows < 0 { // the end is found row by row
		for range n {
			if err := in.skip(length); err == io.ErrUnexpectedEOF {
				return cutOff(in.path, *row, rows)
			} else if err != nil {
				return err
			}
			*row++
		}
		return nil
	}
	if err := in.skip(int64(n) * length); err == io.EOF || err == io.ErrUnexpectedEOF {
		return cutOff(in.path, *row, rows)
	} else if err != nil {
		return err
	}
	*row += n
	return nil
}

func (d *dense) skip(n int) error {
	return d.in.skipFixed(n, int64(d.dim)*int64(d.size), &d.row, d.rows)
}

func (v *vecs) skip(n int) error {
	return v.in.skipFixed(n, 4+int64(v.dim)*int64(v.size), &v.row, v.rows)
}

func (c *cifar) skip(n int) error { return c.in.skipFixed(n, int64(c.record()), &c.row, -1) }

func (x *idx) skip(n int) error {
	err := x.dense.skip(n)
	if err == nil && x.labels != nil {
		err = x.labels.skip(n)
	}
	return err
}

// skip of strided and blocks must come before the first row: both read at the place of the row.
func (s *strided) skip(n int) error {
	s.row += n
	return nil
}

func (s *blocks) skip(n int) error {
	s.row += n
	return nil
}

func (r *refitted) skip(n int) error { return skipRows(context.Background(), r.reader, n) }

func (r galleryReader) skip(n int) error {
	r.Skip(n)
	return nil
}

func (j *jsonLines) skip(n int) error {
	return j.skipLines(n, func() error {
		_, err := j.in.text()
		return err
	})
}

func (c *csv) skip(n int) error { return c.skipLines(n, c.table.read) }

// skipLines skips rows of a text.
func (c *rowCounter) skipLines(n int, next func() error) error {
	for range n {
		if err := next(); err != nil {
			return err
		}
		c.row++
	}
	return nil
}
