package dataset

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"hashgrove/dataset/internal/parquetrows"
)

// Parquet: the vector is the column of lists asked for, or the one with a usual name, or the only one; without any
// list, every column of numbers that means nothing else, or the columns asked for, between commas.

type parquetRows struct {
	in     *input
	rows   int
	row    int
	dim    int
	vector []*parquetrows.Column
	names  []string // of the columns in vector
	lists  bool
	label  *parquetrows.Column
	tags   *parquetrows.Column
	id     *parquetrows.Column
	split  bool // the tags are one string
	texts  []string
	seen   interner
}

func openParquet(in *input, cols columns) (reader, header, error) {
	h := header{format: "parquet", dim: -1}
	if in.at == nil {
		return nil, h, fmt.Errorf("%s: is a Parquet file inside %s, which cannot be read in place: decompress it first (a Parquet file is compressed inside)", in.path, in.packed)
	}
	f, err := parquetrows.Open(in.at, in.size)
	if err != nil {
		return nil, h, fmt.Errorf("%s: %w", in.path, err)
	}
	h.rows = f.Rows()
	p := &parquetRows{in: in, rows: h.rows, dim: -1, seen: interner{}}
	if err := p.choose(f, cols); err != nil {
		return nil, h, fmt.Errorf("%s: %w", in.path, err)
	}
	if !p.lists {
		h.dim, h.names, p.dim = len(p.vector), p.names, len(p.vector)
	}
	return p, h, nil
}

// choose settles which columns mean what, and begins to read them.
func (p *parquetRows) choose(f *parquetrows.File, cols columns) error {
	fields := f.Fields()
	var names []string
	for _, field := range fields {
		names = append(names, field.Name)
	}
	find := func(asked string, usual []string) (int, error) {
		if asked == "" {
			for _, name := range usual {
				if i := slices.Index(names, name); i >= 0 && fields[i].Text {
					return i, nil
				}
			}
			return -1, nil
		}
		i := slices.Index(names, asked)
		if i < 0 {
			return 0, fmt.Errorf("has no column %q; it has %s", asked, enumerate(names))
		}
		return i, nil
	}
	taken := map[int]bool{-1: true}
	for _, c := range []struct {
		column **parquetrows.Column
		asked  string
		usual  []string
		list   bool // may be one
	}{{&p.label, cols.label, tableLabels, false}, {&p.id, cols.id, usualIDs, false}, {&p.tags, cols.tags, usualTags, true}} {
		i, err := find(c.asked, c.usual)
		if err != nil {
			return err
		}
		if i < 0 || c.asked == "" && fields[i].List && !c.list {
			continue
		}
		if !fields[i].Text || fields[i].List && !c.list {
			return fmt.Errorf("column %q holds neither text nor single numbers", names[i])
		}
		taken[i] = true
		*c.column = f.Column(fields[i], half)
		if c.list {
			p.split = !fields[i].List
		}
	}
	var chosen []int
	switch {
	case cols.vector != "":
		for _, name := range strings.Split(cols.vector, ",") {
			i, err := find(strings.TrimSpace(name), nil)
			if err != nil {
				return err
			}
			if !fields[i].Number {
				return fmt.Errorf("column %q does not hold numbers", names[i])
			}
			chosen = append(chosen, i)
		}
	default:
		var lists, numbers []int
		for i, field := range fields {
			switch {
			case taken[i] || !field.Number:
			case field.List:
				lists = append(lists, i)
			default:
				numbers = append(numbers, i)
			}
		}
		for _, name := range slices.Concat(usualKeys, usualVectors) {
			if i := slices.Index(names, name); slices.Contains(lists, i) {
				lists = []int{i}
			}
		}
		if len(lists) > 1 {
			return fmt.Errorf("which column holds the vectors? It has %s and %s: name one with --vector", names[lists[0]], names[lists[1]])
		}
		if chosen = lists; len(chosen) == 0 {
			chosen = numbers
		}
		if len(chosen) == 0 {
			return fmt.Errorf("has no column of numbers or of lists of numbers; it has %s", enumerate(names))
		}
	}
	for _, i := range chosen {
		p.vector = append(p.vector, f.Column(fields[i], half))
		p.names = append(p.names, names[i])
		p.lists = p.lists || fields[i].List
	}
	return nil
}

func (p *parquetRows) next(rec *record) error {
	*rec = record{vector: rec.vector[:0], tags: rec.tags[:0]}
	if p.row == p.rows {
		return io.EOF
	}
	p.row++
	// All columns move on, even when one value is bad.
	var bad error
	for k, c := range p.vector {
		before := len(rec.vector)
		var err error
		rec.vector, err = c.AppendFloats(rec.vector, maxDim-before)
		if value, ok := errors.AsType[*parquetrows.BadValue](err); ok {
			if bad == nil {
				msg := value.Msg
				if p.lists {
					msg = fmt.Sprintf("%s at place %d", msg, value.Index+1)
				}
				bad = &RowError{p.in.path, p.row - 1, p.names[k], msg}
			}
		} else if err != nil {
			return p.failed(err)
		}
	}
	for _, c := range []struct {
		column *parquetrows.Column
		use    func(texts []string)
	}{
		{p.label, func(t []string) { rec.label, rec.hasLabel = p.seen.keep(t[0]), true }},
		{p.id, func(t []string) { rec.id = t[0] }},
		{p.tags, func(t []string) {
			rec.hasTags = true
			for _, tag := range t {
				if p.split {
					rec.tags = p.seen.appendTags(rec.tags, tag, ',')
				} else {
					rec.tags = append(rec.tags, p.seen.keep(tag))
				}
			}
		}},
	} {
		if c.column == nil {
			continue
		}
		var err error
		if p.texts, err = c.column.AppendTexts(p.texts[:0], maxDim); err != nil {
			return p.failed(err)
		}
		if len(p.texts) > 0 || c.column == p.tags {
			c.use(p.texts)
		}
	}
	switch n := len(rec.vector); {
	case bad != nil:
		return bad
	case n == 0:
		return &RowError{p.in.path, p.row - 1, p.names[0], "a vector without values"}
	case p.dim < 0:
		p.dim = n
	case n != p.dim:
		return &RowError{p.in.path, p.row - 1, p.names[0], fmt.Sprintf("%d values instead of %d", n, p.dim)}
	}
	return nil
}

func (p *parquetRows) failed(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = errors.New("a column ends too early: the file is damaged")
	}
	return fmt.Errorf("%s: row %d: %w", p.in.path, p.row, err)
}

func (p *parquetRows) Close() error {
	var errs []error
	for _, c := range append(slices.Clone(p.vector), p.label, p.id, p.tags) {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(append(errs, p.in.Close())...)
}
