package dataset

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"hashgrove/internal/message"
	"hashgrove/internal/picture/gallery"
)

// Labels, tags and ids in files of their own: an entry per row, in the order of the rows. A file is npy or IDX, a CSV
// or TSV with one column or one of a usual name, JSON lines of single values, or text with an entry per line. Where
// the rows are pictures it may also be a table that names them, in any order:
//
//	file,label          with a line of names, or just two columns; separated by comma, semicolon or tab
//	cats/1.jpg,cat      the path as below the folder, or with the folder, or without its ending where the column is
//	dogs/7.jpg,dog      called file, id, ...

// entries holds labels, tags or ids from separate files, several read as one.
type entries[T any] struct {
	patterns []string
	what     noun
	parse    func(in *input, texts []string) ([]T, error)
	list     []T // one per row in the files of vectors; nil when there are no files
}

// given reports whether there are files.
func (e *entries[T]) given() bool { return e.list != nil }

// get copies the entry of a row, if there are files.
func (e *entries[T]) get(row int, to *T, has *bool) error {
	if !e.given() {
		return nil
	}
	if row >= len(e.list) {
		return message.New("too-few",
			"%s: only %s, but the data have more rows", strings.Join(e.patterns, ", "), e.what.count(len(e.list)))
	}
	*has, *to = true, e.list[row]
	return nil
}

// checkLength compares the number of entries with that of the rows.
func (e *entries[T]) checkLength(rows int) error {
	if !e.given() || len(e.list) == rows {
		return nil
	}
	return unequal(e.patterns, len(e.list), e.what, rows)
}

// load reads the files. Their lengths are checked as far as the numbers of rows are known: file by file if there are as
// many as files of vectors, and in total. The names are nil unless the rows are pictures.
func (e *entries[T]) load(s *Set, r *pictureNames) error {
	if len(e.patterns) == 0 {
		return nil
	}
	paths, err := expand(e.patterns, false)
	if err != nil {
		return err
	}
	e.list = []T{}
	if r != nil {
		r.texts, r.line = make([]string, len(r.names)), make([]int, len(r.names))
	}
	tables := false // that name the pictures
	for i, path := range paths {
		in, texts, named, err := readSide(path, e.what, r)
		if err != nil {
			return err
		}
		if i > 0 && named != tables {
			return fmt.Errorf("%s: only one of %s names the pictures", path, strings.Join(paths, ", "))
		}
		if tables = named; named && i == len(paths)-1 {
			if err := r.checkComplete(paths); err != nil {
				return err
			}
			e.list, err = e.parse(in, r.texts)
			return err
		} else if named {
			continue
		}
		part, err := e.parse(in, texts)
		if err != nil {
			return err
		}
		e.list = append(e.list, part...)
		if file := s.files[min(i, len(s.files)-1)]; len(paths) == len(s.files) && file.header.rows >= 0 &&
			file.header.rows != len(part) {
			return fmt.Errorf("%w of %s", unequal([]string{path}, len(part), e.what, file.header.rows), file.path)
		}
	}
	if rows := s.countedRows(); rows >= 0 && rows != len(e.list) {
		return unequal(paths, len(e.list), e.what, rows)
	}
	if r == nil {
		return nil
	}
	s.warnOrder(paths[0], e.what)
	if ids, ok := any(e.list).([]string); ok && e.what == idNoun {
		return r.checkOrder(ids, paths[0])
	}
	return nil
}

// readSide reads a file of labels, tags or ids in the order of the rows, and reports whether it names pictures. The
// input is closed, but it goes on counting memory.
func readSide(path string, what noun, r *pictureNames) (in *input, texts []string, named bool, err error) {
	if in, err = openInput(path); err != nil {
		return nil, nil, false, err
	}
	defer in.Close()
	if r != nil {
		if named, err = r.read(in, what); named || err != nil {
			return in, nil, named, err
		}
	}
	next, err := in.openSide(what)
	if texts, err = in.collect(next, err); err != nil {
		return nil, nil, false, err
	}
	for n := len(texts); what != tagsNoun && n > 0 && texts[n-1] == ""; n-- { // editors leave empty lines at the end
		texts = texts[:n-1]
	}
	return in, texts, false, nil
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
		if err := r.next(&rec); err != nil {
			return "", err
		}
		row++
		tags, err := appendMatrixTags(nil, rec.vector)
		if err != nil {
			return "", fmt.Errorf("%s: row %d: %w", in.path, row, err)
		}
		return strings.Join(tags, ","), nil
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

// pictureNames finds the pictures of a set by name.
type pictureNames struct {
	names []string       // of every row, below its folder
	row   map[string]int // by name and by path; -1 if two pictures share it
	stem  map[string]int // by name without its ending
	texts []string       // of every row, from the tables that name it
	line  []int          // where, from 1
}

// usualFiles are names of a column that holds names of pictures.
var usualFiles = []string{"file", "filename", "file_name", "image", "image_id", "img",
	"picture", "photo", "path", "name"}

// pictureNames returns the names of the pictures, or nil if some of the files are not pictures.
func (s *Set) pictureNames() *pictureNames {
	r := &pictureNames{row: map[string]int{}, stem: map[string]int{}}
	put := func(m map[string]int, name string) {
		if other, twice := m[name]; twice && other != len(r.names) {
			m[name] = -1
		} else {
			m[name] = len(r.names)
		}
	}
	for _, f := range s.files {
		g := f.header.gallery
		if g == nil {
			return nil
		}
		for i := range g.Len() {
			name, below := g.Name(i)
			put(r.row, name)
			put(r.row, below)
			put(r.row, g.ID(i))
			put(r.stem, strings.TrimSuffix(below, path.Ext(name)))
			r.names = append(r.names, name)
		}
	}
	return r
}

// find returns the row of a picture, or an error that names it.
func (r *pictureNames) find(name string, stems bool) (int, error) {
	name = strings.TrimPrefix(strings.ReplaceAll(name, `\`, "/"), "./")
	row, found := r.row[name]
	if !found && stems {
		row, found = r.stem[name]
	}
	switch {
	case !found:
		return 0, message.New("no-such-picture", "no picture is called %q", name)
	case row < 0:
		return 0, message.New("ambiguous-picture", "several pictures are called %q: write more of the path", name)
	}
	return row, nil
}

// isName reports whether a cell is the name of a picture, or seems meant to be.
func (r *pictureNames) isName(cell string) bool {
	_, err := r.find(cell, false)
	return err == nil || gallery.Promises(cell)
}

// warnOrder warns about the order in which lines were taken if another is as natural.
func (s *Set) warnOrder(path string, what noun) {
	for _, f := range s.files {
		if f.header.format == "folder" && !f.header.gallery.Sorted() {
			s.warnings = append(s.warnings, fmt.Sprintf("%s: lines are taken for the pictures in natural order "+
				"(2.jpg before 10.jpg), which is not that of plain text: to be sure, write lines file,%s",
				path, strings.TrimPrefix(what[0], "line of ")))
			return
		}
	}
}

// checkOrder rejects a list of ids that are the names of the pictures in another order.
func (r *pictureNames) checkOrder(ids []string, path string) error {
	for line, id := range ids {
		if row, err := r.find(id, true); err == nil && row != line {
			return message.New("wrong-order", "%s: line %d: the picture %s is not number %d: leave out the ids, "+
				"and name the pictures in a table file,label", path, line+1, r.names[row], line+1)
		}
	}
	return nil
}

// checkComplete reports a picture that the tables do not name.
func (r *pictureNames) checkComplete(paths []string) error {
	if row := slices.Index(r.line, 0); row >= 0 {
		return message.New("pictures-unnamed",
			"%s: does not name all pictures, %s for one", strings.Join(paths, ", "), r.names[row])
	}
	return nil
}

// read reads a table that names pictures. It reports false for any other file.
func (r *pictureNames) read(in *input, what noun) (bool, error) {
	head, err := in.head()
	if err != nil || !isText(head) {
		return false, err
	}
	format := ""
	for i, line := range (&sample{head: head}).lines(sampleRows) {
		first, _, more := bytes.Cut(line, []byte(" "))
		switch {
		case more && !bytes.ContainsAny(first, "\t,;") && r.isName(string(first)):
			return false, message.New("space-separated",
				"%s: separate names and %s by a comma or a tab", in.path, what.things())
		case i == 0 && bytes.IndexByte(line, '\t') >= 0:
			format = "tsv"
		case i == 0 && bytes.ContainsAny(line, ",;"):
			format = "csv"
		}
	}
	if format == "" {
		return false, nil
	}
	t, rows, err := sampleTable(in, format)
	if err != nil || t.width < 2 {
		return false, nil // others will report a bad table
	}
	named := func(row []string) int { return slices.IndexFunc(row, r.isName) }
	usual := usualFiles
	if what != idNoun {
		usual = slices.Concat(usualFiles, usualIDs)
	}
	if isHead(rows, usualFiles) || len(rows) > 1 && named(rows[0]) < 0 && named(rows[1]) >= 0 {
		t.names = rows[0]
	}
	name := t.named(usual)
	stems := name >= 0 // names may lack their endings
	for _, row := range rows {
		if name < 0 {
			name = named(row)
		}
	}
	if name < 0 {
		return false, nil
	}
	value, err := t.besideName(name, what)
	if err == nil && t.names != nil {
		err = t.read() // the head
	}
	for err == nil {
		if err = t.readRow(); err != nil {
			break
		}
		picture, row := string(t.fields[name]), 0
		if row, err = r.find(picture, stems); err == nil && r.line[row] > 0 {
			err = message.New("duplicate-picture", "the picture %q has been named before, in line %d", picture, r.line[row])
		}
		if err != nil {
			return false, fmt.Errorf("%s: line %d: %w", in.path, t.line, err)
		}
		r.texts[row], r.line[row] = string(t.fields[value]), t.line
		err = in.hold(entryBytes + len(r.texts[row]))
	}
	if err != io.EOF {
		return false, err
	}
	return true, nil
}

// besideName chooses the column of the entries in a table that has names in another.
func (t *table) besideName(name int, what noun) (int, error) {
	usual := tableLabels
	switch what {
	case tagsNoun:
		usual = slices.Concat(usualTags, []string{"tag"}, tableLabels)
	case idNoun:
		usual = usualIDs
	}
	if value := t.named(usual); value >= 0 && value != name {
		return value, nil
	}
	if t.width == 2 {
		return 1 - name, nil
	}
	return 0, message.New("which-column", "%s: has %d columns: call the one with the %s %s",
		t.in.path, t.width, what.things(), usual[0])
}
