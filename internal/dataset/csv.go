package dataset

import (
	"bytes"
	"fmt"
	"strings"

	"hashgrove/internal/message"
)

// Text tables: CSV (commas, or semicolons if there are none) and TSV. The vector consists of the columns named by the
// caller, or of every column of numbers without another use. A column may hold a whole vector, as "[0.1, 0.2]" or with
// spaces or semicolons between the numbers. The first rows decide what a column holds, so a single bad field makes a
// bad row and does not change the meaning of its column.

// csv reads vectors and what comes with them from a table.
type csv struct {
	rowCounter
	table           *table
	vector          []int
	label, tags, id int // columns, or -1
	separator       byte
}

func openCSV(format string) func(in *input, spec *Spec) (reader, header, error) {
	return func(in *input, spec *Spec) (reader, header, error) {
		asked := append(askedNames(spec.Vector), spec.Label, spec.Tags, spec.ID)
		if spec.Known != nil {
			asked = append(asked, spec.Known.Vector...)
		}
		t, rows, err := openTable(in, format, asked...)
		if err != nil {
			return nil, header{}, err
		}
		c := &csv{rowCounter: rowCounter{in: in, dim: -1, seen: interner{}, nans: spec.Missing}, table: t}
		h := header{format: format, rows: -1, dim: -1}
		if err := c.chooseColumns(spec, rows); err != nil {
			return nil, h, err
		}
		if c.tags >= 0 {
			var texts []string
			for _, row := range rows {
				if c.tags < len(row) {
					texts = append(texts, row[c.tags])
				}
			}
			c.separator = tagSeparator(texts...)
		}
		h.columns = c.columns()
		h.columns.List = holdsLists(rows, c.vector) && len(c.vector) == 1
		if !holdsLists(rows, c.vector) {
			h.dim, c.dim = len(c.vector), len(c.vector)
			for _, j := range c.vector {
				if j < len(t.names) {
					h.names = append(h.names, t.names[j])
				}
			}
		}
		return c, h, nil
	}
}

// columns returns what the columns are used for.
func (c *csv) columns() Columns {
	var out Columns
	used := make([]bool, c.table.width)
	name := func(j int) string {
		if j < 0 {
			return ""
		}
		used[j] = true
		return c.table.column(j)
	}
	for _, j := range c.vector {
		out.Vector = append(out.Vector, name(j))
	}
	out.Label, out.Tags, out.ID = name(c.label), name(c.tags), name(c.id)
	for j := range c.table.width {
		if !used[j] {
			out.Unused = append(out.Unused, c.table.column(j))
		}
	}
	return out
}

// holdsLists reports whether any of the columns has a list in one of the rows.
func holdsLists(rows [][]string, vector []int) bool {
	for _, row := range rows {
		for _, j := range vector {
			if j < len(row) && isNumeric(row[j]) {
				if _, err := parseFloat([]byte(row[j])); err == errNotNumber {
					return true
				}
			}
		}
	}
	return false
}

// chooseColumns decides what each column is used for.
func (c *csv) chooseColumns(spec *Spec, rows [][]string) (err error) {
	pick := func(asked string, usual []string) int {
		if asked == "" {
			return c.table.named(usual)
		}
		j, e := c.table.find(asked)
		if e != nil && err == nil {
			err = e
		}
		return j
	}
	c.label = pick(spec.labelName(c.table.names), tableLabels)
	c.tags = pick(spec.tagsName(c.table.names), usualTags)
	c.id = pick(spec.ID, usualIDs)
	if c.id < 0 && len(c.table.names) > 1 && c.table.names[0] == "" {
		c.id = 0 // the index pandas writes
	}
	if err != nil {
		return err
	}
	choice := columnChoice{
		path: c.in.path, names: c.table.names, width: c.table.width, counted: true, find: c.table.find,
		may: func(j int) bool { return j != c.label && j != c.tags && j != c.id && mostlyNumeric(rows, j) },
	}
	if known := spec.knownVector(c.table.names); known != nil {
		c.vector, err = choice.list(known)
		return err
	}
	if spec.Vector != "" {
		c.vector, err = choice.choose(spec.Vector)
		return err
	}
	c.vector = choice.usable(func(int) bool { return true })
	if len(c.vector) == 0 {
		return message.New("no-numbers", "%s: has no column of numbers; a number has a decimal point, no comma", c.in.path)
	}
	return nil
}

func (c *csv) next(rec *record) error {
	*rec = record{vector: rec.vector[:0], tags: rec.tags[:0]}
	if err := c.table.read(); err != nil {
		return err
	}
	c.row, c.line = c.row+1, c.table.line
	if len(c.table.fields) != c.table.width {
		return c.bad("", message.New("wrong-count", "%s instead of %d", fieldNoun.count(len(c.table.fields)), c.table.width))
	}
	for _, j := range c.vector {
		field := c.table.fields[j]
		v, err := parseFloat(field)
		if err == nil {
			rec.vector = append(rec.vector, v)
			continue
		}
		if missing := missingText(field); missing && c.nans {
			rec.vector = append(rec.vector, nan)
			continue
		} else if missing && len(field) == 0 {
			return c.lacks(c.table.column(j), message.New("no-value", "an empty field instead of a number"))
		} else if missing {
			return c.lacks(c.table.column(j), fmt.Errorf("%s %w", excerpt(field), err))
		}
		if c.dim == len(c.vector) && c.dim > 1 || err == errTooLarge {
			return c.bad(c.table.column(j), fmt.Errorf("%s %w", excerpt(field), err))
		}
		var wrong []byte
		if rec.vector, wrong, err = appendList(rec.vector, field); err != nil {
			return c.bad(c.table.column(j), fmt.Errorf("%s %w", excerpt(wrong), err))
		}
	}
	if err := c.checkValues(len(rec.vector), ""); err != nil {
		return err
	}
	if c.label >= 0 {
		rec.label, rec.hasLabel = c.seen.keepBytes(c.table.fields[c.label]), true
	}
	if c.tags >= 0 {
		rec.tags, rec.hasTags = c.seen.appendTags(rec.tags, string(c.table.fields[c.tags]), c.separator), true
	}
	if c.id >= 0 {
		rec.id = string(c.table.fields[c.id])
	}
	return nil
}

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
