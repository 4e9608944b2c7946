package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hashgrove/internal/dataset/internal/parquetrows"
	"hashgrove/internal/fault"
	"hashgrove/internal/plain"
)

// attributeReader reads the records of a file of attributes.
type attributeReader struct {
	in      *input
	id      string   // the column of ids, "" for the usual names
	columns []string // to take, nil for all
	found   []bool   // which of them the file has
	format  string   // of the file; "" means by name and content

	mustHaveID bool // the file must have a column of ids
	own        bool // the file is one of vectors, whose ids are known
	skipBad    bool // an unreadable line counts as an empty record

	unit    string
	hasIDs  bool
	records []Description
	seen    interner
	json    jsonLine
	keys    map[string]bool // of the current JSON object
	texts   map[string]bool // columns of tables with anything but numbers
}

func newAttributeReader(columns []string) *attributeReader {
	return &attributeReader{
		columns: columns, found: make([]bool, len(columns)),
		seen: interner{}, keys: map[string]bool{}, texts: map[string]bool{},
	}
}

// readFile appends the records of a file to those read before.
func (r *attributeReader) readFile(path string) error {
	in, err := openInput(path)
	if err != nil {
		return err
	}
	defer in.Close()
	r.in = in
	if err := r.read(); err != nil {
		return err
	}
	return r.checkColumns()
}

// checkColumns reports a column that the file lacks.
func (r *attributeReader) checkColumns() error {
	for i, name := range r.columns {
		if !r.found[i] {
			return &SpecError{"Columns", fault.New("no-such-column", "%s: there is no column or key %q", r.in.path, name)}
		}
	}
	return nil
}

// settle turns numbers into texts in columns that also hold texts.
func (r *attributeReader) settle() {
	for _, d := range r.records {
		for i, v := range d.Attributes {
			if r.texts[v.Name] {
				d.Attributes[i] = Attribute{Name: v.Name, Text: v.Text}
			}
		}
	}
}

// read reads the file.
func (r *attributeReader) read() error {
	f, err := recognise(r.in, r.format)
	if _, unknown := errors.AsType[*SpecError](err); err != nil && !unknown {
		return err
	}
	r.unit = "line"
	switch f.name {
	case "parquet":
		r.unit = "row"
		return r.readParquet()
	case "csv", "tsv":
		return r.readTable(f.name)
	case "jsonl":
		return r.readLines()
	}
	return fault.New("wrong-format", "%s: attributes are read from CSV, TSV, JSON lines and Parquet", r.in.path)
}

// Memory of a record and of an attribute, besides texts.
const recordBytes, attributeBytes = 128, 64

// add appends a record.
func (r *attributeReader) add(d Description, place int) error {
	if len(r.records) == maxRows {
		return fmt.Errorf("%s: has more than %d rows", r.in.path, maxRows)
	}
	d.place = place
	held := recordBytes + len(d.ID) + len(d.Label)
	for _, tag := range d.Tags {
		held += entryBytes + len(tag)
	}
	for _, v := range d.Attributes {
		held += attributeBytes + len(v.Text)
	}
	r.records = append(r.records, d)
	return r.in.hold(held)
}

// readTable reads CSV or TSV. Whether a column holds numbers is known only at its end.
func (r *attributeReader) readTable(format string) error {
	t, rows, err := sampleTable(r.in, format)
	if err != nil {
		return err
	}
	if err := t.takeHead(rows[0]); err != nil {
		return err
	}
	roles, err := r.roles(t.names)
	if err != nil {
		return err
	}
	for {
		err := t.readRow()
		if err == io.EOF {
			return nil
		}
		var d Description
		if err != nil && r.skipBad && len(t.fields) != t.width {
			if err := r.add(d, t.line); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		for j, b := range t.fields {
			if roles[j] == roleNone {
				continue
			}
			v := Attribute{Name: t.names[j], Text: r.seen.keepBytes(b)}
			switch {
			case v.Text == "":
				continue
			case roles[j] == roleTags:
				d.Tags = r.splitTags(v.Text)
				continue
			case roles[j] == roleValue:
				if v.Number, v.IsNumber = plainNumber(v.Text); !v.IsNumber {
					r.texts[v.Name] = true
				}
			}
			d.put(roles[j], v)
		}
		if err := r.add(d, t.line); err != nil {
			return err
		}
	}
}

// keyValue is a key of a JSON object with its value as written.
type keyValue struct {
	key   string
	raw   []byte
	inner bool // of the object of attributes of an exported item
}

// exportedKey is the key of the attributes in an item exported from an index; its code is under exportedCode.
const (
	exportedKey  = "attributes"
	exportedCode = "code"
)

// readLines reads JSON lines.
func (r *attributeReader) readLines() error {
	r.in.skipMark()
	for {
		b, err := r.in.text()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		d, hasID, err := r.readObject(bytes.TrimSpace(b))
		if _, other := errors.AsType[*SpecError](err); err != nil && r.skipBad && !other {
			d, err = Description{}, nil
		}
		if err == nil && len(r.records) > 0 && hasID != r.hasIDs && !r.own {
			err = fault.New("mixed-ids", "either all lines have an id or none")
		}
		if err != nil {
			return fmt.Errorf("%s: line %d: %w", r.in.path, r.in.lines, err)
		}
		r.hasIDs = hasID
		if err := r.add(d, r.in.lines); err != nil {
			return err
		}
	}
}

// readObject reads one line of JSON.
func (r *attributeReader) readObject(b []byte) (d Description, hasID bool, err error) {
	if b[0] != '{' {
		return d, false, fault.New("not-an-object", "%s is not a JSON object", excerpt(b))
	}
	pairs, err := r.keyValues(b)
	if err != nil {
		return d, false, err
	}
	if !slices.ContainsFunc(pairs, func(p keyValue) bool { return p.key == r.id }) {
		if r.mustHaveID {
			return d, false, &SpecError{"AttributesID", fault.New("no-such-column", "there is no key %q", r.id)}
		}
		r.id = ""
	}
	if len(r.keys) > len(pairs)+1024 { // otherwise every short line would pay for clearing what a long one left
		r.keys = map[string]bool{}
	}
	clear(r.keys)
	for _, p := range pairs {
		role, path := r.role(p.key), p.key
		if p.inner {
			path = exportedKey + "." + p.key
		}
		if p.inner && (r.columns == nil || slices.Contains(r.columns, p.key)) {
			role = roleValue
		}
		if role == roleNone || string(p.raw) == "null" {
			continue
		}
		if r.keys[path] {
			return d, false, fmt.Errorf("the key %q appears twice", p.key)
		}
		r.keys[path] = true
		if role == roleTags && p.raw[0] == '[' {
			if json.Unmarshal(p.raw, &d.Tags) != nil {
				return d, false, fault.New("bad-tags", "key %q: tags are a list of texts", p.key)
			}
			continue
		}
		text, ok := jsonScalar(p.raw)
		if !ok {
			return d, false, notAttribute("key", p.key)
		}
		hasID = hasID || role == roleID
		v := Attribute{Name: r.seen.keep(p.key), Text: r.seen.keep(text)}
		if c := p.raw[0]; role == roleValue && c != '"' && c != 't' && c != 'f' {
			if v.Number, v.IsNumber = plainNumber(text); !v.IsNumber {
				return d, false, fault.New("out-of-range", "key %q: the number %s is too large", p.key, text)
			}
		}
		d.put(role, v)
	}
	return d, hasID, nil
}

// keyValues lists the keys of an object. Keys inside objects are written with dots unless the object itself is asked
// for; attributes of an exported item go by their names alone.
func (r *attributeReader) keyValues(b []byte) ([]keyValue, error) {
	r.json.reset(b)
	var pairs []keyValue
	exported := false
	err := r.json.object(func(path []byte, kind jsontext.Kind) (bool, error) {
		if kind == '{' && string(path) == exportedKey && !slices.Contains(r.columns, exportedKey) {
			exported = true
			return false, nil
		}
		if kind == '{' && r.columns != nil && !slices.Contains(r.columns, string(path)) {
			return false, nil
		}
		p := keyValue{key: string(path)}
		var err error
		p.raw, err = r.json.value()
		if name, ok := strings.CutPrefix(p.key, exportedKey+"."); ok && exported && !slices.Contains(r.columns, p.key) {
			p.key, p.inner = name, true
		}
		pairs = append(pairs, p)
		return true, err
	})
	if exported && !slices.Contains(r.columns, exportedCode) {
		pairs = slices.DeleteFunc(pairs, func(p keyValue) bool { return p.key == exportedCode && !p.inner })
	}
	if err == nil {
		err = r.json.end()
	}
	return pairs, err
}

// notAttribute returns the error for a list or object in place of an attribute.
func notAttribute(what, name string) error {
	return &SpecError{"Columns", fault.New("not-an-attribute",
		"%s %q: an attribute is a number or a text, not a list or an object: choose the columns to take", what, name)}
}

// parquetAttribute is a Parquet column to read.
type parquetAttribute struct {
	parquetrows.Field
	column *parquetrows.Column
	role   attributeRole
}

// readParquet reads a Parquet file.
func (r *attributeReader) readParquet() error {
	f, err := openParquetFile(r.in)
	if err != nil {
		return err
	}
	fields, names := f.Fields(), f.Names()
	roles, err := r.roles(names)
	if err != nil {
		return err
	}
	var columns []parquetAttribute
	defer func() {
		for _, c := range columns {
			_ = c.column.Close()
		}
	}()
	for j, field := range fields {
		switch {
		case roles[j] == roleNone:
			continue
		case !field.Text, field.List && roles[j] != roleTags:
			return fmt.Errorf("%s: %w", r.in.path, notAttribute("column", field.Name))
		}
		columns = append(columns, parquetAttribute{field, f.Column(field, Half), roles[j]})
	}
	if len(columns) == 0 {
		return fault.New("no-attributes", "%s: has no column of attributes; it has %s", r.in.path, plain.List(names))
	}
	var texts []string
	for row := range f.Rows() {
		var d Description
		for _, c := range columns {
			if texts, err = c.column.AppendTexts(texts[:0], maxDim); err == nil {
				err = r.take(&d, c, texts)
			}
			if err != nil {
				return fmt.Errorf("%s: row %d, column %s: %w", r.in.path, row+1, c.Name, parquetError(err))
			}
		}
		if err := r.add(d, row+1); err != nil {
			return err
		}
	}
	return nil
}

// take stores the values of one column in a record. Data frames write NaN for a missing number.
func (r *attributeReader) take(d *Description, c parquetAttribute, texts []string) error {
	if c.role == roleTags {
		for _, text := range texts {
			if c.List {
				d.Tags = append(d.Tags, r.seen.keep(text))
			} else {
				d.Tags = append(d.Tags, r.splitTags(text)...)
			}
		}
		return nil
	}
	if len(texts) == 0 || texts[0] == "" {
		return nil
	}
	v := Attribute{Name: c.Name, Text: r.seen.keep(texts[0]), IsNumber: c.Quantity}
	if c.role == roleValue && v.IsNumber {
		var err error
		if v.Number, err = strconv.ParseFloat(v.Text, 64); err != nil || math.IsInf(v.Number, 0) {
			return fault.New("not-finite", "%s is not a finite number", v.Text)
		}
		if math.IsNaN(v.Number) {
			return nil
		}
	}
	d.put(c.role, v)
	return nil
}
