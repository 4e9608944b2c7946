package dataset

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"sync/atomic"

	"hashgrove/internal/message"
	"hashgrove/internal/par"
)

// dense reads rows of equally many values of one type: npy, IDX, CIFAR, and fvecs with its kin. It reads a block of
// rows at a time and turns it into numbers on several cores: one does so more slowly than a disk delivers.
type dense struct {
	in   *input
	what string // name in errors
	dtype
	rows, dim int                                // rows is -1 when unknown
	head      int64                              // bytes before the first row
	lead      int                                // bytes before the values of each row
	begin     func(lead []byte, r *record) error // says what they mean
	place     []int32                            // in Fortran order: where column j of the file belongs in a row
	pixels    bool                               // rows are pictures: bytes that stay bytes
	threads   int
	block     int // bytes in a block, at least a row

	row    int    // the next one
	raw    []byte // the block
	values []float32
	clean  bool // all of them are finite
	at, n  int  // rows taken from it, and rows in it
	err    error
}

// blockBytes is the size of a block. In Fortran order its rows come in as many runs as they have values, so more bytes
// make runs that are long enough for a disk.
const blockBytes, fortranBytes = 4 << 20, 32 << 20

func newDense(in *input, what string, t dtype, rows, dim int, spec *Spec) *dense {
	return &dense{in: in, what: what, dtype: t, rows: rows, dim: dim, threads: spec.Threads, block: blockBytes}
}

// width returns the bytes of a row.
func (d *dense) width() int { return d.lead + d.dim*d.size }

// checkSize compares the number of rows with the bytes after the header or, if unknown, with how many there can be.
func (d *dense) checkSize(head int64) error {
	d.head = head
	most, row := d.in.most(), int64(d.width())
	if row == 0 || most < 0 {
		return nil
	}
	have := most - head
	// Divide, because the product of hostile numbers overflows.
	whole := max(have, 0) / row
	switch {
	case d.in.size < 0 && whole < int64(d.rows):
		return message.New("impossible-claim",
			"%s: claims %d rows of %d values, and its %d bytes cannot hold them, however well they are "+
				"compressed: it is cut off or damaged", d.what, d.rows, d.dim, d.in.disk)
	case d.in.size < 0:
		return nil
	case whole < int64(d.rows):
		return cutOff(d.what, int(whole), d.rows)
	}
	if extra := have - row*int64(d.rows); extra > 0 {
		return message.New("trailing-bytes",
			"%s: has %d bytes after the last of its %d rows: the header and the data do not belong together",
			d.what, extra, d.rows)
	}
	return nil
}

// counted opens a file without a header, whose size tells the number of its rows.
func (d *dense) counted(h header) (reader, header, error) {
	width := int64(d.width())
	if h.rows, h.dim = -1, d.dim; d.in.size >= 0 {
		h.rows = int(d.in.size / width)
		if left := d.in.size % width; left != 0 {
			return nil, h, message.New("cut-off", "%s: is cut off, or not %s: after %d rows of %d bytes %d are left",
				d.what, h.format, h.rows, width, left)
		}
	}
	d.rows = h.rows
	return d, h, nil
}

func (d *dense) next(rec *record) error {
	*rec = record{tags: rec.tags[:0]}
	if d.at == d.n {
		if err := d.load(); err != nil {
			return err
		}
	}
	i, raw := d.at, d.raw[d.at*d.width():][:d.width()]
	d.at, d.row = d.at+1, d.row+1
	if d.begin != nil {
		if err := d.begin(raw[:d.lead], rec); err != nil {
			return err
		}
	}
	if raw = raw[d.lead:]; d.pixels {
		rec.pixels = raw
		return nil
	}
	if rec.vector, rec.finite = d.values[i*d.dim:][:d.dim], d.clean; d.clean {
		return nil
	}
	_, bad := d.appendFloats(rec.vector[:0], raw)
	if bad >= 0 {
		return badRow(d.what, d.row-1, strconv.Itoa(bad+1),
			message.New("out-of-range", "a value beyond the range of float32"))
	}
	return nil
}

// load reads the next block. The rows before the end of a file that is cut off are read.
func (d *dense) load() error {
	if d.err == nil && d.row == d.rows {
		d.err = d.atEnd()
	}
	if d.err != nil {
		return d.err
	}
	width := d.width()
	n := max(d.block/width, 1)
	if d.rows >= 0 {
		n = min(n, d.rows-d.row)
	}
	if d.in.stream != nil { // whoever writes may wait for answers
		n = min(n, max(d.in.buf.Buffered()/width, 1))
	}
	d.raw = slices.Grow(d.raw[:0], n*width)[:n*width]
	have, err := len(d.raw), error(nil)
	if d.place != nil {
		err = d.gather(n)
	} else {
		have, err = io.ReadFull(d.in.buf, d.raw)
	}
	d.at, d.n = 0, have/width
	switch ended := err == io.EOF || err == io.ErrUnexpectedEOF; {
	case ended && (d.rows >= 0 || have%width > 0):
		err = cutOff(d.what, d.row+d.n, d.rows)
	case ended:
		err = io.EOF
	}
	if d.err = err; d.n == 0 {
		return err
	}
	if !d.pixels {
		d.convert()
	}
	return nil
}

// convert turns the bytes of the block into numbers.
func (d *dense) convert() {
	d.values = slices.Grow(d.values[:0], d.n*d.dim)[:d.n*d.dim]
	const share = 64 << 10 // values for a core at a time
	var wrong atomic.Bool
	_ = par.Blocks(context.Background(), par.Threads(d.threads), d.n, max(share/d.dim, 1), func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			to := d.values[i*d.dim:][:d.dim]
			_, bad := d.appendFloats(to[:0], d.raw[i*d.width()+d.lead:][:d.dim*d.size])
			if bad >= 0 || d.kind == 'f' && !finite(to) {
				wrong.Store(true)
			}
		}
	})
	d.clean = !wrong.Load()
}

// gather reads n rows of an array in Fortran order: value (i, j) of the file's columns lies at j*rows + i.
func (d *dense) gather(n int) error {
	column := make([]byte, n*d.size)
	for j, c := range d.place {
		at := d.head + (int64(j)*int64(d.rows)+int64(d.row))*int64(d.size)
		if _, err := d.in.at.ReadAt(column, at); err != nil {
			return fmt.Errorf("%s: column %d: %w", d.what, j+1, err)
		}
		for i := range n {
			copy(d.raw[(i*d.dim+int(c))*d.size:][:d.size], column[i*d.size:])
		}
	}
	return nil
}

func (d *dense) Close() error { return d.in.Close() }

// cutOff returns the error for a file that ends before its last row.
func cutOff(what string, have, rows int) error {
	if rows < 0 {
		return message.New("cut-off", "%s: is cut off after row %d", what, have)
	}
	return message.New("cut-off", "%s: is cut off: %d of %d rows are there", what, have, rows)
}

// atEnd returns io.EOF if the input is at its end.
func (d *dense) atEnd() error {
	if d.place != nil {
		return io.EOF
	}
	_, err := d.in.take(1)
	if err == nil {
		return message.New("trailing-bytes",
			"%s: has bytes after the last row: the header and the data do not belong together", d.what)
	}
	return err
}

// The formats of the TEXMEX corpora: for every vector its length as a little-endian int32, then that many values:
// float32 (fvecs), bytes (bvecs) or int32 (ivecs). The length is the same throughout.

var vecsTypes = map[string]dtype{"fvecs": {'f', 4, false}, "bvecs": {'u', 1, false}, "ivecs": {'i', 4, false}}

func openVecs(format string) func(in *input, spec *Spec) (reader, header, error) {
	return func(in *input, spec *Spec) (reader, header, error) {
		h := header{format: format}
		b, err := in.buf.Peek(4)
		if err != nil {
			return nil, h, message.New("cut-off", "%s: is too short for %s", in.path, format)
		}
		dim := binary.LittleEndian.Uint32(b)
		if dim < 1 || dim > maxDim {
			return nil, h, message.New("bad-length", "%s: begins with a vector of %d values: is it %s?", in.path, int32(dim),
				format)
		}
		d := newDense(in, in.path, vecsTypes[format], -1, int(dim), spec)
		d.lead = 4
		d.begin = func(lead []byte, _ *record) error {
			if n := binary.LittleEndian.Uint32(lead); n != dim {
				return message.New("wrong-dim", "%s: row %d has %d values, the rows before have %d", in.path, d.row, int32(n), dim)
			}
			return nil
		}
		return d.counted(h)
	}
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

// finite reports whether no value is NaN or infinite. Those have an exponent of all ones: adding one carries into the
// sign.
func finite(values []float32) bool {
	carry := uint32(0)
	for _, v := range values {
		carry |= math.Float32bits(v)&0x7fffffff + 0x00800000
	}
	return carry>>31 == 0
}
