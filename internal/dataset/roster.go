package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"hashgrove/internal/fault"
	"hashgrove/internal/picture/gallery"
)

// Labels, tags and ids of pictures come one per line, in the order of the pictures, or in a table that names the
// pictures, in any order:
//
//	file,label          with a line of names, or just two columns; separated by comma, semicolon or tab
//	cats/1.jpg,cat      the path as below the folder, or with the folder, or without its ending where the column is
//	dogs/7.jpg,dog      called file, id, ...

// roster knows the pictures of a set by name.
type roster struct {
	names []string       // of every row, below its folder
	row   map[string]int // by name and by path; -1 if two pictures share it
	stem  map[string]int // by name without its ending
}

// usualFiles are names of a column that holds names of pictures.
var usualFiles = []string{"file", "filename", "file_name", "image", "image_id", "img",
	"picture", "photo", "path", "name"}

// roster returns the names of the pictures, or nil if some of the files are not pictures.
func (s *Set) roster() *roster {
	r := &roster{row: map[string]int{}, stem: map[string]int{}}
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
func (r *roster) find(name string, stems bool) (int, error) {
	name = strings.TrimPrefix(strings.ReplaceAll(name, `\`, "/"), "./")
	row, found := r.row[name]
	if !found && stems {
		row, found = r.stem[name]
	}
	switch {
	case !found:
		return 0, fault.New("no-such-picture", "no picture is called %q", name)
	case row < 0:
		return 0, fault.New("ambiguous-picture", "several pictures are called %q: write more of the path", name)
	}
	return row, nil
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
func (r *roster) checkOrder(ids []string, path string) error {
	for line, id := range ids {
		if row, err := r.find(id, true); err == nil && row != line {
			return fault.New("wrong-order", "%s: line %d: the picture %s is not number %d: leave out the ids, "+
				"and name the pictures in a table file,label", path, line+1, r.names[row], line+1)
		}
	}
	return nil
}

// texts reads tables that name pictures: one text per picture. It returns false if the first file is not such a table.
func (r *roster) texts(paths []string, what noun) ([]string, bool, error) {
	texts := make([]string, len(r.names))
	line := make([]int, len(r.names)) // where each came from
	for i, file := range paths {
		t, err := r.openNamed(file, what)
		if err != nil {
			return nil, false, err
		}
		if t == nil && i == 0 {
			return nil, false, nil
		} else if t == nil {
			return nil, false, fmt.Errorf("%s: names no pictures, but %s does", file, paths[0])
		}
		err = t.each(func(number int, name, text string) error {
			row, err := r.find(name, t.stems)
			if err == nil && line[row] > 0 {
				err = fault.New("duplicate-picture", "the picture %q has been named before, in line %d", name, line[row])
			}
			if err != nil {
				return fmt.Errorf("%s: line %d: %w", file, number, err)
			}
			texts[row], line[row] = text, number
			return t.in.hold(entryBytes + len(text))
		})
		if err = errors.Join(err, t.in.Close()); err != nil {
			return nil, false, err
		}
	}
	if row := slices.Index(line, 0); row >= 0 {
		return nil, false, fault.New("pictures-unnamed",
			"%s: does not name all pictures, %s for one", strings.Join(paths, ", "), r.names[row])
	}
	return texts, true, nil
}

// namedTable is an open table that names pictures.
type namedTable struct {
	in          *input
	table       *table
	name, value int  // columns
	stems       bool // names may lack their endings
}

// openNamed opens a table that names pictures, or returns nil for any other file.
func (r *roster) openNamed(file string, what noun) (*namedTable, error) {
	in, err := openInput(file)
	if err != nil {
		return nil, err
	}
	t, err := r.lookNamed(in, what)
	if t == nil || err != nil {
		in.Close()
	}
	return t, err
}

func (r *roster) lookNamed(in *input, what noun) (*namedTable, error) {
	head, err := in.head()
	if err != nil || !isText(head) || len(head) == 0 {
		return nil, err
	}
	s := &sample{head: head}
	for _, line := range s.lines(sampleRows) {
		name, _, more := strings.Cut(string(line), " ")
		if more && !strings.ContainsAny(name, "\t,;") && r.isName(name) {
			return nil, fault.New("space-separated",
				"%s: separate names and %s by a comma or a tab", in.path, strings.TrimPrefix(what[1], "lines of "))
		}
	}
	format := ""
	for _, line := range s.lines(1) {
		if bytes.IndexByte(line, '\t') >= 0 {
			format = "tsv"
		} else if bytes.ContainsAny(line, ",;") {
			format = "csv"
		}
	}
	if format == "" {
		return nil, nil
	}
	t, rows, err := openTable(in, format, usualFiles...)
	if err != nil || t.width < 2 {
		return nil, nil // others will report a bad table
	}
	usual := usualFiles
	if what != idNoun {
		usual = slices.Concat(usualFiles, usualIDs)
	}
	n := &namedTable{in: in, table: t, name: t.named(usual)}
	n.stems = n.name >= 0
	for j := 0; n.name < 0 && j < t.width; j++ {
		if slices.ContainsFunc(rows, func(row []string) bool { return r.isName(field(row, j)) }) {
			n.name = j
		}
	}
	if n.name < 0 {
		return nil, nil
	}
	if t.names == nil && len(rows) > 1 && !r.isName(field(rows[0], n.name)) && r.isName(field(rows[1], n.name)) {
		if err := t.takeHead(rows[0]); err != nil { // a line of names that the general rules do not recognise
			return nil, err
		}
	}
	return n, n.findValue(what)
}

func field(row []string, j int) string {
	if j < len(row) {
		return row[j]
	}
	return ""
}

// isName reports whether a text is the name of a picture, or seems meant to be.
func (r *roster) isName(text string) bool {
	_, err := r.find(text, false)
	return err == nil || gallery.Promises(text)
}

// findValue chooses the column beside the names.
func (n *namedTable) findValue(what noun) error {
	t := n.table
	usual := tableLabels
	switch what {
	case tagsNoun:
		usual = slices.Concat(usualTags, []string{"tag"}, tableLabels)
	case idNoun:
		usual = usualIDs
	}
	if n.value = t.named(usual); n.value >= 0 && n.value != n.name {
		return nil
	}
	if t.width == 2 {
		n.value = 1 - n.name
		return nil
	}
	return fault.New("which-column", "%s: has %d columns: call the one with the %s %s",
		t.in.path, t.width, strings.TrimPrefix(what[1], "lines of "), usual[0])
}

// each calls f for every row.
func (n *namedTable) each(f func(line int, name, text string) error) error {
	for {
		err := n.table.readRow()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = f(n.table.line, string(n.table.fields[n.name]), string(n.table.fields[n.value]))
		}
		if err != nil {
			return err
		}
	}
}
