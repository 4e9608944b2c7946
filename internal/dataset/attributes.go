package dataset

import (
	"cmp"
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

// Attributes holds a file of attributes in memory: what its records say of items.
type Attributes struct {
	path  string
	items []index.Item     // with ids, if the records have any
	byID  map[index.ID]int // nil if they have none
	own   bool             // the file is one of the rows, so that places are those in the files, counting bad rows
	found int              // items that have a record
}

// AttributeSpec names a file of attributes and says which record belongs to which item.
type AttributeSpec struct {
	Path    string
	ID      string   // the column or key of the ids; "" means that of the items if the file has it, else id or ids
	ItemID  string   // name of the id column in the data of the items
	Columns []string // to take; nil means all
	Skip    []string // not to take, unless Columns names them
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
	Attributes
	spec    AttributeSpec
	skipBad bool // an unreadable record counts as an empty one

	id       string            // the column of the ids, if byID is not nil
	columns  []attributeColumn // of the current file, as its records count them
	has      map[string]bool   // which of the columns to take it has
	exported bool              // it comes from an index: attributes are in an object
	seen     interner
	texts    map[string]bool // of the columns of text tables, whether they have anything but numbers
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
	err := r.read(spec.Path, "")
	r.settle()
	return &r.Attributes, err
}

// Attributes reads columns or keys of the files of the rows as attributes.
func (s *Set) Attributes(columns []string) (*Attributes, error) {
	r := &attributeReader{spec: AttributeSpec{Columns: columns}, seen: interner{}, texts: map[string]bool{}}
	r.own, r.skipBad = true, s.spec.SkipBad
	for _, f := range s.files {
		if err := r.read(f.path, f.header.format); err != nil {
			return nil, err
		}
	}
	r.path = s.files[0].path
	r.settle()
	return &r.Attributes, nil
}

// read appends the records of a file, whose format is recognised if it is "".
func (r *attributeReader) read(path, format string) error {
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
	r.path, r.columns, r.has = path, nil, map[string]bool{}
	t.takeAll(r.want)
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
		var it index.Item
		if err == nil {
			if it, err = r.item(t); err != nil {
				err = fmt.Errorf("%s: %s %d: %w", path, t.unit, t.place, err)
				_, wrongSpec := errors.AsType[*SpecError](err)
				bad = !wrongSpec
			}
		}
		if err != nil && (!bad || !r.skipBad) {
			return err
		}
		if len(r.items) == maxRows {
			return fmt.Errorf("%s: has more than %d rows", path, maxRows)
		}
		r.items = append(r.items, it)
		if err := in.hold(recordBytes(it)); err != nil {
			return err
		}
	}
	for _, name := range r.spec.Columns {
		if !r.has[name] {
			return &SpecError{"Columns", message.New("no-such-column", "%s: there is no column or key %q", path, name)}
		}
	}
	return nil
}

// chooseID decides which column has the ids: the one asked for, or that of the items, or the usual one, or the unnamed
// first column that pandas writes.
func (r *attributeReader) chooseID(t *records) error {
	if r.own {
		return nil
	}
	names := t.names()
	for _, name := range []string{r.spec.ID, r.spec.ItemID, "id", "ids"} {
		if name != "" && slices.Contains(names, name) {
			r.id, r.byID = name, map[index.ID]int{}
			return nil
		}
		if name != "" && name == r.spec.ID {
			return &SpecError{"AttributesID", message.New("no-such-column", "%s: has no column %q; it has %s",
				t.in.path, name, message.List(names))}
		}
	}
	if t.indexed {
		r.byID = map[index.ID]int{}
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
	case r.byID != nil && name == r.id:
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
	r.has[c.name] = true
	r.columns = append(r.columns, c)
	return true
}

// item returns what the current record says.
func (r *attributeReader) item(t *records) (it index.Item, err error) {
	id := ""
	for _, k := range t.filled {
		c, column := &t.cells[k], &r.columns[k]
		if c.kind == fieldCell && len(c.text) == 0 ||
			r.exported && c.name == exportedCode && !slices.Contains(r.spec.Columns, exportedCode) {
			continue
		}
		if column.role == roleTags {
			tags, err := c.tags(r.seen, 0)
			if err != nil {
				return it, fmt.Errorf("column %q: %w", column.name, err)
			}
			it.Tags = append(it.Tags, tags...)
			continue
		}
		if c.kind == listCell || c.kind == otherCell {
			return it, &SpecError{"Columns", message.New("not-an-attribute", "column %q: an attribute is a number or a text, "+
				"not a list or an object: choose the columns to take", column.name)}
		}
		text := r.seen.keepBytes(c.text)
		number, isNumber := 0.0, false
		if c.kind != textCell {
			number, isNumber = plainNumber(text)
		}
		value := index.String(text)
		switch {
		case column.role == roleID:
			id = text
			continue
		case column.role == roleLabel:
			it.Label = text
			continue
		case c.kind == numberCell && !isNumber:
			return it, message.New("out-of-range", "column %q: the number %s is too large or would be rounded: "+
				"give it as a text", column.name, text)
		case c.kind == numberCell:
			value = index.Number(number)
		case c.kind == fieldCell:
			r.texts[column.name] = r.texts[column.name] || !isNumber
		}
		if it.Attributes == nil {
			it.Attributes = map[string]index.Value{}
		}
		it.Attributes[column.name] = value
	}
	if r.byID == nil {
		return it, nil
	}
	if id == "" {
		return it, message.New("no-id", "it has no id, or an empty one")
	}
	if it.ID, err = index.ParseID(id); err != nil {
		return it, err
	}
	if _, twice := r.byID[it.ID]; twice {
		return it, message.New("duplicate-id", "it has the id %q of an earlier one", id)
	}
	r.byID[it.ID] = len(r.items)
	return it, nil
}

// recordBytes returns the memory of a record.
func recordBytes(it index.Item) int {
	held := 128 + len(it.Label)
	for _, tag := range it.Tags {
		held += entryBytes + len(tag)
	}
	for _, v := range it.Attributes {
		text, _ := v.Text()
		held += 64 + len(text)
	}
	if it.Attributes != nil {
		held += 256 // of the map
	}
	return held
}

// settle turns texts into numbers in columns of text tables that hold nothing else.
func (r *attributeReader) settle() {
	for _, it := range r.items {
		for name, v := range it.Attributes {
			texts, ofTable := r.texts[name]
			text, _ := v.Text()
			if number, isNumber := plainNumber(text); ofTable && !texts && isNumber {
				it.Attributes[name] = index.Number(number)
			}
		}
	}
}

// Match checks that rows with these ids, nil if they have none, can be matched: not by row, whose order may differ.
func (a *Attributes) Match(ids []string) error {
	if a.own || a.byID != nil || ids == nil {
		return nil
	}
	return a.needIDs()
}

func (a *Attributes) needIDs() error {
	if a.byID != nil {
		return nil
	}
	return &SpecError{"AttributesID", message.New("no-id-column", "%s: it has no column id: name its column of ids",
		a.path)}
}

// describe adds what the file says of an item: its record is that with its id, or that of its row if records have none.
func (a *Attributes) describe(it *index.Item, row int) {
	if place, found := a.byID[it.ID]; found {
		row = place
	} else if a.byID != nil {
		return
	}
	if row >= len(a.items) {
		return
	}
	a.found++
	said := a.items[row]
	if it.Label = cmp.Or(it.Label, said.Label); len(it.Tags) == 0 {
		it.Tags = said.Tags
	}
	it.Attributes = said.Attributes
}

// Join checks, after describe for all rows, whether the file describes these items, and says how records were matched.
// Records without ids must be as many as the rows, and of records with ids at least one must have been found.
func (a *Attributes) Join(rows int) (Join, error) {
	j := Join{By: "row", Records: len(a.items), Found: a.found}
	switch {
	case a.own:
		j.By = "data"
	case a.byID != nil:
		j.By, j.Unmatched = "id", j.Records-j.Found
	}
	switch {
	case a.own && a.found < rows:
		return j, fmt.Errorf("%s: it has changed while it was read", a.path)
	case j.By == "row" && rows != j.Records:
		return j, message.New("wrong-count", "%s: %d records for %d rows: give one per row, or a column with ids",
			a.path, j.Records, rows)
	case a.found == 0 && j.Records > 0:
		return j, message.New("no-id-matches",
			"%s: none of its %d ids is in the data: does it describe other items, or is another column the id?",
			a.path, j.Records)
	}
	return j, nil
}

// Changes returns the records as changes of items by id.
func (a *Attributes) Changes() (*index.Batch, error) {
	b := &index.Batch{}
	for _, it := range a.items {
		b.IDs, b.Labels = append(b.IDs, it.ID), append(b.Labels, it.Label)
		b.Tags, b.Attributes = append(b.Tags, it.Tags), append(b.Attributes, it.Attributes)
	}
	return b, a.needIDs()
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
