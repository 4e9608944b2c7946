package dataset

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// What can be wrong with data, in sentences: a row names file, row and column; a whole data set says why
// nothing can be learned from it.

// advise ends the complaint about a row that ends a pass with what can be done.
func advise(err error) error {
	if e, ok := errors.AsType[*RowError](err); ok && e.Row < 0 {
		return fmt.Errorf("%w; mend or remove the picture, or leave out bad ones with --skip-bad", err)
	}
	return fmt.Errorf("%w; mend the row, or leave out bad rows with --skip-bad", err)
}

// unequal is the error of files with one entry per row when there are not as many as rows.
func unequal(paths []string, entries int, what noun, rows int) error {
	return fmt.Errorf("%s: %s for %s", strings.Join(paths, ", "), what.count(entries), noun{"row", "rows"}.count(rows))
}

// tooFew is the error of files with one entry per row that end before the rows do.
func tooFew(paths []string, entries int, what noun) error {
	return fmt.Errorf("%s: only %s, but the data have more rows", strings.Join(paths, ", "), what.count(entries))
}

// inFiles says where something that has files of its own was looked for.
func inFiles(paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	return " in " + strings.Join(paths, ", ")
}

// checkNames refuses names of columns where the format has none, instead of leaving them unheard.
func (c columns) checkNames(path, format string) error {
	var vector, label bool // the format takes a name for it
	switch format {
	case "npy", "idx", "fvecs", "bvecs", "ivecs", "folder", "tar", "picture":
	case "cifar10", "cifar100":
		label = true
	case "libsvm":
		vector = true
	default:
		return nil
	}
	what := "a file of format " + format
	if format == "folder" {
		what = "a folder of pictures"
	}
	none := func(name, advice string) error {
		return fmt.Errorf("%s: %s has no columns, so none is called %q: %s", path, what, name, advice)
	}
	switch {
	case c.vector != "" && !vector:
		return none(c.vector, "leave out --vector")
	case c.label != "" && !label:
		return none(c.label, "put the labels into a file and name it with --labels")
	case c.tags != "":
		return none(c.tags, "put the tags into a file and name it with --tags")
	case c.id != "":
		return none(c.id, "put the ids into a file and name it with --ids")
	}
	return nil
}

// place tells the file and the row in it of a row counted over all files. The file must have been opened.
func (p *pass) place(row int) (path string, inFile int) {
	f := sort.SearchInts(p.starts, row+1) - 1
	return p.s.files[f].path, row - p.starts[f]
}

// problem complains about the present row.
func (p *pass) problem(column, msg string) *RowError {
	path, row := p.place(p.row)
	if g := p.s.files[len(p.starts)-1].header.gallery; g != nil {
		return &RowError{File: g.id(row), Row: -1, Column: column, Msg: msg}
	}
	return &RowError{File: path, Row: row, Column: column, Msg: msg}
}

// sameID complains about a row whose id an earlier one has.
func (p *pass) sameID(row, first int, id string) *RowError {
	path, at := p.place(row)
	firstPath, firstAt := p.place(first)
	msg := fmt.Sprintf("the id %q, which row %d has already", id, firstAt+1)
	if firstPath != path {
		msg = fmt.Sprintf("the id %q, which row %d of %s has already", id, firstAt+1, firstPath)
	}
	return &RowError{File: path, Row: at, Column: p.s.cols.id, Msg: msg}
}

// drop leaves out the present row.
func (p *pass) drop(problem *RowError) {
	p.dropped = append(p.dropped, p.row)
	if len(p.bad) < badExamples {
		p.bad = append(p.bad, badRow{p.row, *problem})
	}
}

// leaveOut drops rows found to be duplicates after the pass yielded them, from this pass's account and from
// every later pass.
func (s *Set) leaveOut(found []duplicate, ids []string) {
	s.duplicates = append(s.duplicates, found...)
	slices.SortFunc(s.duplicates, func(a, b duplicate) int { return a.row - b.row })
	p := s.last
	for i, d := range found {
		p.dropped = append(p.dropped, d.row)
		if i < badExamples {
			p.bad = append(p.bad, badRow{d.row, *p.sameID(d.row, d.first, ids[i])})
		}
	}
	slices.Sort(p.dropped)
	slices.SortFunc(p.bad, func(a, b badRow) int { return a.row - b.row })
	p.bad = p.bad[:min(len(p.bad), badExamples)]
}

// warn fills in what is no error but worth a sentence.
func (s *Summary) warn() {
	say := func(format string, args ...any) { s.Warnings = append(s.Warnings, fmt.Sprintf(format, args...)) }
	if s.Bad > 0 {
		say("%s left out; the first: %v", noun{"bad row was", "bad rows were"}.count(s.Bad), &s.BadExamples[0])
	}
	switch n := len(s.Constant); {
	case n == s.Dim && s.Rows > 1:
		say("all rows are equal")
	case n > 0 && s.Rows > 1:
		say("%d of %s constant", n, noun{"column is", "columns are"}.count(s.Dim))
	}
	if s.Labels != nil {
		single := 0
		for _, n := range s.Labels.counts() {
			if n == 1 {
				single++
			}
		}
		if single > 0 {
			say("%d of %s a single row", single, noun{"class has", "classes have"}.count(len(s.Labels.Names)))
		}
	}
	if s.Tags != nil {
		bare := 0
		for i := range s.Tags.Rows() {
			if len(s.Tags.Row(i)) == 0 {
				bare++
			}
		}
		if bare > 0 {
			say("%d of %s no tags", bare, noun{"row has", "rows have"}.count(s.Rows))
		}
	}
}

// noun is the name of one thing and of many.
type noun [2]string

// What comes one per row.
var (
	labelNoun = noun{"label", "labels"}
	tagsNoun  = noun{"line of tags", "lines of tags"}
	idNoun    = noun{"id", "ids"}
)

// count says a number of things.
func (n noun) count(k int) string {
	if k == 1 {
		return "1 " + n[0]
	}
	return fmt.Sprintf("%d %s", k, n[1])
}

// Trainable says why no code can be learned from the data, or nil.
func (s *Summary) Trainable() error {
	switch {
	case s.Rows < 2:
		return fmt.Errorf("only %s: at least two are needed to learn from", noun{"row", "rows"}.count(s.Rows))
	case len(s.Constant) == s.Dim:
		return errors.New("every column is constant: all rows would get the same code")
	case s.Pairs != nil:
		return pairsTrainable(s.Pairs)
	case s.Labels != nil:
		return s.Labels.trainable()
	case s.Tags != nil:
		return s.Tags.trainable()
	}
	return errors.New("no labels, tags or pairs: name them with --label, --labels, --tags or --pairs")
}

func (l *Labels) trainable() error {
	several, used := false, 0
	for _, n := range l.counts() {
		if n > 0 {
			used++
		}
		several = several || n > 1
	}
	switch {
	case used == 1:
		return fmt.Errorf("all rows have the label %q: at least two classes are needed to learn from", l.Names[l.Class[0]])
	case !several:
		return fmt.Errorf("every row has a label of its own, so no two rows are similar: is it the right label (%q in the first row)?", l.Names[l.Class[0]])
	}
	return nil
}

func (t *Tags) trainable() error {
	if len(t.Tag) == 0 {
		return errors.New("no row has a tag: is it the right column or file?")
	}
	for i := 1; i < t.Rows(); i++ {
		if !slices.Equal(t.Row(i), t.Row(0)) {
			return nil
		}
	}
	return errors.New("all rows have the same tags: at least two sets of tags are needed to learn from")
}

func pairsTrainable(pairs []Pair) error {
	for _, p := range pairs {
		if p.Y < 0 {
			return nil
		}
	}
	return errors.New("no pair is dissimilar, so all rows would get the same code: mark such pairs with dissimilar or -1 (0 means unknown)")
}
