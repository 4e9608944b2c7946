package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"

	"hashgrove/internal/message"
)

// A survey reads a table or JSON lines once and describes every column or key before anyone has said what the columns
// mean: somebody choosing the label column wants to see them. Memory is bounded by the number of columns, whatever the
// number of rows.

// Survey describes a table or JSON lines.
type Survey struct {
	Rows    int
	Columns []SurveyColumn
	Sample  [][]string // the first rows, a text for each column
}

// SurveyColumn describes one column or key.
type SurveyColumn struct {
	Name     string // or its number, counted from 1
	Kind     string // "number", "text", or "list" of numbers
	Integers bool   // numbers without fractions
	Distinct int    // distinct values; MostDistinct means that many or more
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

// columnTally counts the values of one column.
type columnTally struct {
	name                              string
	numbers, fractions, lists, others int
	seen                              map[uint64]struct{} // hashes of the first MostDistinct values
}

// Look surveys a file of the format csv, tsv or jsonl. Unreadable rows are only counted: reading the rows will report
// them.
func Look(ctx context.Context, path, format string, limits SurveyLimits) (*Survey, error) {
	in, err := openInput(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	t, err := openRecords(in, format, false)
	if err != nil {
		return nil, err
	}
	defer t.close()
	t.choose(func(string, bool) bool { return true })
	s, columns, seed := &Survey{}, []*columnTally(nil), maphash.MakeSeed()
	for {
		err := t.next()
		if err == io.EOF {
			break
		} else if _, bad := err.(*badRecord); err != nil && !bad {
			return nil, err
		}
		if s.Rows++; s.Rows > limits.Rows {
			return nil, fmt.Errorf("%s: has more than %s", path, message.Count(limits.Rows, "row", "rows"))
		}
		if s.Rows%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if len(t.cells) > limits.Columns {
			return nil, fmt.Errorf("%s: has more than %s", path, message.Count(limits.Columns, "column", "columns"))
		}
		for len(columns) < len(t.cells) {
			columns = append(columns, &columnTally{name: t.cells[len(columns)].name, seen: map[uint64]struct{}{}})
		}
		if err != nil {
			continue
		}
		sample := make([]string, len(columns))
		for _, k := range t.filled {
			if text := t.cells[k].text; len(text) > 0 {
				columns[k].add(text, seed)
				sample[k] = clip(text)
			}
		}
		if len(s.Sample) < limits.Sample {
			s.Sample = append(s.Sample, sample)
		}
	}
	if len(columns) == 0 {
		return nil, fmt.Errorf("%s: has no rows", path)
	}
	for _, c := range columns {
		s.Columns = append(s.Columns, c.column())
	}
	for i, row := range s.Sample { // keys that came later
		s.Sample[i] = append(row, make([]string, len(columns)-len(row))...)
	}
	return s, nil
}

// add counts a value.
func (c *columnTally) add(value []byte, seed maphash.Seed) {
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
	if len(c.seen) < MostDistinct {
		c.seen[maphash.Bytes(seed, value)] = struct{}{}
	}
}

// column interprets the counts: as in reading, most values decide what a column holds.
func (c *columnTally) column() SurveyColumn {
	kind := "text"
	if c.lists > c.numbers && c.lists > c.others {
		kind = "list"
	} else if c.numbers >= c.others && c.numbers > 0 {
		kind = "number"
	}
	return SurveyColumn{c.name, kind, kind == "number" && c.fractions == 0, len(c.seen)}
}

// clip shortens a value for a sample.
func clip(value []byte) string {
	text := []rune(string(bytes.ToValidUTF8(value[:min(len(value), 4*longestSample)], []byte("\ufffd"))))
	if len(text) > longestSample {
		return string(text[:longestSample]) + "…"
	}
	return string(text)
}
