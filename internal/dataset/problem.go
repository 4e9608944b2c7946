package dataset

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"hashgrove/internal/message"
	"hashgrove/internal/vectors"
)

// SpecError is an error that another setting would avoid. The message says so in words; Field is for programs that have
// their own name for the setting.
type SpecError struct {
	Field string // of Spec, or of AttributeSpec: AttributesID, or Columns
	Err   error
}

func (e *SpecError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *SpecError) Unwrap() error { return e.Err }

// advise adds advice to the error of a row that ends a pass.
func advise(err error) error {
	if e, ok := errors.AsType[*RowError](err); ok && e.Row < 0 {
		return &SpecError{"SkipBad", fmt.Errorf("%w; fix or remove the picture, or skip bad ones", err)}
	}
	if e, ok := errors.AsType[*RowError](err); ok && e.Missing {
		return &SpecError{"Missing", fmt.Errorf("%w; fix the row, skip bad rows, or learn a model that takes missing "+
			"values", err)}
	}
	return &SpecError{"SkipBad", fmt.Errorf("%w; fix the row, or skip bad rows", err)}
}

// unequal returns the error for files with one entry per row that have more or fewer entries than there are rows.
func unequal(paths []string, entries int, what noun, rows int) error {
	return message.New("wrong-count",
		"%s: %s for %s", strings.Join(paths, ", "), what.count(entries), message.Count(rows, "row", "rows"))
}

// inFiles names the files in which something was expected.
func inFiles(paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	return " in " + strings.Join(paths, ", ")
}

// checkNames reports column names if the format has none.
func (spec *Spec) checkNames(path, format string) error {
	if slices.Contains([]string{"npz", "parquet", "jsonl", "tsv", "csv"}, format) {
		return nil
	}
	for _, c := range []struct{ name, field, what string }{
		{spec.Vector, "Vector", "vectors"}, {spec.Label, "LabelsFile", "labels"}, {spec.Tags, "TagsFile", "tags"},
		{spec.ID, "IDsFile", "ids"},
	} {
		if c.name != "" && !(c.field == "LabelsFile" && strings.HasPrefix(format, "cifar")) {
			return &SpecError{c.field, message.New("no-columns", "%s: %s has no columns, so none is called %q: leave out "+
				"the name; the %s are the rows, or in a file of their own", path, format, c.name, c.what)}
		}
	}
	return nil
}

// place returns the file, and the row in it, of a row counted over all files. The file must have been opened.
func (p *pass) place(row int) (f file, inFile int) {
	k := sort.SearchInts(p.starts, row+1) - 1
	return p.s.files[k], row - p.starts[k]
}

// problem returns an error about the current row.
func (p *pass) problem(column string, cause error) *RowError {
	f, row := p.place(p.row)
	if g := f.header.gallery; g != nil {
		return badRow(g.ID(row), -1, column, cause)
	}
	return badRow(f.path, row, column, cause)
}

// sameID returns the error for a row with the id of an earlier one.
func (p *pass) sameID(r vectors.Repeat) *RowError {
	f, at := p.place(r.Row)
	first, firstAt := p.place(r.First)
	cause := message.New("duplicate-id", "the id %q, which row %d already has", r.ID, firstAt+1)
	if first.path != f.path {
		cause = message.New("duplicate-id", "the id %q, which row %d of %s already has", r.ID, firstAt+1, first.path)
	}
	return badRow(f.path, at, p.s.spec.ID, cause)
}

// drop leaves out the current row.
func (p *pass) drop(problem *RowError) {
	p.dropped = append(p.dropped, p.row)
	if len(p.bad) < badExamples {
		p.bad[p.row] = problem
	}
}

// Repeated returns the error for a row with the id of an earlier one, or nil if such rows are left out.
func (s *Set) Repeated(r vectors.Repeat) error {
	if s.spec.SkipBad {
		return nil
	}
	return advise(s.last.sameID(r))
}

// LeaveOut drops rows with the ids of earlier ones after a pass has yielded them: the latest pass counts them as bad,
// and later passes leave them out.
func (s *Set) LeaveOut(found []vectors.Repeat) {
	s.duplicates = append(s.duplicates, found...)
	slices.SortFunc(s.duplicates, func(a, b vectors.Repeat) int { return a.Row - b.Row })
	p := s.last
	for i, d := range found {
		p.dropped = append(p.dropped, d.Row)
		if i < badExamples {
			p.bad[d.Row] = p.sameID(d)
		}
	}
	slices.Sort(p.dropped)
}

// noun is a word in singular and plural.
type noun [2]string

// What comes one per row.
var (
	labelNoun = noun{"label", "labels"}
	tagsNoun  = noun{"line of tags", "lines of tags"}
	idNoun    = noun{"id", "ids"}
	fieldNoun = noun{"field", "fields"}
)

// count writes a number with the noun.
func (n noun) count(k int) string { return message.Count(k, n[0], n[1]) }
