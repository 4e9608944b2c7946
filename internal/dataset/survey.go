package dataset

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"io"
	"math"

	"hashgrove/internal/message"
)

// Survey describes a table or JSON lines before anyone has said what the columns mean: somebody choosing the label
// column wants to see them. Memory is bounded by the number of columns, whatever the number of rows.
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

// Look surveys a file of the format csv, tsv or jsonl: the first rows show its columns. Unreadable rows are only
// counted: reading the rows will report them.
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
	if len(t.columns) > limits.Columns {
		return nil, fmt.Errorf("%s: has more than %s", path, message.Count(limits.Columns, "column", "columns"))
	}
	s, seed := &Survey{}, maphash.MakeSeed()
	var seen []map[uint64]struct{} // hashes of the first MostDistinct values of a column
	for j, c := range t.columns {
		kind := "text"
		if c.list {
			kind = "list"
		} else if c.number {
			kind = "number"
		}
		t.take(c.name, j)
		seen = append(seen, map[uint64]struct{}{})
		s.Columns = append(s.Columns, SurveyColumn{Name: c.name, Kind: kind, Integers: kind == "number"})
	}
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
		if err != nil {
			continue
		}
		sample := make([]string, len(t.columns))
		for _, k := range t.filled {
			value, column := t.cells[k].text, &s.Columns[k]
			if len(value) == 0 {
				continue
			}
			sample[k] = clip(value)
			if v, err := parseFloat(value); err == nil && float64(v) != math.Trunc(float64(v)) {
				column.Integers = false
			}
			if len(seen[k]) < MostDistinct {
				seen[k][maphash.Bytes(seed, value)] = struct{}{}
			}
			column.Distinct = len(seen[k])
		}
		if len(s.Sample) < limits.Sample {
			s.Sample = append(s.Sample, sample)
		}
	}
	return s, nil
}

// clip shortens a value for a sample.
func clip(value []byte) string {
	text := []rune(string(bytes.ToValidUTF8(value[:min(len(value), 4*longestSample)], []byte("\ufffd"))))
	if len(text) > longestSample {
		return string(text[:longestSample]) + "…"
	}
	return string(text)
}
