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

	"hashgrove/dataset/internal/parquetrows"
	"hashgrove/internal/plain"
)

// attributeReader reads the records of a file of attributes.
type attributeReader struct {
	in      *input
	id      string   // the column of ids, "" for the usual names
	columns []string // to take, nil for all
	found   []bool   // which of them the file has

	unit    string
	hasIDs  bool
	records []Description
	seen    interner
	keys    map[string]bool // of the present JSON object
}

// read reads the file. A name that promises a format is believed; otherwise the content tells.
func (r *attributeReader) read() error {
	head, err := r.in.head()
	if err != nil {
		return err
	}
	s := &sample{head: head}
	r.unit = "line"
	named := fileNamed(r.in.path)
	switch {
	case len(head) == 0:
		return fmt.Errorf("%s: is empty, but should begin with the names of the attributes", r.in.path)
	case named == "parquet" || magic("PAR1", "PARE")(s):
		r.unit = "row"
		return r.readParquet()
	case named == "csv" || named == "tsv":
		return r.readTable(named)
	case named == "jsonl" || looksJSON(s):
		return r.readLines()
	case !isText(head):
		if err := checkEncoding(r.in.path, head); err != nil {
			return err
		}
		return fmt.Errorf("%s: attributes are read from CSV, TSV, JSON lines and Parquet", r.in.path)
	case looksTable("\t")(s):
		return r.readTable("tsv")
	}
	return r.readTable("csv")
}

// add appends a record.
func (r *attributeReader) add(d Description, place int) error {
	if len(r.records) == maxRows {
		return fmt.Errorf("%s: has more than %d rows", r.in.path, maxRows)
	}
	d.place = place
	r.records = append(r.records, d)
	return nil
}

// readTable reads CSV or TSV. Whether a column holds numbers is known at its end.
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
	texts := map[string]bool{} // columns with anything but numbers
	for {
		if err := t.readRow(); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		var d Description
		for j, b := range t.fields {
			v := Attribute{Name: t.names[j], Text: r.seen.keepBytes(b)}
			switch {
			case v.Text == "":
				continue
			case roles[j] == roleTags:
				d.Tags = r.splitTags(v.Text)
				continue
			case roles[j] == roleValue:
				if v.Number, v.IsNumber = plainNumber(v.Text); !v.IsNumber {
					texts[v.Name] = true
				}
			}
			d.put(roles[j], v)
		}
		if err := r.add(d, t.line); err != nil {
			return err
		}
	}
	for _, d := range r.records {
		for i, v := range d.Attributes {
			if texts[v.Name] {
				d.Attributes[i] = Attribute{Name: v.Name, Text: v.Text}
			}
		}
	}
	return nil
}

// keyValue is a key of a JSON object with its value as written.
type keyValue struct {
	key string
	raw []byte
}

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
		if err == nil && len(r.records) > 0 && hasID != r.hasIDs {
			err = errors.New("either all lines have an id or none")
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
		return d, false, fmt.Errorf("%s is not a JSON object", excerpt(b))
	}
	pairs, err := r.keyValues(b)
	if err != nil {
		return d, false, err
	}
	if !slices.ContainsFunc(pairs, func(p keyValue) bool { return p.key == r.id }) {
		r.id = ""
	}
	clear(r.keys)
	for _, p := range pairs {
		role := r.role(p.key)
		if role == roleNone || string(p.raw) == "null" {
			continue
		}
		if r.keys[p.key] {
			return d, false, fmt.Errorf("the key %q appears twice", p.key)
		}
		r.keys[p.key] = true
		if role == roleTags && p.raw[0] == '[' {
			if json.Unmarshal(p.raw, &d.Tags) != nil {
				return d, false, fmt.Errorf("key %q: tags are a list of texts", p.key)
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
				return d, false, fmt.Errorf("key %q: the number %s is too large", p.key, text)
			}
		}
		d.put(role, v)
	}
	return d, hasID, nil
}

// keyValues lists the keys of an object. Those inside of objects that are not themselves asked for are written with
// dots.
func (r *attributeReader) keyValues(b []byte) ([]keyValue, error) {
	s := &jsonScanner{b: b}
	var pairs []keyValue
	err := s.object(0, func(path []byte) (bool, error) {
		if s.peek() == '{' && r.columns != nil && !slices.Contains(r.columns, string(path)) {
			return false, nil
		}
		from := s.i
		err := s.skip(0)
		pairs = append(pairs, keyValue{string(path), b[from:s.i]})
		return true, err
	})
	if err == nil {
		err = s.end()
	}
	return pairs, err
}

// notAttribute is the error of a list or an object where an attribute is expected.
func notAttribute(what, name string) error {
	return &SpecError{"Columns", fmt.Errorf(
		"%s %q: an attribute is a number or a text, not a list or an object: choose the columns to take", what, name)}
}

// parquetAttribute is a column of a Parquet file that is read.
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
		columns = append(columns, parquetAttribute{field, f.Column(field, half), roles[j]})
	}
	if len(columns) == 0 {
		return fmt.Errorf("%s: has no column of attributes; it has %s", r.in.path, plain.List(names))
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

// take puts the values of one column into a record. A NaN is how data frames write that there is no number.
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
			return fmt.Errorf("%s is not a finite number", v.Text)
		}
		if math.IsNaN(v.Number) {
			return nil
		}
	}
	d.put(c.role, v)
	return nil
}
