package dataset

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"hashgrove/internal/message"
)

// records goes through a file of named columns: CSV and TSV, JSON lines, Parquet. Keys inside the objects of JSON lines
// are written with dots.
type records struct {
	in      *input
	unit    string // what place counts: "line" or "row"
	place   int    // of the current record, from 1
	rows    int    // of the file, -1 if unknown
	columns []column
	byName  map[string]int
	named   bool                    // columns have names; otherwise these are numbers, from 1
	counted bool                    // columns can be named by number too
	typed   bool                    // the file says what columns hold
	open    bool                    // later records may have more columns
	indexed bool                    // the first column has no name: it is the index that pandas writes
	lookup  func(key string) string // in the metadata of Parquet

	cells  []cell // of the columns that are taken
	filled []int  // those that the current record has
	known  map[string]int
	want   func(name string, object bool) bool
	sample [][]string // of a text table

	lists bool   // a record may be just a list
	list  []byte // the list that the current record is

	next  func() error // reads a record; a *badRecord does not end the file
	close func() error
}

// column is a column of a file.
type column struct {
	name   string
	number bool // it holds numbers, as far as is known
	list   bool // or lists of them
	text   bool // it holds texts
	single bool // one each
	null   bool // the first record has nothing there
}

// cell is the value of a column in the latest record that has one, valid until the next.
type cell struct {
	name   string
	column int // -1 for a key of JSON lines
	place  int // of the record
	kind   cellKind
	text   []byte   // a list or an object as JSON
	items  []string // of a list that is not JSON

	asNumbers bool // Parquet only: the value is in numbers
	numbers   []float32
	bad       error
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
type badRecord struct {
	place  string
	column string // or ""
	error
}

func (e *badRecord) Error() string { return e.place + ": " + e.error.Error() }
func (e *badRecord) Unwrap() error { return e.error }

func (t *records) bad(column string, cause error) error {
	return &badRecord{fmt.Sprintf("%s: %s %d", t.in.path, t.unit, t.place), column, cause}
}

// openRecords opens a table before its first record. With headed, the first row of CSV and TSV has the names whatever
// it looks like; otherwise it has them too if it has one of those asked for.
func openRecords(in *input, format string, headed bool, asked ...string) (*records, error) {
	t := &records{in: in, unit: "line", rows: -1, known: map[string]int{}, close: func() error { return nil }}
	switch format {
	case "csv", "tsv":
		return t, t.openFields(format, headed, asked)
	case "jsonl":
		return t, t.openLines()
	case "parquet":
		return t, t.openParquet()
	}
	return nil, message.New("wrong-format", "%s: attributes are read from CSV, TSV, JSON lines and Parquet", in.path)
}

// take makes a column one of those whose values are read, and returns the number of its cell. A key that the first of
// the JSON lines lacks has the column -1.
func (t *records) take(name string, column int) int {
	if k, known := t.known[name]; t.open && known && k >= 0 {
		return k
	}
	t.known[name] = len(t.cells)
	t.cells = append(t.cells, cell{name: name, column: column})
	return len(t.cells) - 1
}

// takeAll takes the columns that are wanted. What is inside an unwanted object has columns of its own.
func (t *records) takeAll(want func(name string, object bool) bool) {
	if t.open {
		t.want = want
		return
	}
	for j, c := range t.columns {
		if want(c.name, false) {
			t.take(c.name, j)
		}
	}
}

// names returns the names of the columns.
func (t *records) names() []string {
	names := make([]string, len(t.columns))
	for j, c := range t.columns {
		names[j] = c.name
	}
	return names
}

// sampled returns the texts of a column in the first rows of a text table.
func (t *records) sampled(j int) (texts []string) {
	for _, row := range t.sample {
		if j < len(row) {
			texts = append(texts, row[j])
		}
	}
	return texts
}

// find returns the column asked for by name, or by its number, counted from 1.
func (t *records) find(asked string) (int, error) {
	if j, found := t.at(asked); found {
		return j, nil
	}
	if j := slices.IndexFunc(t.columns, func(c column) bool { return strings.EqualFold(c.name, asked) }); j >= 0 {
		return j, nil
	}
	if n, err := strconv.Atoi(asked); err == nil && t.counted && n >= 1 && n <= len(t.columns) {
		return n - 1, nil
	}
	if !t.named && t.counted {
		return 0, message.New("no-such-column", "%s: has no column %q: it has no header, so columns are called 1 to %d",
			t.in.path, asked, len(t.columns))
	}
	return 0, message.New("no-such-column", "%s: has no column %q; it has %s", t.in.path, asked, message.List(t.names()))
}

// at returns the first column of exactly that name.
func (t *records) at(name string) (j int, found bool) {
	if t.byName == nil {
		t.byName = make(map[string]int, len(t.columns))
		for j, c := range slices.Backward(t.columns) {
			t.byName[c.name] = j
		}
	}
	j, found = t.byName[name]
	return j, found
}

// fill makes a cell part of the current record.
func (t *records) fill(k int) *cell {
	t.filled = append(t.filled, k)
	c := &t.cells[k]
	c.place = t.place
	return c
}

func (t *records) openFields(format string, headed bool, asked []string) error {
	table, rows, err := sampleTable(t.in, format)
	if err != nil {
		return err
	}
	t.counted, t.sample = true, rows
	if t.named = headed || isHead(rows, asked); t.named {
		t.sample = rows[1:]
		if err := table.takeHead(rows[0]); err != nil {
			return err
		}
		t.place = table.line
	}
	t.indexed = t.named && table.width > 1 && rows[0][0] == ""
	for j := range table.width {
		c := column{name: table.column(j), text: true, single: true}
		if headed {
			c.name = rows[0][j]
		}
		c.number, c.list = holdsNumbers(t.sample, j)
		t.columns = append(t.columns, c)
	}
	t.next = func() error {
		t.filled = t.filled[:0]
		err := table.read()
		t.place = table.line
		if err == nil && len(table.fields) != table.width {
			return t.bad("", message.New("wrong-count", "%s instead of %d", fieldNoun.count(len(table.fields)), table.width))
		}
		if err != nil {
			return err
		}
		for k := range t.cells {
			c := t.fill(k)
			c.text = table.fields[c.column]
		}
		return nil
	}
	return nil
}

func (t *records) openLines() error {
	t.open, t.named = true, true
	if err := t.firstKeys(); err != nil {
		return err
	}
	t.in.skipMark()
	var line jsonLine
	t.next = func() error {
		t.filled, t.list = t.filled[:0], nil
		b, err := t.in.text()
		if err != nil {
			return err
		}
		t.place = t.in.lines
		b = bytes.TrimSpace(b)
		line.reset(b)
		switch {
		case b[0] == '[' && t.lists:
			t.list, err = line.value()
		case b[0] != '{':
			err = message.New("not-an-object", "%s is not a JSON object", excerpt(b))
		default:
			err = line.object(func(path []byte, kind jsontext.Kind) (bool, error) { return t.takeJSON(&line, path, kind) })
		}
		if err == nil {
			err = line.end()
		}
		if _, bad := err.(*badRecord); err != nil && !bad {
			err = t.bad("", err)
		}
		return err
	}
	return nil
}

// firstKeys reads, through an input of its own, the keys of the first row that can be read.
func (t *records) firstKeys() error {
	look, err := t.in.again()
	if err != nil {
		return err
	}
	defer look.Close()
	look.skipMark()
	var line jsonLine
	var first error
	for range sampleRows {
		text, err := look.text()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if text = bytes.TrimSpace(text); text[0] == '[' {
			t.named = false
			return nil
		}
		t.columns = nil
		line.reset(text)
		if err = line.object(t.addKey); err == nil {
			return nil
		}
		first = cmp.Or(first, fmt.Errorf("%s: line %d: %w; a row is one line with an object or a list", t.in.path, look.lines,
			err))
	}
	return cmp.Or(first, message.New("no-rows", "%s: has no rows", t.in.path))
}

// addKey adds a key of JSON lines to the columns.
func (t *records) addKey(path []byte, kind jsontext.Kind) (bool, error) {
	if kind != '{' {
		t.columns = append(t.columns, column{name: string(path), text: true, single: true, number: kind == '0' || kind == '[',
			list: kind == '[', null: kind == 'n'})
	}
	return false, nil
}

// takeJSON reads the value under a key, if it is wanted.
func (t *records) takeJSON(line *jsonLine, path []byte, kind jsontext.Kind) (bool, error) {
	k, known := t.known[string(path)]
	if (!known || k < 0 && kind == '{') && t.want != nil {
		if !known {
			if err := t.in.hold(entryBytes + len(path)); err != nil {
				return false, err
			}
		}
		if name := string(path); t.want(name, kind == '{') {
			k, known = t.take(name, -1), true
		} else {
			t.known[name] = -1
		}
	}
	if !known || k < 0 {
		return false, nil
	}
	raw, err := line.value()
	if err != nil || kind == 'n' {
		return true, err
	}
	if t.cells[k].place == t.place {
		return true, t.bad(t.cells[k].name, message.New("duplicate-key", "the key %q twice", t.cells[k].name))
	}
	c := t.fill(k)
	c.kind, c.text = otherCell, raw
	switch kind {
	case '"':
		c.kind, c.text = textCell, unquoted(raw)
	case 't', 'f':
		c.kind = textCell
	case '0':
		c.kind = numberCell
	case '[':
		c.kind = listCell
	}
	return true, nil
}

// tags returns the tags in a cell: a list, or a text that is cut at the separator, or else at bars, semicolons and
// commas.
func (c *cell) tags(seen interner, separator byte) (tags []string, err error) {
	switch {
	case c.kind == otherCell:
		return nil, message.New("bad-tags", "%s instead of tags", excerpt(c.text))
	case c.items != nil:
		return c.items, nil
	case c.kind == listCell:
		var line jsonLine
		line.reset(c.text)
		return line.tags(nil, seen)
	case separator != 0:
		return seen.appendTags(nil, string(c.text), separator), nil
	}
	for _, tag := range bytes.FieldsFunc(c.text, func(r rune) bool { return r == '|' || r == ';' || r == ',' }) {
		if tag = bytes.TrimSpace(tag); len(tag) > 0 {
			tags = append(tags, seen.keepBytes(tag))
		}
	}
	return tags, nil
}

// unquoted returns the text of a string.
func unquoted(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return raw[1 : len(raw)-1]
	}
	text, _ := jsontext.AppendUnquote(nil, raw) // invalid UTF-8 is replaced
	return text
}
