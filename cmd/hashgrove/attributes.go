package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hashgrove/index"
)

// Attributes of items: what --where compares and search prints. They come from a table with a header (CSV, TSV) or
// from JSON lines, one record per item. A record belongs to the item that its id names; without a column of ids,
// record i belongs to row i. The columns label and tags are the item's label and tags where the data have none.
//
// A column of a table holds numbers when all its fields do, and texts otherwise; a number that begins with a needless
// zero is a text, because it is a name. An empty field is no attribute. In JSON, true and false are texts and null is
// no attribute.

// attributes is what a file says about items.
type attributes struct {
	path    string
	records []record
	byID    map[index.ID]int // nil when records go by row
	used    int              // records that found their item
}

// record is what the file says about one item.
type record struct {
	line   int
	id     string
	label  string
	tags   []string
	values map[string]index.Value
}

// longestLine bounds a line of JSON.
const longestLine = 1 << 24

// readAttributes reads a file. idColumn is what the user calls the ids, or ""; keep is the columns to take, or nil for
// all of them.
func readAttributes(path, idColumn string, keep []string) (*attributes, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := &attributeReader{idColumn: idColumn, keep: keep, kept: make([]bool, len(keep))}
	in := bufio.NewReader(f)
	if mark, _ := in.Peek(3); string(mark) == "\xef\xbb\xbf" {
		in.Discard(3)
	}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".jsonl", ".ndjson", ".json":
		err = r.lines(in)
	default:
		err = r.table(in, strings.ToLower(filepath.Ext(path)) == ".tsv")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for i, name := range keep {
		if !r.kept[i] {
			return nil, fmt.Errorf("%s: there is no column or key %q", path, name)
		}
	}
	a := &attributes{path: path, records: r.records}
	if !r.named {
		return a, nil
	}
	a.byID = make(map[index.ID]int, len(r.records))
	for i, rec := range r.records {
		id, err := index.ParseID(rec.id)
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, rec.line, err)
		}
		if first, ok := a.byID[id]; ok {
			return nil, fmt.Errorf("%s: line %d has the id %q of line %d", path, rec.line, rec.id, a.records[first].line)
		}
		a.byID[id] = i
	}
	return a, nil
}

// find returns what is known about the item with the id, which is that of the given row.
func (a *attributes) find(id index.ID, row int) record {
	if a.byID != nil {
		i, ok := a.byID[id]
		if !ok {
			return record{}
		}
		row = i
	}
	if row >= len(a.records) {
		return record{}
	}
	a.used++
	return a.records[row]
}

// check is called after all rows were looked up: attributes by row must have been as many as the rows.
func (a *attributes) check(rows int) error {
	if a.byID == nil && rows != len(a.records) {
		return fmt.Errorf("%s: %d records for %d rows: give one per row, or a column with ids", a.path, len(a.records), rows)
	}
	if a.used == 0 && len(a.records) > 0 {
		return fmt.Errorf("%s: none of its %d ids is in the data: is it the file of other items, or is another column the id?", a.path, len(a.records))
	}
	return nil
}

// attributeReader reads records; named tells whether they have ids.
type attributeReader struct {
	idColumn string
	keep     []string
	kept     []bool // which of keep were met
	named    bool
	records  []record
}

// role tells what a column or key is for: the id, the label, tags, a value, or nothing (-).
func (r *attributeReader) role(name string) (role byte) {
	i := slices.Index(r.keep, name)
	if i >= 0 {
		r.kept[i] = true
	}
	switch {
	case name == r.idColumn, r.idColumn == "" && (name == "id" || name == "ids"):
		return 'i'
	case r.keep != nil && i < 0, name == "id", name == "":
		return '-' // an attribute cannot be called so
	case name == "label":
		return 'l'
	case name == "tags" || name == "tag":
		return 't'
	}
	return 'v'
}

func (r *attributeReader) table(in *bufio.Reader, tabs bool) error {
	c := csv.NewReader(in)
	if head, _ := in.Peek(in.Size()); !tabs {
		head, _, _ = bytes.Cut(head, []byte("\n"))
		if bytes.IndexByte(head, ',') < 0 && bytes.IndexByte(head, ';') >= 0 {
			c.Comma = ';'
		}
	} else {
		c.Comma = '\t'
	}
	header, err := c.Read()
	if errors.Is(err, io.EOF) {
		return errors.New("the file is empty: a header with the names of the attributes is needed")
	}
	if err != nil {
		return err
	}
	roles := make([]byte, len(header))
	for j, name := range header {
		if slices.Contains(header[:j], name) {
			return fmt.Errorf("two columns are called %q", name)
		}
		roles[j] = r.role(name)
		r.named = r.named || roles[j] == 'i'
	}
	if r.idColumn != "" && !r.named { // ids of the data may have another name here
		r.idColumn = ""
		for j, name := range header {
			roles[j] = r.role(name)
			r.named = r.named || roles[j] == 'i'
		}
	}
	var rows [][]string
	numbers := make([]bool, len(header))
	for j := range numbers {
		numbers[j] = true
	}
	for {
		row, err := c.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		line, _ := c.FieldPos(0)
		rec := record{line: line}
		for j, field := range row {
			switch roles[j] {
			case 'i':
				rec.id = field
			case 'l':
				rec.label = field
			case 't':
				for _, tag := range strings.FieldsFunc(field, func(c rune) bool { return strings.ContainsRune("|;,", c) }) {
					if tag = strings.TrimSpace(tag); tag != "" {
						rec.tags = append(rec.tags, tag)
					}
				}
			case 'v':
				if _, ok := plainNumber(field); field != "" && !ok {
					numbers[j] = false
				}
			}
		}
		r.records = append(r.records, rec)
		rows = append(rows, row)
	}
	for i, row := range rows {
		for j, field := range row {
			if roles[j] != 'v' || field == "" {
				continue
			}
			v := index.String(field)
			if x, ok := plainNumber(field); ok && numbers[j] {
				v = index.Number(x)
			}
			r.records[i].set(header[j], v)
		}
	}
	return nil
}

// plainNumber reads a number as people write quantities.
func plainNumber(s string) (float64, bool) {
	digits := strings.TrimLeft(s, "+-")
	if digits == "" || strings.ContainsAny(s, "xXpP_nNiI") || len(digits) > 1 && digits[0] == '0' && digits[1] != '.' && digits[1]|0x20 != 'e' {
		return 0, false
	}
	x, err := strconv.ParseFloat(s, 64)
	return x, err == nil && !math.IsInf(x, 0)
}

func (rec *record) set(name string, v index.Value) {
	if rec.values == nil {
		rec.values = map[string]index.Value{}
	}
	rec.values[name] = v
}

func (r *attributeReader) lines(in *bufio.Reader) error {
	s := bufio.NewScanner(in)
	s.Buffer(nil, longestLine)
	line := 0
	for s.Scan() {
		line++
		if len(bytes.TrimSpace(s.Bytes())) == 0 {
			continue
		}
		rec, named, err := r.object(s.Bytes())
		if err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
		if len(r.records) > 0 && named != r.named {
			return fmt.Errorf("line %d: either all lines have an id or none", line)
		}
		rec.line, r.named = line, named
		r.records = append(r.records, rec)
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("line %d: %w", line+1, err)
	}
	return nil
}

// object reads one line of JSON.
func (r *attributeReader) object(b []byte) (rec record, named bool, err error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(b, &keys); err != nil {
		return rec, false, fmt.Errorf("it is no JSON object: %w", err)
	}
	if _, ok := keys[r.idColumn]; r.idColumn != "" && !ok {
		r.idColumn = ""
	}
	for _, name := range slices.Sorted(maps.Keys(keys)) { // so that the same mistake is reported every time
		raw, role := keys[name], r.role(name)
		if role == '-' || string(raw) == "null" {
			continue
		}
		if role == 't' && raw[0] == '[' {
			if err := json.Unmarshal(raw, &rec.tags); err != nil {
				return rec, false, fmt.Errorf("key %q: tags are a list of texts", name)
			}
			continue
		}
		text, number, err := scalar(raw)
		if err != nil {
			return rec, false, fmt.Errorf("key %q: %w", name, err)
		}
		switch role {
		case 'i':
			rec.id, named = text, true
		case 'l':
			rec.label = text
		case 't':
			rec.tags = []string{text}
		default:
			if number {
				x, ok := plainNumber(text)
				if !ok {
					return rec, false, fmt.Errorf("key %q: the number %s is too large", name, text)
				}
				rec.set(name, index.Number(x))
			} else {
				rec.set(name, index.String(text))
			}
		}
	}
	return rec, named, nil
}

// scalar is a JSON text, number, true or false as a text.
func scalar(raw json.RawMessage) (text string, number bool, err error) {
	switch raw[0] {
	case '{', '[':
		return "", false, errors.New("an attribute is a number or a text, not a list or an object; --attribute-columns chooses what to take")
	case '"':
		err = json.Unmarshal(raw, &text)
		return text, false, err
	case 't', 'f':
		return string(raw), false, nil
	}
	return string(raw), true, nil
}
