package dataset

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Attributes are what filters compare and answers show: prices, dates, names. They come from a table with a header
// (CSV, TSV), from JSON lines or from Parquet, compressed or not, one record per item. A record belongs to the item
// with its id; where the file has no ids, record i belongs to row i. The columns label and tags fill in for items whose
// data have none.
//
// A column of a text table holds numbers if all its fields are numbers, and texts otherwise. A number with needless
// leading zeros is a text, because it is a name. An empty field is no attribute. In JSON and Parquet every value has
// the type that the file gives it: true and false become texts, dates and times texts of ISO 8601, and null is no
// attribute.

// Attributes is a file of attributes in memory.
type Attributes struct {
	path    string
	unit    string // what places count: "line" or "row"
	records []Description
	byID    map[string]int // nil when records go by row
	found   int            // records that found their item
}

// Description is what a file of attributes says about one item.
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

// ReadAttributes reads a file. The column id holds the ids if the file has it; otherwise, or for "", the column id or
// ids does. Columns are those to take, nil for all.
func ReadAttributes(path, id string, columns []string) (*Attributes, error) {
	in, err := openInput(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	r := &attributeReader{in: in, id: id, columns: columns, found: make([]bool, len(columns))}
	r.seen, r.keys = interner{}, map[string]bool{}
	if err := r.read(); err != nil {
		return nil, err
	}
	for i, name := range columns {
		if !r.found[i] {
			return nil, fmt.Errorf("%s: there is no column or key %q", path, name)
		}
	}
	a := &Attributes{path: path, unit: r.unit, records: r.records}
	if !r.hasIDs {
		return a, nil
	}
	a.byID = make(map[string]int, len(r.records))
	for i, d := range r.records {
		if d.ID == "" {
			return nil, fmt.Errorf("%s: %s %d: the id is empty", path, a.unit, d.place)
		}
		if first, ok := a.byID[d.ID]; ok {
			return nil, fmt.Errorf("%s: %s %d has the id %q of %s %d",
				path, a.unit, d.place, d.ID, a.unit, a.records[first].place)
		}
		a.byID[d.ID] = i
	}
	return a, nil
}

// Find returns what is known about an item: the record with its id, or the one of its row where records have no ids.
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

// Check says, after Find was called for all rows, whether the file describes these items: records without ids must be
// as many as the rows, and of records with ids at least one must have been found.
func (a *Attributes) Check(rows int) error {
	if a.byID == nil && rows != len(a.records) {
		return fmt.Errorf("%s: %d records for %d rows: give one per row, or a column with ids",
			a.path, len(a.records), rows)
	}
	if a.found == 0 && len(a.records) > 0 {
		return fmt.Errorf("%s: none of its %d ids is in the data: does it describe other items, or is another column the id?",
			a.path, len(a.records))
	}
	return nil
}

// attributeRole is what a column or key is for.
type attributeRole byte

const (
	roleNone attributeRole = iota
	roleID
	roleLabel
	roleTags
	roleValue
)

// put takes the value of a column or key into the record.
func (d *Description) put(role attributeRole, v Attribute) {
	switch role {
	case roleID:
		d.ID = v.Text
	case roleLabel:
		d.Label = v.Text
	case roleTags:
		d.Tags = append(d.Tags, v.Text)
	case roleValue:
		d.Attributes = append(d.Attributes, v)
	}
}

// role tells what a column or key is for, and notes that it was found.
func (r *attributeReader) role(name string) attributeRole {
	i := slices.Index(r.columns, name)
	if i >= 0 {
		r.found[i] = true
	}
	switch {
	case r.id != "" && name == r.id, r.id == "" && (name == "id" || name == "ids"):
		return roleID
	case r.columns != nil && i < 0, name == "id", name == "":
		return roleNone // no attribute may be called id
	case name == "label":
		return roleLabel
	case name == "tags" || name == "tag":
		return roleTags
	}
	return roleValue
}

// roles tells what the columns of a table are for. Where the column of ids has another name here than in the data, the
// usual ones count, and last the unnamed first column that pandas writes.
func (r *attributeReader) roles(names []string) ([]attributeRole, error) {
	if !slices.Contains(names, r.id) {
		r.id = ""
	}
	roles := make([]attributeRole, len(names))
	seen := make(map[string]bool, len(names))
	for j, name := range names {
		if seen[name] {
			return nil, fmt.Errorf("%s: two columns are called %q", r.in.path, name)
		}
		seen[name] = true
		roles[j] = r.role(name)
	}
	r.hasIDs = slices.Contains(roles, roleID)
	if !r.hasIDs && len(names) > 1 && names[0] == "" {
		roles[0], r.hasIDs = roleID, true
	}
	return roles, nil
}

// splitTags cuts a field of tags at bars, semicolons and commas.
func (r *attributeReader) splitTags(field string) []string {
	var tags []string
	for _, tag := range strings.FieldsFunc(field, func(c rune) bool { return strings.ContainsRune("|;,", c) }) {
		if tag = strings.TrimSpace(tag); tag != "" {
			tags = append(tags, r.seen.keep(tag))
		}
	}
	return tags
}

// plainNumber reads a number as people write quantities: decimal, finite and without needless leading zeros.
func plainNumber(s string) (float64, bool) {
	digits := strings.TrimLeft(s, "+-")
	if digits == "" || strings.ContainsAny(s, "xXpP_nNiI") {
		return 0, false
	}
	if len(digits) > 1 && digits[0] == '0' && digits[1] != '.' && digits[1]|0x20 != 'e' {
		return 0, false
	}
	x, err := strconv.ParseFloat(s, 64)
	return x, err == nil && !math.IsInf(x, 0)
}
