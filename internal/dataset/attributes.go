package dataset

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"hashgrove/internal/index"
	"hashgrove/internal/message"
)

// Attributes are what filters compare and answers show: prices, dates, names. They come from a table with a header
// (CSV, TSV), from JSON lines or from Parquet, compressed or not, one record per item, or from the files of the
// vectors. Records are matched to items by id; only if neither has ids, record i belongs to row i. The
// columns label and tags fill in for items whose data have none.
//
// A column of a text table holds numbers if all its fields are numbers, and texts otherwise. A number with needless
// leading zeros is a text, because it is a name, and so is a whole number that would be rounded. An empty field is no
// attribute. In JSON and Parquet every value has
// the type that the file gives it: true and false become texts, dates and times ISO 8601 texts, and null is no
// attribute. A JSON line exported from an index, with the attributes in an object of that name, is read back unchanged.

// Attributes holds a file of attributes in memory.
type Attributes struct {
	path    string
	records []Description
	byID    map[string]int // nil if records have no ids
	joinBy  string         // "id", "row" or "data"
	found   int            // records that found their item
}

// AttributeSpec names a file of attributes and says which record belongs to which item.
type AttributeSpec struct {
	Path    string
	ID      string   // the column or key of the ids; "" means that of the items if the file has it, else id or ids
	ItemID  string   // name of the id column in the data of the items
	Columns []string // to take; nil means all
	Skip    []string // not to take, unless Columns names them
}

// Description is one record of a file of attributes.
type Description struct {
	ID         string
	Label      string
	Tags       []string
	Attributes []Attribute // in the order of the file

	place int // line or row, from 1
}

// Attribute is a named number or text.
type Attribute struct {
	Name     string
	Text     string // of a number, as the file writes it
	Number   float64
	IsNumber bool
}

// Join says how records were matched to items.
type Join struct {
	By        string `json:"joined_by"`               // "id", "row", or "data": from the files of the vectors
	Records   int    `json:"records"`                 // of the file
	Found     int    `json:"items_with_record"`       // items that have one
	Unmatched int    `json:"records_without_an_item"` // records that no item has
}

// attributeReader reads the records of files.
type attributeReader struct {
	spec    AttributeSpec
	own     bool // the file is one of vectors, whose ids are known
	skipBad bool // an unreadable record counts as an empty one

	unit     string
	hasIDs   bool
	id       string // the column of the ids, if there is one
	records  []Description
	columns  []attributeColumn // of the current file, as its records count them
	found    map[string]bool   // which of the columns to take it has
	exported bool              // it comes from an index: attributes are in an object
	seen     interner
	texts    map[string]bool // columns of text tables with anything but numbers
}

// attributeColumn is a column that is read.
type attributeColumn struct {
	name string
	role attributeRole
}

// attributeRole says what a column is for.
type attributeRole byte

const (
	roleNone attributeRole = iota
	roleID
	roleLabel
	roleTags
	roleValue
)

// OpenAttributes reads a file of attributes.
func OpenAttributes(spec AttributeSpec) (*Attributes, error) {
	r := &attributeReader{spec: spec, seen: interner{}, texts: map[string]bool{}}
	if err := r.readFile(spec.Path, ""); err != nil {
		return nil, err
	}
	a := &Attributes{path: spec.Path, records: r.settled(), joinBy: "row"}
	if !r.hasIDs {
		return a, nil
	}
	a.joinBy = "id"
	a.byID = make(map[string]int, len(r.records))
	for i, d := range r.records {
		if d.ID == "" {
			return nil, message.New("no-id", "%s: %s %d has no id, or an empty one", spec.Path, r.unit, d.place)
		}
		if first, ok := a.byID[d.ID]; ok {
			return nil, message.New("duplicate-id", "%s: %s %d has the id %q of %s %d",
				spec.Path, r.unit, d.place, d.ID, r.unit, a.records[first].place)
		}
		a.byID[d.ID] = i
	}
	return a, nil
}

// Attributes reads columns or keys of the vector files as attributes of their rows. Find then takes the place of a row
// in the files, counting bad rows.
func (s *Set) Attributes(columns []string) (*Attributes, error) {
	r := &attributeReader{spec: AttributeSpec{Columns: columns}, seen: interner{}, texts: map[string]bool{}}
	r.own, r.skipBad = true, s.spec.SkipBad
	for _, f := range s.files {
		if err := r.readFile(f.path, f.header.format); err != nil {
			return nil, err
		}
	}
	return &Attributes{path: s.files[0].path, records: r.settled(), joinBy: "data"}, nil
}

// readFile appends the records of a file, whose format is recognised if it is "".
func (r *attributeReader) readFile(path, format string) error {
	in, err := openInput(path)
	if err != nil {
		return err
	}
	defer in.Close()
	f, err := recognise(in, format)
	if _, unknown := errors.AsType[*SpecError](err); err != nil && !unknown {
		return err
	}
	t, err := openRecords(in, f.name, true)
	if err != nil {
		return err
	}
	defer t.close()
	if err := r.chooseID(t); err != nil {
		return err
	}
	r.unit, r.columns, r.found = t.unit, nil, map[string]bool{}
	t.choose(r.want)
	for k, c := range t.cells {
		if t.known[c.name] != k {
			return message.New("duplicate-column", "%s: two columns are called %q", path, c.name)
		}
	}
	for {
		err := t.next()
		if err == io.EOF {
			break
		}
		_, bad := err.(*badRecord)
		var d Description
		if err == nil {
			if d, err = r.describe(t); err != nil {
				err = fmt.Errorf("%s: %s %d: %w", path, t.unit, t.place, err)
				_, wrongSpec := errors.AsType[*SpecError](err)
				bad = !wrongSpec
			}
		}
		if err != nil && (!bad || !r.skipBad) {
			return err
		}
		if err := r.add(in, d, t.place); err != nil {
			return err
		}
	}
	for _, name := range r.spec.Columns {
		if !r.found[name] {
			return &SpecError{"Columns", message.New("no-such-column", "%s: there is no column or key %q", path, name)}
		}
	}
	return nil
}

// chooseID decides which column has the ids: the one asked for, or that of the items, or the usual one, or the unnamed
// first column that pandas writes.
func (r *attributeReader) chooseID(t *records) error {
	names := t.names()
	has := func(name string) bool { return slices.Contains(names, name) }
	r.hasIDs = !r.own
	switch {
	case r.own:
	case r.spec.ID != "":
		if r.id = r.spec.ID; !has(r.id) {
			return &SpecError{"AttributesID", message.New("no-such-column", "%s: has no column %q; it has %s",
				t.in.path, r.id, message.List(names))}
		}
	case r.spec.ItemID != "" && has(r.spec.ItemID):
		r.id = r.spec.ItemID
	case has("id"):
		r.id = "id"
	case has("ids"):
		r.id = "ids"
	default:
		r.hasIDs = t.indexed
	}
	return nil
}

// exportedKey is the key of the attributes in an item exported from an index; its code is under exportedCode.
const (
	exportedKey  = "attributes"
	exportedCode = "code"
)

// want decides what a column is for.
func (r *attributeReader) want(name string, object bool) bool {
	c := attributeColumn{name: name}
	chosen := slices.Contains(r.spec.Columns, name)
	if object && name == exportedKey && !chosen {
		r.exported = true
		return false
	}
	inner, isInner := strings.CutPrefix(name, exportedKey+".")
	switch {
	case isInner && r.exported && !chosen:
		c.name, c.role = inner, roleValue
		if chosen = slices.Contains(r.spec.Columns, inner); !chosen && r.spec.Columns != nil {
			return false
		}
	case r.hasIDs && name == r.id:
		c.role = roleID
	case !chosen && slices.Contains(r.spec.Skip, name):
		return false
	case name == "", name == "id", r.own && name == "ids", r.spec.Columns != nil && !chosen:
		return false // no attribute may be called id
	case name == "label":
		c.role = roleLabel
	case name == "tags" || name == "tag":
		c.role = roleTags
	default:
		c.role = roleValue
	}
	r.found[c.name] = true
	r.columns = append(r.columns, c)
	return true
}

// describe turns the current record into a description.
func (r *attributeReader) describe(t *records) (d Description, err error) {
	for _, k := range t.filled {
		c, column := &t.cells[k], &r.columns[k]
		if c.kind == fieldCell && len(c.text) == 0 ||
			r.exported && c.name == exportedCode && !slices.Contains(r.spec.Columns, exportedCode) {
			continue
		}
		if column.role == roleTags {
			tags, err := c.tags(r.seen, 0)
			if err != nil {
				return d, fmt.Errorf("column %q: %w", column.name, err)
			}
			d.Tags = append(d.Tags, tags...)
			continue
		}
		if c.kind == listCell || c.kind == otherCell {
			return d, &SpecError{"Columns", message.New("not-an-attribute", "column %q: an attribute is a number or a text, "+
				"not a list or an object: choose the columns to take", column.name)}
		}
		v := Attribute{Name: column.name, Text: r.seen.keepBytes(c.text)}
		switch column.role {
		case roleID:
			d.ID = v.Text
			continue
		case roleLabel:
			d.Label = v.Text
			continue
		}
		if c.kind != textCell {
			v.Number, v.IsNumber = plainNumber(v.Text)
		}
		if c.kind == numberCell && !v.IsNumber {
			return d, message.New("out-of-range", "column %q: the number %s is too large or would be rounded: give it as a text",
				column.name, v.Text)
		}
		if c.kind == fieldCell && !v.IsNumber {
			r.texts[v.Name] = true
		}
		d.Attributes = append(d.Attributes, v)
	}
	return d, nil
}

// Memory of a record and of an attribute, besides texts.
const recordBytes, attributeBytes = 128, 64

// add appends a record.
func (r *attributeReader) add(in *input, d Description, place int) error {
	if len(r.records) == maxRows {
		return fmt.Errorf("%s: has more than %d rows", in.path, maxRows)
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
	return in.hold(held)
}

// settled returns the records with texts in place of numbers in columns that also hold texts.
func (r *attributeReader) settled() []Description {
	for _, d := range r.records {
		for i, v := range d.Attributes {
			if r.texts[v.Name] {
				d.Attributes[i] = Attribute{Name: v.Name, Text: v.Text}
			}
		}
	}
	return r.records
}

// Match checks that rows with these ids, nil if they have none, can be matched: not by row, whose order may differ.
func (a *Attributes) Match(ids []string) error {
	if a.joinBy != "row" || ids == nil {
		return nil
	}
	_, err := a.Records()
	return err
}

// Path returns the path of the file.
func (a *Attributes) Path() string { return a.path }

// InData reports whether the attributes come from the vector files, so that Find takes places in the files.
func (a *Attributes) InData() bool { return a.joinBy == "data" }

// Find returns the record of an item: the one with its id, or that of its row if records have no ids.
func (a *Attributes) Find(id string, row int) Description {
	if a.byID != nil {
		i, ok := a.byID[id]
		if !ok {
			return Description{}
		}
		row = i
	}
	if row >= len(a.records) {
		return Description{}
	}
	a.found++
	return a.records[row]
}

// Check reports, after Find for all rows, whether the file describes these items: records without ids must be as
// many as the rows, and of records with ids at least one must have been found.
func (a *Attributes) Check(rows int) error {
	switch {
	case a.joinBy == "data" && a.found < rows:
		return fmt.Errorf("%s: it has changed while it was read", a.path)
	case a.joinBy == "row" && rows != len(a.records):
		return message.New("wrong-count", "%s: %d records for %d rows: give one per row, or a column with ids",
			a.path, len(a.records), rows)
	case a.found == 0 && len(a.records) > 0:
		return message.New("no-id-matches",
			"%s: none of its %d ids is in the data: does it describe other items, or is another column the id?",
			a.path, len(a.records))
	}
	return nil
}

// Records returns the records with their ids, or an error if they have none.
func (a *Attributes) Records() ([]Description, error) {
	if a.byID == nil {
		return nil, &SpecError{"AttributesID", message.New("no-id-column", "%s: it has no column id: name its column of ids",
			a.path)}
	}
	return a.records, nil
}

// Join says, after Find for all rows, how records were matched to items.
func (a *Attributes) Join() Join {
	j := Join{By: a.joinBy, Records: len(a.records), Found: a.found}
	if a.joinBy == "id" {
		j.Unmatched = len(a.records) - a.found
	}
	return j
}

// plainNumber parses a number as people write quantities: decimal, finite, without needless leading zeros, and not so
// long that it would be rounded.
func plainNumber(s string) (float64, bool) {
	digits := strings.TrimLeft(s, "+-")
	if digits == "" || strings.ContainsAny(s, "xXpP_nNiI") {
		return 0, false
	}
	if len(digits) > 1 && digits[0] == '0' && digits[1] != '.' && digits[1]|0x20 != 'e' {
		return 0, false
	}
	x, err := strconv.ParseFloat(s, 64)
	return x, err == nil && !math.IsInf(x, 0) && index.IsExact(s, x)
}
