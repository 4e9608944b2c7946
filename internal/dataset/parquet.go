package dataset

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"hashgrove/internal/dataset/internal/parquetrows"
	"hashgrove/internal/message"
)

// Parquet: the vector is the column of lists named by the caller, or the one with a usual name, or the only one.
// Without lists it consists of the columns named by the caller, or of every column of numbers without another use.

type parquetRows struct {
	rowCounter
	rows   int
	vector []*parquetrows.Column
	names  []string // of the columns in vector
	lists  bool
	sides  [3]*parquetrows.Column // labels, ids and tags, or nil
	split  bool                   // the tags are one string
	texts  []string

	columns Columns
}

// ParquetWriter writes a table as a Parquet file, row by row.
type ParquetWriter = parquetrows.Writer

// NewParquetWriter starts a table with named columns of the types of the samples: string, float64 or int64, which may
// be absent in a row, or uint64, []string, []byte, []int8 or []float32. Write takes one value per column, nil for none; Close
// ends the file.
func NewParquetWriter(w io.Writer, names []string, samples []any) (*ParquetWriter, error) {
	return parquetrows.NewWriter(w, names, samples)
}

// The order of parquetRows.sides.
const (
	sideLabel = iota
	sideID
	sideTags
)

// openParquetFile reads the footer of a Parquet file.
func openParquetFile(in *input) (*parquetrows.File, error) {
	if err := in.checkPlain("a Parquet file"); err != nil {
		return nil, err
	}
	f, err := parquetrows.Open(in.at, in.size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.path, err)
	}
	return f, nil
}

func openParquet(in *input, spec *Spec) (reader, header, error) {
	h := header{format: "parquet", dim: -1}
	f, err := openParquetFile(in)
	if err != nil {
		return nil, h, err
	}
	h.rows = f.Rows()
	p := &parquetRows{rowCounter: rowCounter{in: in, dim: -1, seen: interner{}, nans: spec.Missing}, rows: h.rows}
	if err := p.openColumns(f, spec); err != nil {
		return nil, h, fmt.Errorf("%s: %w", in.path, err)
	}
	h.columns = p.columns
	if !p.lists {
		h.dim, h.names, p.dim = len(p.vector), p.names, len(p.vector)
	}
	return p, h, nil
}

// openColumns decides what each column is used for, and opens them.
func (p *parquetRows) openColumns(f *parquetrows.File, spec *Spec) error {
	c := parquetColumns{f.Fields(), f.Names()}
	taken := map[int]bool{}
	asked := [3]string{sideLabel: spec.labelName(c.names), sideID: spec.ID, sideTags: spec.tagsName(c.names)}
	usual := [3][]string{sideLabel: tableLabels, sideID: usualIDs, sideTags: usualTags}
	for k := range p.sides {
		i, err := c.side(asked[k], usual[k], k == sideTags)
		if err != nil {
			return err
		}
		if i >= 0 {
			taken[i] = true
			p.sides[k] = f.Column(c.fields[i], Half)
			p.split = k == sideTags && !c.fields[i].List
			*[]*string{&p.columns.Label, &p.columns.ID, &p.columns.Tags}[k] = c.names[i]
		}
	}
	chosen, err := c.vector(spec, taken)
	for _, i := range chosen {
		p.vector = append(p.vector, f.Column(c.fields[i], Half))
		p.names = append(p.names, c.names[i])
		p.lists = p.lists || c.fields[i].List
		taken[i] = true
	}
	p.columns.Vector, p.columns.List = p.names, p.lists && len(chosen) == 1
	for i, name := range c.names {
		if !taken[i] {
			p.columns.Unused = append(p.columns.Unused, name)
		}
	}
	return err
}

// vector returns the columns that make up the vector.
func (c *parquetColumns) vector(spec *Spec, taken map[int]bool) ([]int, error) {
	choice := columnChoice{names: c.names, width: len(c.names), find: c.find, may: func(i int) bool {
		return !taken[i] && c.fields[i].Number
	}}
	known := spec.knownVector(c.names)
	var chosen []int
	var err error
	switch {
	case known != nil:
		chosen, err = choice.list(known)
	case spec.Vector != "":
		chosen, err = choice.choose(spec.Vector)
	default:
		return c.usualVectors(taken)
	}
	if err != nil {
		return nil, err
	}
	for _, i := range chosen {
		if !c.fields[i].Number {
			return nil, message.New("not-numbers", "column %q does not hold numbers", c.names[i])
		}
	}
	return chosen, nil
}

// parquetColumns chooses among the columns of a Parquet file.
type parquetColumns struct {
	fields []parquetrows.Field
	names  []string
}

// find returns the column asked for.
func (c *parquetColumns) find(asked string) (int, error) {
	i := slices.Index(c.names, asked)
	if i < 0 {
		return 0, message.New("no-such-column", "has no column %q; it has %s", asked, message.List(c.names))
	}
	return i, nil
}

// side returns the column of labels, ids or tags: the one asked for, or the first with a usual name, or -1.
func (c *parquetColumns) side(asked string, usual []string, mayBeList bool) (int, error) {
	if asked == "" {
		for _, name := range usual {
			if i := slices.Index(c.names, name); i >= 0 && c.fields[i].Text {
				if c.fields[i].List && !mayBeList {
					return -1, nil
				}
				return i, nil
			}
		}
		return -1, nil
	}
	i, err := c.find(asked)
	if err == nil && (!c.fields[i].Text || c.fields[i].List && !mayBeList) {
		err = message.New("not-texts", "column %q holds neither text nor single numbers", asked)
	}
	return i, err
}

// usualVectors returns the column of lists with a usual name, or the only one, or all columns of single numbers that
// have no other use.
func (c *parquetColumns) usualVectors(taken map[int]bool) ([]int, error) {
	var lists, numbers []int
	for i, field := range c.fields {
		switch {
		case taken[i] || !field.Number:
		case field.List:
			lists = append(lists, i)
		default:
			numbers = append(numbers, i)
		}
	}
	for _, name := range slices.Concat(usualKeys, usualVectors) {
		if i := slices.Index(c.names, name); slices.Contains(lists, i) {
			lists = []int{i}
		}
	}
	switch {
	case len(lists) == 1:
		return lists, nil
	case len(lists) > 1:
		return nil, &SpecError{"Vector", message.New("which-vector",
			"which column holds the vectors? It has %s and %s: name one",
			c.names[lists[0]], c.names[lists[1]])}
	case len(numbers) == 0:
		return nil, message.New("no-numbers", "has no column of numbers or of lists of numbers; it has %s", message.List(c.names))
	}
	return numbers, nil
}

func (p *parquetRows) next(rec *record) error {
	*rec = record{vector: rec.vector[:0], tags: rec.tags[:0]}
	if p.row == p.rows {
		return io.EOF
	}
	p.row++
	// All columns advance, even if one value is bad.
	var bad error
	for k, c := range p.vector {
		before := len(rec.vector)
		var err error
		rec.vector, err = c.AppendFloats(rec.vector, maxDim-before)
		if value, ok := errors.AsType[*parquetrows.BadValue](err); ok {
			if value.Null && p.nans {
				continue
			}
			if bad == nil {
				cause := value.Err
				if p.lists {
					cause = fmt.Errorf("%w at place %d", cause, value.Index+1)
				}
				if bad = p.bad(p.names[k], cause); value.Null {
					bad = p.lacks(p.names[k], cause)
				}
			}
		} else if err != nil {
			return p.failed(err)
		}
	}
	for k, column := range p.sides {
		if column == nil {
			continue
		}
		var err error
		if p.texts, err = column.AppendTexts(p.texts[:0], maxDim); err != nil {
			return p.failed(err)
		}
		rec.hasTags = rec.hasTags || k == sideTags
		for _, text := range p.texts {
			switch {
			case k == sideLabel:
				rec.label, rec.hasLabel = p.seen.keep(text), true
			case k == sideID:
				rec.id = text
			case p.split:
				rec.tags = p.seen.appendTags(rec.tags, text, ',')
			default:
				rec.tags = append(rec.tags, p.seen.keep(text))
			}
		}
	}
	if bad != nil {
		return bad
	}
	return p.checkValues(len(rec.vector), p.names[0])
}

func (p *parquetRows) failed(err error) error {
	return fmt.Errorf("%s: row %d: %w", p.in.path, p.row, parquetError(err))
}

// parquetError explains a column that ends before the last row.
func parquetError(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errors.New("a column ends too early: the file is damaged")
	}
	return err
}

func (p *parquetRows) Close() error {
	var errs []error
	for _, c := range append(slices.Clone(p.vector), p.sides[:]...) {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(append(errs, p.in.Close())...)
}
