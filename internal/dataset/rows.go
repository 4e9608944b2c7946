package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"hashgrove/internal/message"
)

// Tables are CSV (commas, or semicolons if there are none), TSV, JSON lines and Parquet. The vector consists of the
// columns named by the caller; or it is the column of lists with a usual name, or the only one; or every column of
// numbers without another use. The first rows of a text, and the first of JSON lines, decide what a column holds, so a
// single bad value makes a bad row and does not change the meaning of its column. In JSON lines a row may also be just
// the list.

// tableRows reads vectors or codes and what comes with them from a table.
type tableRows struct {
	in        *input
	t         *records
	row       int  // rows read
	nans      bool // missing values are NaN
	dim       int  // values of a row, -1 before the first good one
	seen      interner
	columns   Columns
	vector    []part
	lists     bool   // some parts of the vector are lists
	sides     [3]int // the cells of labels, ids and tags, or -1
	separator byte   // of tags, if the first rows tell
	form      *codeForm
}

// part is a part of the vector.
type part struct {
	cell int
	list bool
}

// The order of tableRows.sides.
const (
	sideLabel = iota
	sideID
	sideTags
)

func openTable(format string) func(in *input, spec *Spec) (reader, header, error) {
	return func(in *input, spec *Spec) (reader, header, error) {
		h := header{format: format, rows: -1, dim: -1}
		r, err := newTableRows(in, format, spec)
		if err == nil && spec.Codes {
			h.code, err = sampleCodes(in, format, spec)
			h.dim, r.form = (h.code.bits+7)/8, &h.code
		}
		if err != nil {
			return nil, h, err
		}
		h.rows, h.columns = r.t.rows, r.columns
		if !spec.Codes && len(r.vector) > 0 && !r.lists {
			if h.dim, r.dim = len(r.vector), len(r.vector); r.t.named {
				h.names = r.columns.Vector
			}
		}
		return r, h, nil
	}
}

func newTableRows(in *input, format string, spec *Spec) (*tableRows, error) {
	asked := append(askedNames(spec.Vector), spec.Label, spec.Tags, spec.ID)
	if spec.Known != nil {
		asked = append(asked, spec.Known.Vector...)
	}
	t, err := openRecords(in, format, spec.Codes, asked...)
	if err != nil {
		return nil, err
	}
	r := &tableRows{in: in, dim: -1, seen: interner{}, nans: spec.Missing, t: t}
	t.lists = !spec.Codes
	return r, r.chooseColumns(spec)
}

// chooseColumns decides what each column is used for.
func (r *tableRows) chooseColumns(spec *Spec) error {
	t, taken := r.t, map[int]bool{}
	names := t.names()
	asked := [3]string{sideLabel: spec.Label, sideID: spec.ID, sideTags: spec.Tags}
	if known := spec.Known; known != nil {
		asked[sideLabel] = knownColumn(spec.Label, known.Label, spec.LabelsFile, names)
		asked[sideTags] = knownColumn(spec.Tags, known.Tags, spec.TagsFile, names)
	}
	usual := [3][]string{sideLabel: tableLabels, sideID: usualIDs, sideTags: usualTags}
	for k, name := range [3]*string{sideLabel: &r.columns.Label, sideID: &r.columns.ID, sideTags: &r.columns.Tags} {
		j, err := t.side(asked[k], usual[k], k)
		if err != nil {
			return err
		}
		r.sides[k] = -1
		if *name = asked[k]; j >= 0 {
			*name, taken[j] = names[j], true
		} else if *name == "" && t.open && spec.Codes { // which the first of the JSON lines may lack
			*name = [3]string{sideLabel: "label", sideID: "id", sideTags: "tags"}[k]
		}
		if *name != "" || j >= 0 {
			r.sides[k] = t.take(*name, j)
		}
		if k == sideTags && j >= 0 && t.sample != nil {
			r.separator = tagSeparator(t.sampled(j)...)
		}
	}
	chosen, err := t.vector(spec, taken)
	if err != nil {
		return err
	}
	for _, j := range chosen {
		c := t.columns[j]
		if t.typed && !c.number && !spec.Codes {
			return message.New("not-numbers", "%s: column %q does not hold numbers", t.in.path, c.name)
		}
		k := t.take(c.name, j)
		t.cells[k].asNumbers = t.typed && !spec.Codes
		r.vector, r.lists, taken[j] = append(r.vector, part{k, c.list}), r.lists || c.list, true
		r.columns.Vector = append(r.columns.Vector, c.name)
	}
	r.columns.List = r.lists && len(chosen) == 1
	for j, name := range names {
		if !taken[j] {
			r.columns.Unused = append(r.columns.Unused, name)
		}
	}
	return nil
}

// side returns the column of labels, ids or tags: the one asked for, or the first with a usual name, or -1.
func (t *records) side(asked string, usual []string, side int) (int, error) {
	if asked != "" {
		j, err := t.find(asked)
		switch {
		case err != nil && t.open:
			return -1, nil // a later row may have it
		case err == nil && !t.columns[j].fits(side):
			err = message.New("not-texts", "%s: column %q holds neither text nor single numbers", t.in.path, asked)
		}
		return j, err
	}
	if j := t.usual(usual, side); j >= 0 || side != sideID || !t.indexed {
		return j, nil
	}
	return 0, nil
}

// fits reports whether the column can hold labels, ids or tags.
func (c column) fits(side int) bool { return c.text && (c.single || side == sideTags) }

// usual returns the first column with one of the names, or -1.
func (t *records) usual(names []string, side int) int {
	for _, name := range names {
		j := slices.IndexFunc(t.columns, func(c column) bool { return c.fits(side) && strings.EqualFold(c.name, name) })
		if j >= 0 && t.named {
			return j
		}
	}
	return -1
}

// vector returns the columns that make up the vector; the taken ones have another use.
func (t *records) vector(spec *Spec, taken map[int]bool) ([]int, error) {
	may := func(j int) bool { return !taken[j] && (t.columns[j].number || t.columns[j].null && spec.Missing) }
	names := t.names()
	known := names
	if !t.named {
		known = nil
	}
	switch known = spec.knownVector(known); {
	case spec.Codes:
		parts := codeColumns(spec.Vector, names)
		if len(parts) == 0 {
			return nil, &SpecError{"Vector", message.New("no-such-column",
				"%s: which column has the codes? It has %s, and neither code nor code_0: name one", t.in.path, message.List(names))}
		}
		return t.findAll(parts)
	case known != nil:
		return t.findAll(known)
	case spec.Vector != "":
		return t.choose(spec.Vector, may)
	case t.open && !t.named:
		return nil, nil // the rows are lists
	}
	var numbers, lists []int
	for j, c := range t.columns {
		switch {
		case may(j) && c.list:
			lists = append(lists, j)
		case may(j):
			numbers = append(numbers, j)
		}
	}
	for _, name := range slices.Concat(usualKeys, usualVectors) {
		if j, found := t.at(name); found && t.named && slices.Contains(lists, j) {
			return []int{j}, nil
		}
	}
	switch {
	case len(lists) == 1:
		return lists, nil
	case len(lists) > 1:
		return nil, &SpecError{"Vector", message.New("which-vector",
			"%s: which column holds the vectors? It has %s and %s: name one",
			t.in.path, t.columns[lists[0]].name, t.columns[lists[1]].name)}
	case len(numbers) == 0:
		return nil, message.New("no-numbers", "%s: has no column of numbers or of lists of numbers; it has %s; "+
			"a number has a decimal point, no comma", t.in.path, message.List(names))
	}
	return numbers, nil
}

// missingValue is the error for a value that may be missing where Spec.Missing allows it.
type missingValue struct{ error }

func (e missingValue) Unwrap() error { return e.error }

// bad returns an error about the current row.
func (r *tableRows) bad(column string, cause error) error {
	line := 0
	if r.t.unit == "line" {
		line = r.t.place
		cause = fmt.Errorf("%w (line %d)", cause, line)
	}
	err := badRow(r.in.path, r.row-1, column, cause)
	_, err.Missing = errors.AsType[missingValue](cause)
	err.Line = line
	return err
}

func (r *tableRows) next(rec *record) error {
	*rec = record{vector: rec.vector[:0], tags: rec.tags[:0], finite: r.form != nil}
	err := r.t.next()
	if err == io.EOF {
		return err
	}
	r.row++
	if bad, ok := err.(*badRecord); ok {
		return r.bad(bad.column, bad.error)
	}
	if err != nil {
		return err
	}
	column, err := "", error(nil)
	if r.t.list != nil {
		rec.vector, err = appendNumbers(rec.vector, r.t.list, r.nans)
	}
	for i := 0; i < len(r.vector) && r.t.list == nil && err == nil; i++ {
		column = r.columns.Vector[i]
		rec.vector, err = r.appendPart(rec.vector, r.vector[i])
	}
	if err == nil {
		column, err = r.addSides(rec)
	}
	if err != nil {
		return r.bad(column, err)
	}
	if r.form != nil {
		return r.trim(rec)
	}
	if column = ""; r.columns.List && r.t.named && r.t.list == nil {
		column = r.columns.Vector[0]
	}
	return r.checkValues(len(rec.vector), column)
}

// checkValues compares the number of values of the current row with that of the rows before.
func (r *tableRows) checkValues(n int, column string) error {
	switch {
	case n == 0:
		return r.bad(column, message.New("no-values", "a vector without values"))
	case r.dim < 0:
		r.dim = n
	case n != r.dim:
		return r.bad(column, message.New("wrong-dim", "%d values instead of %d", n, r.dim))
	}
	return r.in.worth(n)
}

// cell returns a cell if the current record has it.
func (r *tableRows) cell(k int) *cell {
	if k < 0 || r.t.cells[k].place != r.t.place {
		return nil
	}
	return &r.t.cells[k]
}

// addSides adds the label, the id and the tags, or says in which column there is something else.
func (r *tableRows) addSides(rec *record) (column string, err error) {
	for k, of := range r.sides {
		c := r.cell(of)
		rec.hasTags = rec.hasTags || k == sideTags && of >= 0 && !r.t.open && r.form == nil
		switch {
		case c == nil:
		case k == sideTags:
			tags, err := c.tags(r.seen, r.separator)
			if err != nil {
				return c.name, err
			}
			rec.tags, rec.hasTags = append(rec.tags, tags...), true
		case c.kind == listCell || c.kind == otherCell:
			return c.name, message.New("not-a-text", "%s instead of a string or a number", excerpt(c.text))
		case k == sideLabel:
			rec.label, rec.hasLabel = r.seen.keepBytes(c.text), true
		default:
			rec.id = string(c.text)
		}
	}
	return "", nil
}

// appendPart appends a part of the vector, or of a code.
func (r *tableRows) appendPart(dst []float32, p part) ([]float32, error) {
	c := r.cell(p.cell)
	switch {
	case c == nil && r.form != nil:
		return dst, message.New("no-code", "no code")
	case r.form != nil:
		return r.form.appendPart(dst, c)
	case c == nil && p.list:
		return dst, message.New("no-vector", "no vector")
	case c == nil && r.nans:
		return append(dst, nan), nil
	case c == nil:
		return dst, missingValue{message.New("no-value", "no value")}
	case c.asNumbers:
		_, missing := errors.AsType[missingValue](c.bad)
		if missing && r.nans {
			return append(dst, c.numbers...), nil
		}
		return append(dst, c.numbers...), c.bad
	case c.kind == fieldCell:
		return r.appendField(dst, c.text, p.list)
	case p.list && c.kind == listCell:
		return appendNumbers(dst, c.text, r.nans)
	case p.list:
		return dst, message.New("not-a-list", "%s instead of a list of numbers", excerpt(c.text))
	case c.kind != numberCell:
		return dst, message.New("not-a-number", "%s instead of a number", excerpt(c.text))
	}
	v, err := jsonNumber(c.text, r.nans)
	return append(dst, v), err
}

// appendField appends what a field of a text table holds.
func (r *tableRows) appendField(dst []float32, field []byte, list bool) ([]float32, error) {
	v, err := parseFloat(field)
	missing := err != nil && missingText(field)
	switch {
	case err == nil:
		return append(dst, v), nil
	case missing && r.nans:
		return append(dst, nan), nil
	case missing && len(field) == 0:
		return dst, missingValue{message.New("no-value", "an empty field instead of a number")}
	case missing:
		return dst, missingValue{fmt.Errorf("%s %w", excerpt(field), err)}
	case !list || err == errTooLarge:
		return dst, fmt.Errorf("%s %w", excerpt(field), err)
	}
	dst, wrong, err := appendList(dst, field)
	if err != nil {
		err = fmt.Errorf("%s %w", excerpt(wrong), err)
	}
	return dst, err
}

func (r *tableRows) waits() bool { return r.in.waits(0) }

// Close ends the reading.
func (r *tableRows) Close() error { return errors.Join(r.t.close(), r.in.Close()) }

// appendList appends the numbers of a list in one field: separated by spaces or semicolons, or in brackets of any kind,
// where commas work too. Elsewhere "1,5" may be a number with a decimal comma, so it is an error. With an error it
// returns the text that is not a number.
func appendList(dst []float32, b []byte) ([]float32, []byte, error) {
	whole, ends := bytes.TrimSpace(b), "; \t\n"
	b = whole
	if len(b) > 1 {
		switch string(b[:1]) + string(b[len(b)-1:]) {
		case "[]", "{}", "()":
			b, ends = bytes.TrimSpace(b[1:len(b)-1]), ",; \t\n"
		}
	}
	for from := len(dst); len(b) > 0; {
		i := bytes.IndexAny(b, ends)
		if i < 0 {
			i = len(b)
		}
		v, err := parseFloat(b[:i])
		if err != nil {
			return dst, b[:i], err
		}
		if len(dst)-from == maxDim {
			return dst, whole, fmt.Errorf("holds more than %d values", maxDim)
		}
		dst = append(dst, v)
		// One comma or semicolon, with spaces around it, or spaces alone.
		b = bytes.TrimLeft(b[i:], " \t\n")
		if len(b) > 0 && strings.IndexByte(ends, b[0]) >= 0 {
			if b = bytes.TrimLeft(b[1:], " \t\n"); len(b) == 0 {
				return dst, whole, errNotNumber
			}
		}
	}
	return dst, nil, nil
}
