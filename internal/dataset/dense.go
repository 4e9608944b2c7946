package dataset

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"

	"hashgrove/internal/message"
	"hashgrove/internal/par"
)

// dense reads consecutive rows of equally many values of one type: npy and IDX.
type dense struct {
	in   *input
	what string // name in errors
	dtype
	rows, dim int   // rows is -1 when unknown
	head      int64 // bytes before the first row
	row       int
	pixels    bool // rows are pictures: bytes that stay bytes
}

// checkSize compares the number of rows with the bytes after the header or, if unknown, with how many there can be.
func (d *dense) checkSize(head int64) error {
	d.head = head
	most, row := d.in.most(), int64(d.dim)*int64(d.size)
	if row == 0 || most < 0 {
		return nil
	}
	have := most - head
	// Divide, because the product of hostile numbers overflows.
	whole := max(have, 0) / row
	if d.in.size < 0 && whole < int64(d.rows) {
		return message.New("impossible-claim",
			"%s: claims %d rows of %d values, and its %d bytes cannot hold them, however well they are "+
				"compressed: it is cut off or damaged", d.what, d.rows, d.dim, d.in.disk)
	}
	if d.in.size < 0 {
		return nil
	}
	if whole < int64(d.rows) {
		return cutOff(d.what, int(whole), d.rows)
	}
	if extra := have - row*int64(d.rows); extra > 0 {
		return message.New("trailing-bytes",
			"%s: has %d bytes after the last of its %d rows: the header and the data do not belong together",
			d.what, extra, d.rows)
	}
	return nil
}

func (d *dense) next(rec *record) error {
	*rec = record{vector: rec.vector[:0], pixels: rec.pixels[:0], tags: rec.tags[:0], finite: d.kind != 'f'}
	if d.row == d.rows {
		return d.atEnd()
	}
	bad := -1
	// In pieces, so that memory grows with what the file has, not with what it claims.
	for left := d.dim; left > 0; {
		n := min(left, maxTake/8)
		b, err := d.take(n * d.size)
		if err != nil {
			return err
		}
		if d.pixels {
			rec.pixels = append(rec.pixels, b...)
		} else {
			var place int
			if rec.vector, place = d.appendFloats(rec.vector, b); place >= 0 && bad < 0 {
				bad = d.dim - left + place
			}
		}
		left -= n
	}
	d.row++
	if bad >= 0 {
		return tooLarge(d.what, d.row-1, bad)
	}
	return nil
}

// openTexts reads an array of one value per row as text, through nextText.
func openTexts(in *input, what string, a array) (*dense, error) {
	if a.dim != 1 {
		return nil, message.New("not-one-value", "%s: has %d values per row, but should have one", what, a.dim)
	}
	d := &dense{in: in, what: what, dtype: a.dtype, rows: a.rows, dim: 1}
	return d, d.checkSize(a.head)
}

// nextText returns the value of the next row, or io.EOF after the last.
func (d *dense) nextText() (string, error) {
	if d.row == d.rows {
		return "", d.atEnd()
	}
	var b []byte // stays empty for numpy's U0 and S0
	if d.size > 0 {
		var err error
		if b, err = d.take(d.size); err != nil {
			return "", err
		}
	}
	d.row++
	return d.text(b), nil
}

// take returns the next n bytes of the current row.
func (d *dense) take(n int) ([]byte, error) {
	b, err := d.in.take(n)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = cutOff(d.what, d.row, d.rows)
	}
	return b, err
}

func (d *dense) Close() error { return d.in.Close() }

// countable rejects a file of more rows than an int can count, which has 32 bits on some systems.
func (in *input) countable(row int64) error {
	if rows := in.size / row; rows > math.MaxInt {
		return message.New("needs-64-bits",
			"%s: has %d rows, and a program for 32-bit systems counts to %d: use one for 64 bits, "+
				"or split the file", in.path, rows, math.MaxInt)
	}
	return nil
}

// cutOff returns the error for a file that ends before its last row.
func cutOff(what string, have, rows int) error {
	if rows < 0 {
		return message.New("cut-off", "%s: is cut off after row %d", what, have)
	}
	return message.New("cut-off", "%s: is cut off: %d of %d rows are there", what, have, rows)
}

// tooLarge returns the error for a value beyond float32; row and column count from 0.
func tooLarge(file string, row, column int) error {
	return badRow(file, row, strconv.Itoa(column+1), message.New("out-of-range", "a value beyond the range of float32"))
}

// atEnd returns io.EOF if the input is at its end.
func (d *dense) atEnd() error {
	_, err := d.in.take(1)
	if err == nil {
		return message.New("trailing-bytes",
			"%s: has bytes after the last row: the header and the data do not belong together", d.what)
	}
	return err
}

// strided reads the rows of an array in Fortran order: value (i, j) of the file's columns lies at j*rows + i. It
// reads a block of rows at a time, column by column.
type strided struct {
	*dense
	memory int     // for a block
	place  []int32 // where column j of the file belongs in a row
	block  []byte  // rows of the current block, column after column
	column int     // bytes of one column in it
	first  int     // number of its first row
	values []byte  // one row
}

// stridedBlock is the memory for a block. A column is read in runs of stridedBlock/dim bytes, long enough for a disk
// with up to tens of thousands of columns.
const stridedBlock = 32 << 20

func newStrided(d *dense, a array) *strided {
	s := &strided{dense: d, memory: stridedBlock, place: make([]int32, a.dim), values: make([]byte, a.dim*a.size)}
	// The file counts the axes after the first with the leftmost running fastest, a row with the rightmost.
	axes := a.shape[1:]
	at := make([]int, len(axes))
	for j := range s.place {
		c := 0
		for k, n := range axes {
			c = c*n + at[k]
		}
		s.place[j] = int32(c)
		for k := range at {
			if at[k]++; at[k] < axes[k] {
				break
			}
			at[k] = 0
		}
	}
	return s
}

func (s *strided) next(rec *record) error {
	*rec = record{vector: rec.vector[:0], tags: rec.tags[:0]}
	if s.row == s.rows {
		return io.EOF
	}
	if s.column == 0 || (s.row-s.first)*s.size == s.column {
		if err := s.load(); err != nil {
			return err
		}
	}
	for j, c := range s.place {
		copy(s.values[int(c)*s.size:][:s.size], s.block[j*s.column+(s.row-s.first)*s.size:])
	}
	s.row++
	var bad int
	if rec.vector, bad = s.appendFloats(rec.vector, s.values); bad >= 0 {
		return tooLarge(s.what, s.row-1, bad)
	}
	return nil
}

// load reads the block of rows that starts with the current one.
func (s *strided) load() error {
	n := min(max(s.memory/(s.dim*s.size), 1), s.rows-s.row)
	s.first, s.column = s.row, n*s.size
	if s.block == nil {
		s.block = make([]byte, s.dim*s.column)
	}
	for j := range s.dim {
		off := s.head + (int64(j)*int64(s.rows)+int64(s.row))*int64(s.size)
		if _, err := s.in.at.ReadAt(s.block[j*s.column:(j+1)*s.column], off); err != nil {
			return fmt.Errorf("%s: column %d: %w", s.what, j+1, err)
		}
	}
	return nil
}

// The formats of the TEXMEX corpora: for every vector its length as a little-endian int32, then that many values:
// float32 (fvecs), bytes (bvecs) or int32 (ivecs). The length is the same throughout.

var vecsTypes = map[string]dtype{"fvecs": {'f', 4, false}, "bvecs": {'u', 1, false}, "ivecs": {'i', 4, false}}

type vecs struct{ dense }

func openVecs(format string) func(in *input, spec *Spec) (reader, header, error) {
	return func(in *input, _ *Spec) (reader, header, error) {
		t := vecsTypes[format]
		h := header{format: format, rows: -1, dim: -1}
		b, err := in.buf.Peek(4)
		if err != nil {
			return nil, h, message.New("cut-off", "%s: is too short for %s", in.path, format)
		}
		d := binary.LittleEndian.Uint32(b)
		if d < 1 || d > maxDim {
			return nil, h, message.New("bad-length", "%s: begins with a vector of %d values: is it %s?", in.path, int32(d),
				format)
		}
		h.dim = int(d)
		if in.size >= 0 {
			row := int64(4 + h.dim*t.size)
			if err := in.countable(row); err != nil {
				return nil, h, err
			}
			if h.rows = int(in.size / row); in.size%row != 0 {
				return nil, h, message.New("cut-off", "%s: is cut off, or not %s: after %d vectors of %d values %d bytes are left",
					in.path, format, h.rows, h.dim, in.size%row)
			}
		}
		return &vecs{dense{in: in, what: in.path, dtype: t, rows: -1, dim: h.dim}}, h, nil
	}
}

func (v *vecs) next(rec *record) error {
	b, err := v.in.take(4)
	if err == io.ErrUnexpectedEOF {
		return cutOff(v.what, v.row, v.rows)
	}
	if err != nil {
		return err
	}
	if d := binary.LittleEndian.Uint32(b); d != uint32(v.dim) {
		return message.New("wrong-dim", "%s: row %d has %d values, the rows before have %d", v.what, v.row+1, int32(d), v.dim)
	}
	return v.dense.next(rec)
}

// looksVecs reports whether the lengths agree with the size of the file and with each other.
func looksVecs(format string) func(s *sample) bool {
	return func(s *sample) bool {
		if len(s.head) < 5 {
			return false
		}
		d := binary.LittleEndian.Uint32(s.head)
		if d < 1 || d > maxDim {
			return false
		}
		row := int64(4 + int(d)*vecsTypes[format].size)
		if s.size >= 0 && s.size%row != 0 {
			return false
		}
		seen := 0
		for at := int64(0); at+4 <= int64(len(s.head)) && seen < 100; at += row {
			if binary.LittleEndian.Uint32(s.head[at:]) != d {
				return false
			}
			seen++
		}
		// A single length proves nothing unless it explains the size.
		return s.size >= 0 || seen > 1
	}
}

// blocks reads the rows of a dense file in blocks, several at a time: one core turns bytes into numbers more slowly
// than a disk delivers them. It needs random access, so the file must not be compressed.
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

// blockValues is the number of values in a block, and groupBlocks the number of consecutive blocks that a thread reads.
const blockValues, groupBlocks = 1 << 18, 4

// newBlocks returns the reader for the rest of d, or d itself if blocks do not help.
func newBlocks(d *dense, threads int) reader {
	total := int64(d.rows) * int64(d.dim)
	if d.in.at == nil || d.in.size < 0 || d.pixels || d.dim > blockValues || total < 4*blockValues {
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

// finite reports whether no value is NaN or infinite. Those have an exponent of all ones: adding one carries into the
// sign.
func finite(values []float32) bool {
	carry := uint32(0)
	for _, v := range values {
		carry |= math.Float32bits(v)&0x7fffffff + 0x00800000
	}
	return carry>>31 == 0
}
