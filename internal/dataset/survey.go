package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"slices"

	"hashgrove/internal/plain"
)

// A survey reads a table or JSON lines once and describes every column or key before anyone has said what the columns
// mean: somebody choosing the label column wants to see them. Memory is bounded by the number of columns, whatever the
// number of rows.

// Survey describes a table or JSON lines.
type Survey struct {
	Rows    int
	Columns []SurveyColumn
	Named   bool       // the columns have distinct names of their own
	Sample  [][]string // the first rows, a text for each column
}

// SurveyColumn describes one column or key.
type SurveyColumn struct {
	Name     string // or its number, counted from 1
	Kind     string // "number", "text", or "list" of numbers
	Integers bool   // numbers without fractions
	Distinct int    // distinct values; MostDistinct means that many or more
	Empty    int    // rows without a value
}

// SurveyLimits bound a survey.
type SurveyLimits struct {
	Rows, Columns int // more are an error
	Sample        int // rows to keep as they are
}

// MostDistinct is the number up to which a survey counts distinct values.
const MostDistinct = 500

// longestSample is the number of characters of a value that a sample keeps.
const longestSample = 60

// Look surveys a file of the format csv, tsv or jsonl. Unreadable rows are only counted: reading the rows will report
// them.
func Look(ctx context.Context, path, format string, limits SurveyLimits) (*Survey, error) {
	in, err := openInput(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	s := &surveyor{in: in, limits: limits, place: map[string]int{}, seed: maphash.MakeSeed()}
	switch format {
	case "csv", "tsv":
		err = s.table(ctx, format)
	case "jsonl":
		err = s.lines(ctx)
	default:
		return nil, &SpecError{"Format", fmt.Errorf("%s: columns are looked at in csv, tsv and jsonl, not in %s",
			path, format)}
	}
	if err != nil {
		return nil, err
	}
	if s.survey.Rows == 0 {
		return nil, fmt.Errorf("%s: has no rows", path)
	}
	return s.finish(), nil
}

// surveyor makes a survey.
type surveyor struct {
	in      *input
	limits  SurveyLimits
	survey  Survey
	columns []*columnTally
	place   map[string]int // of a key of JSON lines
	seed    maphash.Seed
}

// columnTally counts the values of one column.
type columnTally struct {
	name                              string
	numbers, fractions, lists, others int
	seen                              map[uint64]struct{} // hashes of the values; nil once there are enough
	distinct                          int
	row                               int // the last row with the key, of JSON lines: only the first value of a key counts
}

func (s *surveyor) column(name string) (*columnTally, error) {
	if len(s.columns) == s.limits.Columns {
		return nil, fmt.Errorf("%s: has more than %s", s.in.path, plain.Count(s.limits.Columns, "column", "columns"))
	}
	c := &columnTally{name: name, seen: map[uint64]struct{}{}}
	s.columns = append(s.columns, c)
	return c, nil
}

// row counts a row, and checks every few rows whether to go on.
func (s *surveyor) row(ctx context.Context) error {
	if s.survey.Rows++; s.survey.Rows > s.limits.Rows {
		return fmt.Errorf("%s: has more than %s", s.in.path, plain.Count(s.limits.Rows, "row", "rows"))
	}
	if s.survey.Rows%256 == 0 {
		return ctx.Err()
	}
	return nil
}

// table surveys CSV or TSV.
func (s *surveyor) table(ctx context.Context, format string) error {
	t, _, err := openTable(s.in, format)
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for j := range t.width {
		if _, err := s.column(t.column(j)); err != nil {
			return err
		}
		names[t.column(j)] = true
	}
	s.survey.Named = t.names != nil && len(names) == t.width && !slices.Contains(t.names, "")
	for {
		if err := t.read(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := s.row(ctx); err != nil {
			return err
		}
		if len(t.fields) != t.width {
			continue
		}
		var sample []string
		for j, field := range t.fields {
			s.columns[j].add(field, s.seed)
			if len(s.survey.Sample) < s.limits.Sample {
				sample = append(sample, clip(field))
			}
		}
		if sample != nil {
			s.survey.Sample = append(s.survey.Sample, sample)
		}
	}
}

// lines surveys JSON lines.
func (s *surveyor) lines(ctx context.Context) error {
	r := newAttributeReader(nil)
	s.in.skipMark()
	s.survey.Named = true
	for {
		b, err := s.in.text()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = s.row(ctx)
		}
		if err != nil {
			return err
		}
		if b = bytes.TrimSpace(b); b[0] != '{' {
			continue
		}
		pairs, err := r.keyValues(b)
		if err != nil {
			continue
		}
		sample := make([]string, 0, len(pairs))
		for _, p := range pairs {
			j, known := s.place[p.key]
			if !known {
				if _, err := s.column(p.key); err != nil {
					return err
				}
				j = len(s.columns) - 1
				s.place[p.key] = j
			}
			if s.columns[j].row == s.survey.Rows {
				continue
			}
			s.columns[j].row = s.survey.Rows
			value := p.raw
			if text, ok := jsonScalar(p.raw); ok {
				value = []byte(text)
			} else if string(p.raw) == "null" {
				value = nil
			}
			s.columns[j].add(value, s.seed)
			for len(sample) <= j {
				sample = append(sample, "")
			}
			sample[j] = clip(value)
		}
		if len(s.survey.Sample) < s.limits.Sample {
			s.survey.Sample = append(s.survey.Sample, sample)
		}
	}
}

// add counts a value.
func (c *columnTally) add(value []byte, seed maphash.Seed) {
	if len(value) == 0 {
		return
	}
	v, err := parseFloat(value)
	switch {
	case !errors.Is(err, errNotNumber):
		if c.numbers++; float64(v) != math.Trunc(float64(v)) {
			c.fractions++
		}
	case value[0] == '[' || bytes.ContainsAny(value, " ;") && isNumeric(string(value)):
		c.lists++
	default:
		c.others++
	}
	if c.seen == nil {
		return
	}
	c.seen[maphash.Bytes(seed, value)] = struct{}{}
	if c.distinct = len(c.seen); c.distinct == MostDistinct {
		c.seen = nil
	}
}

// finish interprets the counts: as in reading, most values decide what a column holds.
func (s *surveyor) finish() *Survey {
	for _, c := range s.columns {
		given := c.numbers + c.lists + c.others
		kind := "text"
		if c.lists > c.numbers && c.lists > c.others {
			kind = "list"
		} else if c.numbers >= c.others && c.numbers > 0 {
			kind = "number"
		}
		s.survey.Columns = append(s.survey.Columns, SurveyColumn{
			Name: c.name, Kind: kind, Integers: kind == "number" && c.fractions == 0, Distinct: c.distinct,
			Empty: s.survey.Rows - given,
		})
	}
	for i, row := range s.survey.Sample { // keys that came later
		s.survey.Sample[i] = append(row, make([]string, len(s.columns)-len(row))...)
	}
	return &s.survey
}

// clip shortens a value for a sample.
func clip(value []byte) string {
	text := []rune(string(bytes.ToValidUTF8(value[:min(len(value), 4*longestSample)], []byte("\ufffd"))))
	if len(text) > longestSample {
		return string(text[:longestSample]) + "…"
	}
	return string(text)
}
