package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"hashgrove/internal/dataset/columnfile"
	"hashgrove/internal/message"
)

// column reads one field row by row.
type column struct {
	f      *file
	field  field
	group  int // the next row group
	rows   int64
	values parquet.ColumnChunkValueReader
	buffer [1024]parquet.Value
	at, n  int
	floats func(uint16) float32
	memory int64 // for its pages
}

// What is wrong with a value.
var (
	errNull     = message.New("no-value", "null instead of a number")
	errTooLarge = message.New("out-of-range", "a value beyond the range of float32")
	errNoNumber = errors.New("no number")
)

func (f *file) Column(number int, half func(uint16) float32) columnfile.Column {
	return &column{f: f, field: f.fields[number], floats: half}
}

// Close releases the memory of the library.
func (c *column) Close() (err error) {
	defer catch(&err)
	return c.closeGroup()
}

func (c *column) closeGroup() error {
	if c.values == nil {
		return nil
	}
	c.f.open, c.memory = c.f.open-c.memory, 0
	values := c.values
	c.values = nil
	return values.Close()
}

// peek returns the next value of the column, or io.EOF at the end of a row group, before the next is opened.
func (c *column) peek() (_ *parquet.Value, err error) {
	if c.at == c.n {
		if c.values == nil {
			return nil, io.EOF
		}
		if c.n, err = c.values.ReadValues(c.buffer[:]); err != nil {
			c.n = 0
		}
		c.at = 0
	}
	return &c.buffer[c.at], err
}

// firstValue finds the first value of the next row.
func (c *column) firstValue() (*parquet.Value, error) {
	for {
		v, err := c.peek()
		if err == nil {
			if v.RepetitionLevel() != 0 {
				return nil, fmt.Errorf("row group %d: a list continues where a row begins", c.group)
			}
			c.rows++
			return v, nil
		}
		if err != io.EOF {
			return nil, fmt.Errorf("row group %d: %w", c.group, err)
		}
		groups := c.f.file.RowGroups()
		if c.group > 0 && c.rows != groups[c.group-1].NumRows() {
			return nil, message.New("wrong-count",
				"row group %d has %d rows instead of %d", c.group, c.rows, groups[c.group-1].NumRows())
		}
		if err := c.closeGroup(); err != nil {
			return nil, err
		}
		if c.group == len(groups) {
			return nil, io.EOF
		}
		memory, err := c.f.checkPages(c.group, c.field.leaf)
		if err != nil {
			return nil, err
		}
		if c.f.open += memory; c.f.open > openBytes+openFactor*c.f.size {
			return nil, fmt.Errorf("the pages of its columns would take far more memory than %d bytes can be worth: "+
				"write it with smaller pages", c.f.size)
		}
		c.memory = memory
		c.values = parquet.NewColumnChunkValueReader(groups[c.group].ColumnChunks()[c.field.leaf])
		c.group++
		c.rows = 0
	}
}

// each calls do for every value of the next row: the single value, or the items of the list. It returns io.EOF after
// the last row.
func (c *column) each(do func(v *parquet.Value) error) error {
	v, err := c.firstValue()
	if err != nil {
		return err
	}
	for {
		// An empty or missing list is one null on a level above the items.
		if !c.field.List || v.DefinitionLevel() >= c.field.listed {
			if err := do(v); err != nil {
				return err
			}
		}
		c.at++
		if !c.field.List {
			return nil
		}
		if v, err = c.peek(); err == io.EOF || err == nil && v.RepetitionLevel() == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("row group %d: %w", c.group, err)
		}
	}
}

func (c *column) AppendFloats(dst []float32, limit int) (out []float32, err error) {
	defer catch(&err)
	from := len(dst)
	var bad *columnfile.BadValue
	err = c.each(func(v *parquet.Value) error {
		x, wrong := c.float(v)
		if wrong != nil && bad == nil {
			bad = &columnfile.BadValue{Index: len(dst) - from, Err: wrong, Null: v.IsNull()}
		} else if wrong != nil && !v.IsNull() && bad.Null { // nulls may be allowed, other bad values never are
			bad = &columnfile.BadValue{Index: len(dst) - from, Err: wrong}
		}
		if len(dst)-from == limit {
			return fmt.Errorf("row %d of row group %d has more than %d values", c.rows, c.group, limit)
		}
		dst = append(dst, x)
		return nil
	})
	if err == nil && bad != nil {
		err = bad
	}
	return dst, err
}

// float returns the value as a number, or what is wrong with it.
func (c *column) float(v *parquet.Value) (float32, error) {
	if v.IsNull() {
		return float32(math.NaN()), errNull
	}
	switch c.field.kind {
	case parquet.Float:
		return v.Float(), nil
	case parquet.Double:
		wide := v.Double()
		x := float32(wide)
		if math.IsInf(float64(x), 0) && !math.IsInf(wide, 0) {
			return 0, errTooLarge
		}
		return x, nil
	case parquet.Int32:
		if c.field.unsigned {
			return float32(v.Uint32()), nil
		}
		return float32(v.Int32()), nil
	case parquet.Int64:
		if c.field.unsigned {
			return float32(v.Uint64()), nil
		}
		return float32(v.Int64()), nil
	case parquet.Boolean:
		if v.Boolean() {
			return 1, nil
		}
		return 0, nil
	}
	if b := v.ByteArray(); c.field.half && len(b) == 2 {
		return c.floats(binary.LittleEndian.Uint16(b)), nil
	}
	return 0, errNoNumber
}

func (c *column) AppendTexts(dst []string, limit int) (out []string, err error) {
	defer catch(&err)
	from := len(dst)
	err = c.each(func(v *parquet.Value) error {
		if v.IsNull() {
			return nil
		}
		if len(dst)-from == limit {
			return fmt.Errorf("row %d of row group %d has more than %d values", c.rows, c.group, limit)
		}
		dst = append(dst, c.text(v))
		return nil
	})
	return dst, err
}

// text returns the value with all its digits; a whole float has no decimal point.
func (c *column) text(v *parquet.Value) string {
	switch {
	case c.field.write != nil:
		return c.field.write(v)
	case c.field.kind == parquet.ByteArray:
		return string(v.ByteArray())
	case c.field.kind == parquet.Double:
		return floatText(v.Double(), 64)
	case c.field.kind == parquet.Int64 && c.field.unsigned:
		return strconv.FormatUint(v.Uint64(), 10)
	case c.field.kind == parquet.Int32 && c.field.unsigned:
		return strconv.FormatUint(uint64(v.Uint32()), 10)
	case c.field.kind == parquet.Float || c.field.half:
		x, _ := c.float(v)
		return floatText(float64(x), 32)
	}
	return v.String() // of an integer, or true and false
}

func floatText(x float64, bits int) string {
	if x == math.Trunc(x) && math.Abs(x) <= 1<<53 {
		return strconv.FormatInt(int64(x), 10)
	}
	return strconv.FormatFloat(x, 'g', -1, bits)
}
