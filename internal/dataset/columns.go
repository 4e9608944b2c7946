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

// labelName and tagsName return the columns asked for, or those known from elsewhere, if the file has them.
func (spec *Spec) labelName(names []string) string {
	if spec.Label == "" && spec.Known != nil && len(spec.LabelsFile) == 0 && slices.Contains(names, spec.Known.Label) {
		return spec.Known.Label
	}
	return spec.Label
}

func (spec *Spec) tagsName(names []string) string {
	if spec.Tags == "" && spec.Known != nil && len(spec.TagsFile) == 0 && slices.Contains(names, spec.Known.Tags) {
		return spec.Known.Tags
	}
	return spec.Tags
}

// columnChoice chooses the columns of a vector among those of a file.
type columnChoice struct {
	path  string                         // "" where the caller names the file
	names []string                       // nil where the file has none
	width int                            // number of columns
	find  func(name string) (int, error) // of one column, by name or by number
	may   func(j int) bool               // it holds numbers and is used for nothing else
}

// errorf returns an error about the file; if the path is "" the caller adds it.
func (c *columnChoice) errorf(code message.Code, format string, args ...any) error {
	err := message.New(code, format, args...)
	if c.path == "" {
		return err
	}
	return fmt.Errorf("%s: %w", c.path, err)
}

// choose returns the columns that a text names.
func (c *columnChoice) choose(text string) ([]int, error) {
	var chosen []int
	seen := map[int]bool{}
	for _, part := range strings.Split(text, ",") {
		list, err := c.part(strings.TrimSpace(part))
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
func (c *columnChoice) part(part string) ([]int, error) {
	if j := slices.Index(c.names, part); j >= 0 {
		return []int{j}, nil
	}
	first, last, isRange := strings.Cut(part, "..")
	switch {
	case isRange && first != "" && last != "":
		if list, ok := numbered(first, last); ok {
			return c.list(list)
		}
		return c.between(first, last)
	case strings.ContainsAny(part, "*?["):
		return c.matching(part)
	}
	return c.list([]string{part})
}

// list finds columns one by one.
func (c *columnChoice) list(names []string) ([]int, error) {
	var chosen []int
	place := map[string]int{} // searching all names for each would take long
	for j, name := range c.names {
		if _, twice := place[name]; !twice && len(names) > 1 {
			place[name] = j
		}
	}
	for _, name := range names {
		j, known := place[name]
		if !known {
			var err error
			if j, err = c.find(name); err != nil {
				return nil, err
			}
		}
		chosen = append(chosen, j)
	}
	return chosen, nil
}

// between returns the columns of numbers from one to another in the order of the file.
func (c *columnChoice) between(first, last string) ([]int, error) {
	ends, err := c.list([]string{first, last})
	if err != nil {
		return nil, err
	}
	if ends[0] > ends[1] {
		return nil, c.errorf("wrong-order", "the column %s comes after %s: write %s..%s", first, last, last, first)
	}
	return c.usable(func(j int) bool { return j >= ends[0] && j <= ends[1] }), nil
}

// matching returns the columns of numbers whose names match a pattern.
func (c *columnChoice) matching(pattern string) ([]int, error) {
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, c.errorf("bad-pattern", "%q is not a valid pattern of column names", pattern)
	}
	if c.names == nil {
		return nil, c.errorf("no-header", "has no header, so no column matches %q: columns are called 1 to %d",
			pattern, c.width)
	}
	chosen := c.usable(func(j int) bool { ok, _ := path.Match(pattern, c.names[j]); return ok })
	if len(chosen) == 0 {
		return nil, c.errorf("no-such-column", "no column of numbers matches %q; it has %s", pattern, message.Runs(c.names))
	}
	return chosen, nil
}

// usable returns the columns that may be part of a vector and satisfy a condition.
func (c *columnChoice) usable(holds func(j int) bool) []int {
	var chosen []int
	for j := range c.width {
		if holds(j) && c.may(j) {
			chosen = append(chosen, j)
		}
	}
	return chosen
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
