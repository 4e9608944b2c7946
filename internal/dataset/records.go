package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"hashgrove/internal/dataset/internal/parquetrows"
	"hashgrove/internal/message"
)

// records goes through a table of any format for more than its vectors: for attributes, or to describe it. Keys inside
// the objects of JSON lines are written with dots.
type records struct {
	in    *input
	unit  string         // what place counts: "line" or "row"
	place int            // of the current record, from 1
	rows  int            // of the file, -1 if unknown
	mark  codeMark       // of Parquet
	first []string       // all columns; of JSON lines, those of the first
	names []string       // of the wanted columns; JSON lines add to them
	known map[string]int // columns by name, -1 if not wanted
	cells []cell         // of the current record, without missing values
	next  func() error   // reads a record; a *badRecord does not end the file
	close func() error

	// want says whether to read a column. What is inside an unwanted object has columns of its own.
	want func(name string, object bool) bool
}

// cell is a value of a record, valid until the next.
type cell struct {
	column int
	kind   cellKind
	text   []byte   // a list or an object as JSON
	items  []string // of a list that is not JSON
}

// cellKind is the type of a value.
type cellKind byte

const (
	fieldCell cellKind = iota // of a text table: only a whole column tells numbers from texts
	textCell                  // also true and false
	numberCell
	listCell
	otherCell
)

// badRecord reports a record that cannot be read.
type badRecord struct{ error }

func (e *badRecord) Unwrap() error { return e.error }

// openRecords opens a table before its first record. With headed, the first row of CSV and TSV has the names whatever it
// looks like.
func openRecords(in *input, format string, headed bool) (*records, error) {
	t := &records{in: in, unit: "line", rows: -1, known: map[string]int{}, close: func() error { return nil }}
	t.want = func(string, bool) bool { return true }
	switch format {
	case "csv", "tsv":
		return t, t.openFields(format, headed)
	case "jsonl":
		return t, t.openLines()
	case "parquet":
		t.unit = "row"
		return t, t.openParquet()
	}
	return nil, message.New("wrong-format", "%s: attributes are read from CSV, TSV, JSON lines and Parquet", in.path)
}

// column returns the number of a column, or -1 if it is not wanted.
func (t *records) column(name string, object bool) int {
	j, known := t.known[name]
	if known && (j >= 0 || !object) {
		return j
	}
	j = -1
	if t.want(name, object) {
		j, t.names = len(t.names), append(t.names, name)
	}
	t.known[name] = j
	return j
}

func (t *records) openFields(format string, headed bool) error {
	table, rows, err := sampleTable(t.in, format)
	if err != nil {
		return err
	}
	if headed || isHead(rows, nil) {
		if err := table.takeHead(rows[0]); err != nil {
			return err
		}
	}
	for j := range table.width {
		t.first = append(t.first, table.column(j))
		if headed {
			t.first[j] = rows[0][j]
		}
	}
	var columns []int
	t.next = func() error {
		if columns == nil {
			for _, name := range t.first {
				columns = append(columns, t.column(name, false))
			}
		}
		t.cells = t.cells[:0]
		err := table.readRow()
		t.place = table.line
		if err != nil && err != io.EOF && len(table.fields) != table.width {
			return &badRecord{err}
		}
		if err != nil {
			return err
		}
		for j, field := range table.fields {
			if columns[j] >= 0 && len(field) > 0 {
				t.cells = append(t.cells, cell{column: columns[j], text: field})
			}
		}
		return nil
	}
	return nil
}

func (t *records) openLines() error {
	_, keys, err := firstKeys(t.in)
	if err != nil {
		return err
	}
	for _, key := range keys {
		t.first = append(t.first, key.path)
	}
	t.in.skipMark()
	var line jsonLine
	t.next = func() error {
		t.cells = t.cells[:0]
		b, err := t.in.text()
		if err != nil {
			return err
		}
		t.place = t.in.lines
		if b = bytes.TrimSpace(b); b[0] != '{' {
			err = message.New("not-an-object", "%s is not a JSON object", excerpt(b))
		} else {
			line.reset(b)
			err = line.object(func(path []byte, kind jsontext.Kind) (bool, error) {
				return t.takeJSON(&line, path, kind)
			})
			if err == nil {
				err = line.end()
			}
		}
		if err != nil {
			return &badRecord{fmt.Errorf("%s: line %d: %w", t.in.path, t.place, err)}
		}
		return nil
	}
	return nil
}

// takeJSON reads the value under a key, if it is wanted.
func (t *records) takeJSON(line *jsonLine, path []byte, kind jsontext.Kind) (bool, error) {
	j, known := t.known[string(path)]
	if !known || j < 0 && kind == '{' {
		j = t.column(string(path), kind == '{')
	}
	if !known {
		if err := t.in.hold(entryBytes + len(path)); err != nil {
			return false, err
		}
	}
	if j < 0 {
		return false, nil
	}
	raw, err := line.value()
	c := cell{column: j, kind: otherCell, text: raw}
	switch {
	case err != nil || kind == 'n':
		return true, err
	case kind == '"':
		c.kind, c.text = textCell, unquoted(raw)
	case kind == 't' || kind == 'f':
		c.kind = textCell
	case kind == '0':
		c.kind = numberCell
	case kind == '[':
		c.kind = listCell
	}
	t.cells = append(t.cells, c)
	return true, nil
}

func (t *records) openParquet() error {
	f, err := openParquetFile(t.in)
	if err != nil {
		return err
	}
	t.first, t.rows, t.mark = f.Names(), f.Rows(), f.Lookup
	type open struct {
		*parquetrows.Column
		parquetrows.Field
		number int
	}
	var columns []open
	t.close = func() error {
		var errs []error
		for _, c := range columns {
			errs = append(errs, c.Close())
		}
		return errors.Join(errs...)
	}
	var texts []string
	t.next = func() error {
		if t.place == 0 {
			for _, field := range f.Fields() {
				if j := t.column(field.Name, false); j >= 0 {
					columns = append(columns, open{f.Column(field, Half), field, j})
				}
			}
		}
		if t.place == f.Rows() {
			return io.EOF
		}
		t.place++
		t.cells = t.cells[:0]
		for _, c := range columns {
			if !c.Text {
				t.cells = append(t.cells, cell{column: c.number, kind: otherCell})
				continue
			}
			var err error
			if texts, err = c.AppendTexts(texts[:0], maxDim); err != nil {
				return fmt.Errorf("%s: row %d, column %s: %w", t.in.path, t.place, c.Name, parquetError(err))
			}
			switch {
			case c.List:
				t.cells = append(t.cells, cell{column: c.number, kind: listCell, items: slices.Clone(texts)})
			case len(texts) == 0 || texts[0] == "" || c.Quantity && texts[0] == "NaN": // data frames write NaN for nothing
			case c.Quantity:
				t.cells = append(t.cells, cell{column: c.number, kind: numberCell, text: []byte(texts[0])})
			default:
				t.cells = append(t.cells, cell{column: c.number, kind: textCell, text: []byte(texts[0])})
			}
		}
		return nil
	}
	return nil
}

// tags returns the tags in a cell: a list, or a text that is cut at bars, semicolons and commas.
func (c *cell) tags(seen interner) ([]string, error) {
	switch {
	case c.kind == otherCell:
		return nil, message.New("bad-tags", "%s instead of tags", excerpt(c.text))
	case c.items != nil:
		return c.items, nil
	case c.kind == listCell:
		var line jsonLine
		line.reset(c.text)
		return line.tags(nil, seen)
	}
	var tags []string
	for _, tag := range bytes.FieldsFunc(c.text, func(r rune) bool { return r == '|' || r == ';' || r == ',' }) {
		if tag = bytes.TrimSpace(tag); len(tag) > 0 {
			tags = append(tags, seen.keepBytes(tag))
		}
	}
	return tags, nil
}
