package dataset

import (
	"errors"
	"fmt"
	"io"

	"hashgrove/internal/dataset/columnfile"
	"hashgrove/internal/message"
)

// openParquetFile reads the footer of a Parquet file.
func openParquetFile(in *input) (columnfile.File, error) {
	if err := in.checkPlain("a Parquet file"); err != nil {
		return nil, err
	}
	f, err := columnfile.Open(in.at, in.size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.path, err)
	}
	return f, nil
}

// openParquet reads records by columns: all of them advance, even if one value is bad.
func (t *records) openParquet() error {
	f, err := openParquetFile(t.in)
	if err != nil {
		return err
	}
	t.unit, t.rows, t.lookup, t.named, t.typed = "row", f.Rows(), f.Lookup, true, true
	fields := f.Fields()
	for _, c := range fields {
		t.columns = append(t.columns, column{name: c.Name, number: c.Number, list: c.List, text: c.Text,
			single: c.Text && !c.List})
	}
	var columns []columnfile.Column
	t.close = func() error {
		var errs []error
		for _, c := range columns {
			errs = append(errs, c.Close())
		}
		return errors.Join(errs...)
	}
	t.next = func() error {
		if t.filled = t.filled[:0]; t.place == t.rows {
			return io.EOF
		}
		t.place++
		for k := range t.cells {
			field := fields[t.cells[k].column]
			if k == len(columns) {
				columns = append(columns, f.Column(t.cells[k].column, Half))
			}
			if err := t.readParquet(k, columns[k], field); err != nil {
				if err == io.EOF || err == io.ErrUnexpectedEOF {
					err = message.New("cut-off", "a column ends too early: the file is damaged")
				}
				return fmt.Errorf("%s: row %d, column %s: %w", t.in.path, t.place, field.Name, err)
			}
		}
		return nil
	}
	return nil
}

// readParquet reads the next value of a column.
func (t *records) readParquet(k int, from columnfile.Column, field columnfile.Field) (err error) {
	c := &t.cells[k]
	if c.asNumbers {
		c.numbers, err = from.AppendFloats(c.numbers[:0], maxDim)
		value, bad := errors.AsType[*columnfile.BadValue](err)
		if c.bad = nil; bad {
			if c.bad, err = value.Err, nil; field.List {
				c.bad = fmt.Errorf("%w at place %d", value.Err, value.Index+1)
			}
			if value.Null {
				c.bad = missingValue{c.bad}
			}
		}
		t.fill(k)
		return err
	}
	if c.kind = otherCell; !field.Text {
		t.fill(k)
		return nil
	}
	texts, err := from.AppendTexts(nil, maxDim)
	switch {
	case err != nil:
		return err
	case field.List:
		c.kind, c.items = listCell, append([]string{}, texts...)
	case len(texts) == 0 || texts[0] == "" || field.Quantity && texts[0] == "NaN": // data frames write NaN for nothing
		return nil
	case field.Quantity:
		c.kind, c.text = numberCell, []byte(texts[0])
	default:
		c.kind, c.text = textCell, []byte(texts[0])
	}
	t.fill(k)
	return nil
}
