package dataset

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"hashgrove/internal/message"
	"hashgrove/internal/vectors"
)

// Columns of a vector are named between commas, each part in one of these ways, the first that fits:
//
//	price           the column of that name; in a table without names its number, counted from 1
//	e0..e767        numbered columns, both ends included: every one of them must be there
//	width..height   the columns from one to the other, in the order of the file
//	e*              a pattern as of path.Match
//
// Patterns, and parts in the order of the file, leave out columns that hold no numbers and those taken for labels, tags
// or ids. A column that is named twice counts once.

// Columns says what the columns of a table or Parquet file, or the keys of JSON lines, are used for. Columns without
// names go by number, counted from 1.
type Columns struct {
	Vector          []string // in order
	List            bool     // Vector is one column, which holds lists
	Label, Tags, ID string   // "" where there is none
	Unused          []string // all others, in the order of the file
}

// Follow makes the spec read tables like the one that a model was trained on, by the names in its schema. With similar,
// its classes or tags count too, if the spec names none.
func (spec *Spec) Follow(s vectors.Schema, similar bool) {
	spec.Missing, spec.Known = s.Missing, &Columns{Vector: s.Names}
	if s.Vector != "" {
		spec.Known.Vector, spec.Known.List = []string{s.Vector}, true
	}
	if similar && spec.Label == "" && spec.Tags == "" && len(spec.LabelsFile) == 0 {
		spec.Known.Label, spec.Known.Tags, spec.TagsAlone = s.Label, s.Tags, s.Tags != ""
	}
}

// hasAll reports whether a file has each of the names exactly once: two columns of one name cannot be told apart.
func hasAll(names, wanted []string) bool {
	there := make(map[string]int, len(names))
	for _, name := range names {
		there[name]++
	}
	for _, name := range wanted {
		if there[name] != 1 {
			return false
		}
		there[name] = 0
	}
	return len(wanted) > 0
}

// missing lists the names that a file lacks.
func missing(names, wanted []string) []string {
	there := make(map[string]bool, len(names))
	for _, name := range names {
		there[name] = true
	}
	return slices.DeleteFunc(slices.Clone(wanted), func(name string) bool { return there[name] })
}

// knownVector returns the vector's columns as known from elsewhere, if the Spec names none itself and the file has
// them.
func (spec *Spec) knownVector(names []string) []string {
	if (spec.Vector == "" || spec.follows) && spec.Known != nil && hasAll(names, spec.Known.Vector) {
		return spec.Known.Vector
	}
	return nil
}

// knownColumn returns the column asked for, or that known from elsewhere unless files have what would be in it.
func knownColumn(asked, known string, files, names []string) string {
	if asked == "" && len(files) == 0 && slices.Contains(names, known) {
		return known
	}
	return asked
}

// choose returns the columns of numbers that a text names, of those that may be part of a vector.
func (t *records) choose(text string, may func(j int) bool) (chosen []int, err error) {
	seen := map[int]bool{}
	for _, part := range strings.Split(text, ",") {
		list, err := t.part(strings.TrimSpace(part), may)
		if err != nil {
			return nil, err
		}
		for _, j := range list {
			if !seen[j] {
				seen[j], chosen = true, append(chosen, j)
			}
		}
	}
	return chosen, nil
}

// part returns the columns that one part of the text names.
func (t *records) part(part string, may func(j int) bool) (chosen []int, err error) {
	first, last, isRange := strings.Cut(part, "..")
	_, isName := t.at(part)
	switch {
	case isName:
	case isRange && first != "" && last != "":
		if names, ok := numbered(first, last); ok {
			return t.findAll(names)
		}
		ends, err := t.findAll([]string{first, last})
		if err == nil && ends[0] > ends[1] {
			err = message.New("wrong-order", "%s: the column %s comes after %s: write %s..%s",
				t.in.path, first, last, last, first)
		}
		for j := range t.columns {
			if err == nil && j >= ends[0] && j <= ends[1] && may(j) {
				chosen = append(chosen, j)
			}
		}
		return chosen, err
	case strings.ContainsAny(part, "*?["):
		return t.matching(part, may)
	}
	return t.findAll([]string{part})
}

// findAll finds columns one by one.
func (t *records) findAll(names []string) (chosen []int, err error) {
	for _, name := range names {
		j, err := t.find(name)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, j)
	}
	return chosen, nil
}

// matching returns the columns of numbers whose names match a pattern.
func (t *records) matching(pattern string, may func(j int) bool) (chosen []int, err error) {
	if !t.named {
		return nil, message.New("no-header", "%s: has no header, so no column matches %q: columns are called 1 to %d",
			t.in.path, pattern, len(t.columns))
	}
	for j, c := range t.columns {
		matches, err := path.Match(pattern, c.name)
		if err != nil {
			return nil, message.New("bad-pattern", "%s: %q is not a valid pattern of column names", t.in.path, pattern)
		}
		if matches && may(j) {
			chosen = append(chosen, j)
		}
	}
	if len(chosen) == 0 {
		return nil, message.New("no-such-column", "%s: no column of numbers matches %q; it has %s",
			t.in.path, pattern, message.Runs(t.names()))
	}
	return chosen, nil
}

// maxNumbered bounds a range of numbered names.
const maxNumbered = 1 << 20

// numbered lists the names from e0 to e767: the same text with ascending numbers at the end, as wide as the first if
// that begins with a zero.
func numbered(first, last string) ([]string, bool) {
	stem := strings.TrimRight(first, "0123456789")
	end := strings.TrimRight(last, "0123456789")
	lo, err1 := strconv.Atoi(first[len(stem):])
	hi, err2 := strconv.Atoi(last[len(end):])
	if stem != end || err1 != nil || err2 != nil || lo > hi || hi-lo >= maxNumbered {
		return nil, false
	}
	width := 0
	if digits := first[len(stem):]; digits[0] == '0' {
		width = len(digits)
	}
	names := make([]string, 0, hi-lo+1)
	for n := lo; n <= hi; n++ {
		names = append(names, fmt.Sprintf("%s%0*d", stem, width, n))
	}
	return names, true
}

// askedNames returns the names in a description of vector columns, for telling a head from a row.
func askedNames(vector string) []string {
	var names []string
	for _, part := range strings.Split(vector, ",") {
		names = append(names, strings.Split(strings.TrimSpace(part), "..")...)
	}
	return names
}
