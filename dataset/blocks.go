package dataset

import (
	"context"
	"fmt"
	"io"
	"math"

	"hashgrove/internal/par"
)

// blocks reads the rows of a dense file by blocks, several at the same time: one core turns bytes into numbers more
// slowly than a disk delivers them. It needs a file that can be read in any order, so not a compressed one.
type blocks struct {
	*dense
	threads int
	ready   []rowBlock // in order
	at      int        // the one to take from
	one     []float32  // a row of a block that is not clean
}

// rowBlock is a run of rows.
type rowBlock struct {
	raw    []byte
	values []float32
	clean  bool // all values are finite
	rows   int
	taken  int
	err    error
}

// blockValues is the number of values in a block, and groupBlocks the number of blocks that a thread reads in a row.
const blockValues, groupBlocks = 1 << 18, 4

// newBlocks returns the reader for the rest of d, or d itself where blocks do not help.
func newBlocks(d *dense, threads int) reader {
	total := int64(d.rows) * int64(d.dim)
	if d.in.at == nil || d.in.size < 0 || d.dim > blockValues || total < 4*blockValues {
		return d
	}
	return &blocks{dense: d, threads: par.Threads(threads)}
}

func (s *blocks) next(rec *record) error {
	*rec = record{tags: rec.tags[:0]}
	if s.row == s.rows {
		return io.EOF // the size was compared with the head when the file was opened
	}
	for s.at == len(s.ready) || s.ready[s.at].taken == s.ready[s.at].rows {
		if s.at++; s.at >= len(s.ready) {
			s.load()
		}
	}
	b := &s.ready[s.at]
	if b.err != nil {
		return b.err
	}
	i := b.taken
	b.taken++
	s.row++
	if b.clean {
		rec.vector, rec.finite = b.values[i*s.dim:(i+1)*s.dim], true
		return nil
	}
	row := s.dim * s.size
	bad := -1
	if s.one, bad = s.appendFloats(s.one[:0], b.raw[i*row:(i+1)*row]); bad >= 0 {
		return tooLarge(s.what, s.row-1, bad)
	}
	rec.vector = s.one
	return nil
}

// load reads the next blocks.
func (s *blocks) load() {
	rows := blockValues / s.dim
	n := min(s.threads*groupBlocks, (s.rows-s.row+rows-1)/rows)
	for len(s.ready) < n {
		s.ready = append(s.ready, rowBlock{})
	}
	s.ready, s.at = s.ready[:n], 0
	_ = par.For(context.Background(), s.threads, n, func(i int) {
		first := s.row + i*rows
		s.ready[i].read(s.dense, first, min(rows, s.rows-first))
	})
}

func (b *rowBlock) read(d *dense, first, rows int) {
	row := d.dim * d.size
	if cap(b.raw) < rows*row {
		b.raw = make([]byte, rows*row)
	}
	b.raw, b.rows, b.taken, b.err = b.raw[:rows*row], rows, 0, nil
	if n, err := d.in.at.ReadAt(b.raw, d.head+int64(first)*int64(row)); n < len(b.raw) {
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			err = cutOff(d.what, first+n/row, d.rows)
		} else {
			err = fmt.Errorf("%s: row %d: %w", d.what, first+n/row, err)
		}
		b.err = err
		return
	}
	var bad int
	b.values, bad = d.appendFloats(b.values[:0], b.raw)
	b.clean = bad < 0 && (d.kind != 'f' || finite(b.values))
}

// finite reports whether no value is a NaN or an infinity, which are those whose exponent is all ones: one more carries
// over into the sign.
func finite(values []float32) bool {
	carry := uint32(0)
	for _, v := range values {
		carry |= math.Float32bits(v)&0x7fffffff + 0x00800000
	}
	return carry>>31 == 0
}
