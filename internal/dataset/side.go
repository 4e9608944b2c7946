package dataset

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"hashgrove/internal/message"
)

// Labels, tags and ids in files of their own. A table (CSV, TSV, JSON lines) with a column of ids, or of the names of
// pictures, is joined by these with rows that have ids:
//
//	file,label          the path as below the folder or with it, with or without its ending
//	cats/1.jpg,cat
//
// Any other file has an entry per row, in the order of the rows. It is npy or IDX, a CSV or TSV with one column or one
// of a usual name, JSON lines of single values, or text with an entry per line.

// entries holds labels, tags or ids from separate files, several read as one.
type entries struct {
	patterns []string
	what     noun
	texts    []string       // nil when there are no files
	tags     [][]string     // in the texts, if these are tags
	byID     map[string]int // places in the texts; nil if those are in the order of the rows
}

// given reports whether there are files.
func (e *entries) given() bool { return e.texts != nil }

// find returns the place of the entry of a row with one of the names, or -1.
func (e *entries) find(row int, names ...string) (int, error) {
	switch {
	case !e.given():
		return -1, nil
	case e.byID == nil && row >= len(e.texts):
		return -1, message.New("too-few",
			"%s: only %s, but the data have more rows", strings.Join(e.patterns, ", "), e.what.count(len(e.texts)))
	case e.byID == nil:
		return row, nil
	}
	for _, name := range names {
		if place, found := e.byID[name]; found {
			return place, nil
		}
	}
	return -1, nil
}

// checkLength compares the number of entries with that of the rows.
func (e *entries) checkLength(rows int) error {
	if !e.given() || e.byID != nil || len(e.texts) == rows {
		return nil
	}
	return unequal(e.patterns, len(e.texts), e.what, rows)
}

// load reads the files. Their lengths are checked as far as the numbers of rows are known: file by file if there are as
// many as files of vectors, and in total.
func (e *entries) load(s *Set) error {
	paths, err := expand(e.patterns, false)
	if err != nil || len(paths) == 0 {
		return err
	}
	e.texts = []string{}
	for i, path := range paths {
		in, texts, ids, err := readSide(path, e.what, s.identified)
		if err != nil {
			return err
		}
		if i > 0 && (ids == nil) != (e.byID == nil) {
			return fmt.Errorf("%s: only one of %s has ids", path, strings.Join(paths, ", "))
		}
		if ids != nil && e.byID == nil {
			e.byID = map[string]int{}
		}
		for k, id := range ids {
			if _, twice := e.byID[id]; twice {
				return message.New("duplicate-id", "%s: %q is there twice", path, id)
			}
			e.byID[id] = len(e.texts) + k
		}
		e.texts = append(e.texts, texts...)
		if e.what == tagsNoun {
			tags, err := parseTags(in, texts)
			if err != nil {
				return err
			}
			e.tags = append(e.tags, tags...)
		}
		if file := s.files[min(i, len(s.files)-1)]; ids == nil && len(paths) == len(s.files) && file.header.rows >= 0 &&
			file.header.rows != len(texts) {
			return fmt.Errorf("%w of %s", unequal([]string{path}, len(texts), e.what, file.header.rows), file.path)
		}
	}
	if e.byID == nil {
		s.warnOrder(paths[0], e.what)
	}
	if rows := s.countedRows(); rows >= 0 {
		return e.checkLength(rows)
	}
	return nil
}

// warnOrder warns about the order in which lines were taken if another is as natural.
func (s *Set) warnOrder(path string, what noun) {
	for _, f := range s.files {
		if f.header.format == "folder" && !f.header.gallery.Sorted() {
			s.warnings = append(s.warnings, fmt.Sprintf("%s: lines are taken for the pictures in natural order "+
				"(2.jpg before 10.jpg), which is not that of plain text: to be sure, write a table file,%s",
				path, strings.TrimPrefix(what[0], "line of ")))
			return
		}
	}
}

// readSide reads a file of labels, tags or ids, with the ids of a table to join, which need rows with ids. The input is
// closed, but it goes on counting memory.
func readSide(path string, what noun, identified bool) (in *input, texts, ids []string, err error) {
	if in, err = openInput(path); err != nil {
		return nil, nil, nil, err
	}
	defer in.Close()
	var next func() (string, error)
	t, err := in.idTable(what, identified)
	if t != nil {
		ids = []string{}
		next = func() (string, error) {
			if err := t.next(); err != nil {
				return "", err
			}
			var row [2]string
			for _, k := range t.filled {
				row[k] = string(t.cells[k].text)
			}
			ids = append(ids, row[0])
			return row[1], in.hold(entryBytes + len(row[0]))
		}
		defer t.in.Close()
	} else if err == nil {
		next, err = in.openSide(what)
	}
	if texts, err = in.collect(next, err); err != nil {
		return nil, nil, nil, err
	}
	for n := len(texts); ids == nil && what != tagsNoun && n > 0 && texts[n-1] == ""; n-- { // editors leave empty lines
		texts = texts[:n-1]
	}
	return in, texts, ids, nil
}

// usualFiles are names of a column that holds names of pictures.
var usualFiles = []string{"file", "filename", "file_name", "image", "image_id", "img", "picture", "photo", "path"}

// idTable opens a table with ids and entries, which are its first two cells, through an input of its own. It returns
// nil for any other file.
func (in *input) idTable(what noun, identified bool) (*records, error) {
	format := fileNamed(in.path)
	if !identified || what == idNoun || format != "csv" && format != "tsv" && format != "jsonl" {
		return nil, nil
	}
	look, err := in.again()
	if err != nil {
		return nil, err
	}
	t, err := openRecords(look, format, false, usualFiles...)
	if err != nil {
		look.Close()
		return nil, nil // it is reported when it is read in order
	}
	values, side := tableLabels, sideLabel
	if what == tagsNoun {
		values, side = slices.Concat(usualTags, []string{"tag"}), sideTags
	}
	id, value := t.usual(slices.Concat(usualIDs, usualFiles), sideID), t.usual(values, side)
	if value < 0 && id >= 0 && len(t.columns) == 2 {
		value = 1 - id
	}
	if id < 0 || value < 0 || id == value {
		look.Close()
		return nil, nil
	}
	t.take(t.columns[id].name, id)
	t.take(t.columns[value].name, value)
	return t, nil
}

// collect reads all entries, unless the file could not be opened.
func (in *input) collect(next func() (string, error), err error) (texts []string, _ error) {
	seen := interner{}
	for err == nil {
		var text string
		if text, err = next(); err != nil {
			break
		}
		if len(texts) == maxRows {
			return nil, fmt.Errorf("%s: has more than %d rows", in.path, maxRows)
		}
		texts = append(texts, seen.keep(text))
		err = in.hold(entryBytes + len(text))
	}
	if err != io.EOF {
		return nil, err
	}
	return texts, nil
}

// openSide returns a function that reads the next entry.
func (in *input) openSide(what noun) (func() (string, error), error) {
	head, err := in.head()
	if err != nil {
		return nil, err
	}
	s := &sample{head: head, size: in.size}
	switch {
	case isNpy(s):
		return npyEntries(in, what)
	case what != tagsNoun && looksIDX(s):
		a, err := readIDX(in)
		if err != nil {
			return nil, err
		}
		return a.entries(in)
	case !isText(head):
		return nil, message.New("wrong-format",
			"%s: is neither text nor npy nor IDX: a file with one entry per row is expected", in.path)
	}
	switch format := fileNamed(in.path); {
	case what == tagsNoun:
	case format == "csv" || format == "tsv":
		return valueColumn(in, format)
	case format == "jsonl":
		return func() (string, error) {
			line, err := in.line()
			if err != nil {
				return "", err
			}
			text, ok := jsonScalar(bytes.TrimSpace(line))
			if !ok {
				return "", message.New("not-a-text",
					"%s: line %d: %s instead of a string or a number", in.path, in.lines, excerpt(line))
			}
			return text, nil
		}, nil
	}
	in.skipMark()
	return func() (string, error) {
		line, err := in.line()
		return string(bytes.TrimSpace(line)), err
	}, nil
}

// npyEntries reads the values of an array of one axis, or the rows of a 0/1 matrix as the places of their ones.
func npyEntries(in *input, what noun) (func() (string, error), error) {
	a, err := readArray(in)
	if err != nil {
		return nil, err
	}
	if what != tagsNoun || a.isText() {
		return a.entries(in)
	}
	r, _, err := openArray(in, a, new(Spec))
	row, rec := 0, record{}
	return func() (string, error) {
		err, tags := r.next(&rec), []string(nil)
		row++
		for j, v := range rec.vector {
			switch {
			case err != nil || v == 0:
			case v == 1:
				tags = append(tags, strconv.Itoa(j))
			default:
				err = message.New("bad-tags", "%s: row %d: a matrix of tags holds %v; it may hold only 0 and 1", in.path, row, v)
			}
		}
		return strings.Join(tags, ","), err
	}, err
}

// valueColumn reads a table of one column, or the one with a usual name.
func valueColumn(in *input, format string) (func() (string, error), error) {
	t, err := openRecords(in, format, false)
	if err != nil {
		return nil, err
	}
	column := 0
	if len(t.columns) > 1 {
		if column = t.usual(slices.Concat(tableLabels, usualIDs), sideLabel); column < 0 {
			return nil, message.New("which-column",
				"%s: has %d columns and none is called label or id: give a file with one value per line",
				in.path, len(t.columns))
		}
	}
	t.take(t.columns[column].name, column)
	return func() (string, error) {
		err := t.next()
		return string(t.cells[0].text), err
	}, nil
}
