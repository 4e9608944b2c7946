package dataset

import (
	"fmt"
	"io"
	"strconv"
)

// dense reads rows of equally many values of one type, one after the other: npy and IDX.
type dense struct {
	in   *input
	what string // how errors call it
	dtype
	rows, dim int   // rows is -1 when unknown
	head      int64 // bytes before the first row
	row       int
	pixels    bool // rows are pictures: bytes that stay bytes
}

// checkSize compares the number of rows with the bytes after the header, where their number is known.
func (d *dense) checkSize(head int64) error {
	d.head = head
	if d.in.size < 0 {
		return nil
	}
	have, row := d.in.size-head, int64(d.dim)*int64(d.size)
	if row == 0 {
		return nil
	}
	// Division, because the product of hostile numbers overflows.
	if whole := have / row; whole < int64(d.rows) {
		return cutOff(d.what, int(max(whole, 0)), d.rows)
	}
	if extra := have - row*int64(d.rows); extra > 0 {
		return fmt.Errorf("%s: has %d bytes after the last of its %d rows: the header and the data do not belong together",
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

// openTexts reads an array of one value per row as text, with nextText.
func openTexts(in *input, what string, a array) (*dense, error) {
	if a.dim != 1 {
		return nil, fmt.Errorf("%s: has %d values per row, but should have one", what, a.dim)
	}
	d := &dense{in: in, what: what, dtype: a.dtype, rows: a.rows, dim: 1}
	return d, d.checkSize(a.head)
}

// nextText returns the value of the next row, io.EOF after the last.
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

// cutOff is the error of a file that ends before its last row.
func cutOff(what string, have, rows int) error {
	if rows < 0 {
		return fmt.Errorf("%s: is cut off after row %d", what, have)
	}
	return fmt.Errorf("%s: is cut off: %d of %d rows are there", what, have, rows)
}

// tooLarge is the error of a value beyond float32; row and column count from 0.
func tooLarge(file string, row, column int) error {
	return &RowError{file, row, strconv.Itoa(column + 1), "a value beyond the range of float32"}
}

// atEnd is io.EOF if the input is at its end.
func (d *dense) atEnd() error {
	_, err := d.in.take(1)
	if err == nil {
		return fmt.Errorf("%s: has bytes after the last row: the header and the data do not belong together", d.what)
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
// up to tens of thousands of columns.
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

// load reads the block of rows that begins with the current one.
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
