package dataset

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hashgrove/internal/fault"
	"hashgrove/internal/plain"
)

// Attributes are what filters compare and answers show: prices, dates, names. They come from a table with a header
// (CSV, TSV), from JSON lines or from Parquet, compressed or not, one record per item, or from the files of the
// vectors. Records are matched to items by id; only if neither has ids, or on request, record i belongs to row i. The
// columns label and tags fill in for items whose data have none.
//
// A column of a text table holds numbers if all its fields are numbers, and texts otherwise. A number with needless
// leading zeros is a text, because it is a name. An empty field is no attribute. In JSON and Parquet every value has
// the type that the file gives it: true and false become texts, dates and times ISO 8601 texts, and null is no
// attribute. A JSON line exported from an index, with the attributes in an object of that name, is read back unchanged.

// Attributes holds a file of attributes in memory.
type Attributes struct {
	path    string
	unit    string // what places count: "line" or "row"
	records []Description
	byID    map[string]int // nil if records have no ids
	joinBy  string         // "id", "row" or "data"
	asked   bool           // by row, even if there are ids
	found   int            // records that found their item
}

// AttributeSpec names a file of attributes and says which record belongs to which item.
type AttributeSpec struct {
	Path    string
	ID      string   // the column or key of the ids; "" means that of the items if the file has it, else id or ids
	ItemID  string   // name of the id column in the data of the items
	Columns []string // to take; nil means all
	ByRow   bool     // record i belongs to row i, even if there are ids
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

// OpenAttributes reads a file of attributes.
func OpenAttributes(spec AttributeSpec) (*Attributes, error) {
	r := newAttributeReader(spec.Columns)
	r.id = spec.ItemID
	if spec.ID != "" {
		r.id, r.mustHaveID = spec.ID, true
	}
	if err := r.readFile(spec.Path); err != nil {
		return nil, err
	}
	r.settle()
	a := &Attributes{path: spec.Path, unit: r.unit, records: r.records, asked: spec.ByRow, joinBy: "row"}
	if !r.hasIDs || spec.ByRow {
		return a, nil
	}
	a.joinBy = "id"
	a.byID = make(map[string]int, len(r.records))
	for i, d := range r.records {
		if d.ID == "" {
			return nil, fault.New("no-id", "%s: %s %d: the id is empty", spec.Path, a.unit, d.place)
		}
		if first, ok := a.byID[d.ID]; ok {
			return nil, fault.New("duplicate-id", "%s: %s %d has the id %q of %s %d",
				spec.Path, a.unit, d.place, d.ID, a.unit, a.records[first].place)
		}
		a.byID[d.ID] = i
	}
	return a, nil
}

// Attributes reads columns or keys of the vector files as attributes of their rows. Find then takes the place of a row
// in the files, counting bad rows.
func (s *Set) Attributes(columns []string) (*Attributes, error) {
	r := newAttributeReader(columns)
	r.own, r.skipBad = true, s.spec.SkipBad
	for _, f := range s.files {
		switch f.header.format {
		case "csv", "tsv", "jsonl", "parquet":
		default:
			return nil, fmt.Errorf("%s: attributes are read from CSV, TSV, JSON lines and Parquet, not from %s: "+
				"give them in a file of their own", f.path, f.header.format)
		}
		clear(r.found) // every file must have them
		r.format = f.header.format
		if err := r.readFile(f.path); err != nil {
			return nil, err
		}
	}
	r.settle()
	return &Attributes{path: s.files[0].path, unit: "row", records: r.records, joinBy: "data"}, nil
}

// Match decides how records belong to rows, given the ids of the first rows, or nil if rows have none. Joining records
// with ids by row must be requested, because a different order would go unnoticed.
func (a *Attributes) Match(ids []string) error {
	if a.joinBy != "row" || a.asked || ids == nil {
		return nil
	}
	return &SpecError{"AttributesByRow", fault.New("no-id-column", "%s: the items have ids, and it has no column id: "+
		"name its column of ids, or join it row by row", a.path)}
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
		return fault.New("wrong-count", "%s: %d records for %d rows: give one per row, or a column with ids",
			a.path, len(a.records), rows)
	case a.found == 0 && len(a.records) > 0:
		return fault.New("no-id-matches",
			"%s: none of its %d ids is in the data: does it describe other items, or is another column the id?",
			a.path, len(a.records))
	}
	return nil
}

// Records returns the records with their ids, or an error if they have none.
func (a *Attributes) Records() ([]Description, error) {
	if a.byID == nil {
		return nil, &SpecError{"AttributesID", fmt.Errorf("%s: it has no column id: name its column of ids", a.path)}
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

// attributeRole says what a column or key is for.
type attributeRole byte

const (
	roleNone attributeRole = iota
	roleID
	roleLabel
	roleTags
	roleValue
)

// put stores the value of a column or key in the record.
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

// role returns what a column or key is for, and records that it was found.
func (r *attributeReader) role(name string) attributeRole {
	i := slices.Index(r.columns, name)
	if i >= 0 {
		r.found[i] = true
	}
	switch {
	case r.own && (name == "id" || name == "ids"):
		return roleNone // the rows have their ids already
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

// roles returns what the columns of a table are for. If the column of ids is called differently here than in the data,
// the usual names count, and last the unnamed first column that pandas writes.
func (r *attributeReader) roles(names []string) ([]attributeRole, error) {
	if !slices.Contains(names, r.id) {
		if r.mustHaveID {
			return nil, &SpecError{"AttributesID", fault.New("no-such-column", "%s: has no column %q; it has %s",
				r.in.path, r.id, plain.List(names))}
		}
		r.id = ""
	}
	roles := make([]attributeRole, len(names))
	seen := make(map[string]bool, len(names))
	for j, name := range names {
		if roles[j] = r.role(name); seen[name] && roles[j] != roleNone {
			return nil, fault.New("duplicate-column", "%s: two columns are called %q", r.in.path, name)
		}
		seen[name] = true
	}
	r.hasIDs = slices.Contains(roles, roleID)
	if !r.own && !r.hasIDs && len(names) > 1 && names[0] == "" {
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

// plainNumber parses a number as people write quantities: decimal, finite and without needless leading zeros.
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
