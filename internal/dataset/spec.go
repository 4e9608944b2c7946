package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hashgrove/internal/message"
	"hashgrove/internal/picture"
	"hashgrove/internal/picture/gallery"
)

// Spec names a data set: files of vectors, and where their labels, tags and ids are, for instance
//
//	Spec{Paths: []string{"train.npy"}, LabelsFile: []string{"y.npy"}}
//	Spec{Paths: []string{"items.parquet"}, Vector: "embedding", Label: "category"}
//	Spec{Paths: []string{"docs.jsonl"}, Vector: "v", Tags: "tags"}
//	Spec{Paths: []string{"cifar10/data_batch_*.bin"}}
//	Spec{Paths: []string{"photos/"}, Size: 64}
type Spec struct {
	Paths  []string // files, patterns as in filepath.Match, or folders of pictures; together they are one data set
	Format string   // "" recognises it for each file

	// Names of columns or keys inside the files; "" is the default of the format. Vector may name several columns
	// between commas, numbered ones as e0..e767 and patterns as e*. If Tags names an existing file, that file is used.
	Vector, Label, Tags, ID string

	// Known says what the columns were used for in other data, those a model was trained on: a table with columns of
	// the same names is read the same way unless something above says otherwise. Other tables are unaffected.
	Known *Columns

	follows bool // Known comes before Vector, which chose it

	// TagsAlone ignores classes that come with the files, so that only the tags define similarity.
	TagsAlone bool

	// Files with one entry per row of the data; several are read as one. Those of labels and tags may also be tables in
	// any order with the ids of the rows, or the names of pictures, as file,label.
	LabelsFile, TagsFile, IDsFile []string

	// Pictures from folders, archives and picture files become squares of Size x Size pixels; 0 means 32. CIFAR and IDX
	// files keep their own size at 0. Fit is "crop", the default, for the largest square in the middle, which keeps
	// shapes as they are: filters and patches measure directions and sizes, and what matters is mostly in the middle.
	// "squash" takes the whole picture and changes its aspect. Grey makes one channel of three.
	Size int
	Fit  string
	Grey bool

	// Pictures prepares pictures as a model says, instead of the three fields above. Vectors are unaffected.
	Pictures *picture.Preparation

	// Once promises a single pass over the rows, so paths may be pipes, or Standard for Stdin. If Dim is not 0,
	// what comes from there may also be nothing: no rows of Dim values.
	Once  bool
	Stdin io.Reader
	Dim   int

	Threads int // for decoding pictures and numbers; 0 means all cores

	SkipBad bool // leave out bad rows instead of stopping at the first one

	Codes bool // rows are codes: their values are the bytes, as read by FromPacked; Vector names the columns

	// Missing allows missing values: NaN, an empty field, NA and null become NaN instead of making a bad row. Infinite
	// values are still bad.
	Missing bool

	streams map[string]*stream // by path
}

// Open examines the files without reading all their rows: it determines names and formats, checks that all files have
// vectors of one length, reads the small files of labels, tags and ids, and checks their lengths if the number of rows
// is known already.
func Open(spec Spec) (*Set, error) {
	if len(spec.Paths) == 0 {
		return nil, message.New("no-files", "no data: name at least one file")
	}
	paths, err := expand(spec.Paths, true)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, path := range paths {
		if seen[filepath.Clean(path)] {
			return nil, message.New("duplicate-file", "%s: is named twice", path)
		}
		seen[filepath.Clean(path)] = true
	}
	if err := spec.openStreams(paths); err != nil {
		return nil, err
	}
	for _, c := range []struct {
		what, column string
		files        []string
	}{{"labels", spec.Label, spec.LabelsFile}, {"ids", spec.ID, spec.IDsFile}, {"tags", spec.Tags, spec.TagsFile}} {
		if c.column != "" && len(c.files) > 0 {
			return nil, message.New("column-and-file",
				"%s come from a column (%s) or from a file (%s), not from both", c.what, c.column, c.files[0])
		}
	}
	if spec.TagsAlone && (spec.Label != "" || len(spec.LabelsFile) > 0) {
		return nil, errors.New("labels are named, but only tags are to say which rows are similar: name one of them")
	}
	if files, err := expand([]string{spec.Tags}, false); err == nil && spec.Tags != "" {
		spec.TagsFile, spec.Tags = files, ""
	}
	if err := spec.checkPictures(); err != nil {
		return nil, err
	}
	s := &Set{spec: spec, dim: -1, last: new(pass)}
	for _, path := range paths {
		if err := s.addFile(path); err != nil {
			return nil, err
		}
	}
	switch {
	case s.dim < 0 && s.badRows > 0:
		return nil, message.New("all-rows-bad",
			"all %s bad; the first: %w", message.Count(s.badRows, "row is", "rows are"), s.firstBad)
	case s.dim < 0 && s.Once() && spec.Format != "" && spec.Dim > 0:
		s.dim = spec.Dim // a pipe may have nothing to send
	case s.dim < 0:
		return nil, message.New("no-rows", "%s: no rows", strings.Join(s.Files(), ", "))
	}
	return s, s.readSupervision()
}

// addFile adds the next file of vectors to the set.
func (s *Set) addFile(path string) error {
	spec := &s.spec
	if len(s.names) > 0 { // further files have the columns of the first, in any order
		next := s.spec
		next.Known, next.follows = &Columns{Vector: s.names, Label: s.columns.Label, Tags: s.columns.Tags}, true
		spec = &next
	}
	r, h, err := openFile(path, spec)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := s.spec.checkNames(path, h.format); err != nil {
		return err
	}
	s.files = append(s.files, file{path, h, spec})
	if err := s.checkShape(path, h.shape); err != nil {
		return err
	}
	if err := s.checkColumns(path, h.names); err != nil {
		return err
	}
	if s.dim >= 0 && h.dim >= 0 {
		return s.checkDim(path, h.dim)
	}
	// The first row shows what comes with the vectors, and their length if the header does not.
	var rec record
	for {
		err := r.next(&rec)
		if _, bad := errors.AsType[*RowError](err); bad && s.spec.SkipBad {
			if s.badRows++; s.badRows == 1 {
				s.firstBad = err
			}
			continue
		} else if bad {
			return advise(err)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		break
	}
	if h.dim < 0 {
		h.dim = len(rec.vector) + len(rec.pixels)
	}
	if h.dim == 0 {
		return fmt.Errorf("%s: the vectors have no values", path)
	}
	if s.dim < 0 {
		s.names, s.columns = slices.Clone(h.names), h.columns
		if c := &s.columns; s.spec.TagsAlone && c.Label != "" {
			c.Unused, c.Label = append(slices.Clone(c.Unused), c.Label), ""
		}
		s.labelled = (rec.hasLabel || s.spec.Label != "") && !s.spec.TagsAlone
		s.tagged = rec.hasTags || s.spec.Tags != ""
		if s.spec.Codes { // nothing is learned from them: some rows may have none
			s.labelled, s.tagged = true, true
		}
		s.identified = rec.id != "" || s.spec.ID != ""
	}
	return s.checkDim(path, h.dim)
}

// checkColumns reports columns of the first file that another one lacks.
func (s *Set) checkColumns(path string, names []string) error {
	if len(s.names) == 0 || len(names) == 0 || slices.Equal(s.names, names) {
		return nil
	}
	lacks := missing(names, s.names)
	if len(lacks) == 0 { // it has more, and those that it shares in another order
		lacks = s.names
	}
	return message.New("no-such-column",
		"%s: has no columns of numbers %s, which %s has: give all files the same columns, in any order",
		path, message.Runs(lacks), s.dimFile)
}

func (s *Set) checkDim(path string, dim int) error {
	if s.dim < 0 {
		s.dim, s.dimFile = dim, path
	}
	if dim != s.dim && s.spec.Codes {
		return message.New("dim-mismatch", "%s: codes of %d bits, but those of %s have %d", path, 8*dim, s.dimFile, 8*s.dim)
	}
	if dim != s.dim {
		return message.New("dim-mismatch", "%s: vectors of %d dimensions, but those of %s have %d", path, dim, s.dimFile,
			s.dim)
	}
	return nil
}

// readSupervision reads the files of labels, tags and ids.
func (s *Set) readSupervision() error {
	s.ids = entries{patterns: s.spec.IDsFile, what: idNoun}
	s.labels = entries{patterns: s.spec.LabelsFile, what: labelNoun}
	s.tags = entries{patterns: s.spec.TagsFile, what: tagsNoun}
	for _, side := range []struct {
		*entries
		there *bool
	}{{&s.ids, &s.identified}, {&s.labels, &s.labelled}, {&s.tags, &s.tagged}} {
		if err := side.load(s); err != nil {
			return err
		}
		*side.there, s.sided = *side.there || side.given(), s.sided || side.given()
	}
	return nil
}

// countedRows returns the number of rows, bad ones included, or -1 if only the end of the first pass will show it.
func (s *Set) countedRows() int {
	rows := 0
	for _, f := range s.files {
		if f.header.rows < 0 {
			return -1
		}
		rows += f.header.rows
	}
	return rows
}

// noSuchFile returns the error for a file that does not exist, with the name that may have been meant.
func noSuchFile(path string, err error) error {
	near := nearestName(path)
	if near != "" {
		near = "; did you mean " + near + "?"
	}
	return message.New("no-such-file", "%w%s", err, near)
}

// CheckExist returns an error if one of some paths or patterns names no file.
func CheckExist(paths []string) error {
	_, err := expand(paths, true)
	return err
}

// expand turns patterns into the files they match, those of one pattern in natural order. Folders are allowed where
// they may hold pictures.
func expand(patterns []string, folders bool) ([]string, error) {
	var paths []string
	for _, p := range patterns {
		if p == Standard && folders {
			paths = append(paths, p)
			continue
		}
		info, err := message.Stat(p)
		switch {
		case err == nil && info.IsDir() && !folders:
			return nil, fmt.Errorf("%s: is a folder, but should be a file", p)
		case err == nil:
			paths = append(paths, p)
			continue
		case !errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(p, "*?["):
			return nil, err
		case !strings.ContainsAny(p, "*?["):
			return nil, noSuchFile(p, err)
		}
		found, err := filepath.Glob(p)
		if err != nil {
			return nil, fmt.Errorf("%s: is not a valid pattern of file names: %w", p, err)
		}
		found = slices.DeleteFunc(found, func(name string) bool {
			info, err := os.Stat(name)
			return err != nil || info.IsDir()
		})
		if len(found) == 0 {
			return nil, message.New("no-file-matches", "%s: no file matches", p)
		}
		slices.SortFunc(found, gallery.NaturalOrder)
		paths = append(paths, found...)
	}
	return paths, nil
}

// nearestName returns the file beside path whose name is at most two typing errors away from it, or "".
func nearestName(path string) string {
	dir, name := filepath.Split(path)
	entries, err := os.ReadDir(cmp.Or(dir, "."))
	if err != nil {
		return ""
	}
	best, near := 3, "" // two typing errors at most
	for _, e := range entries {
		if d := message.EditDistance(strings.ToLower(name), strings.ToLower(e.Name())); !e.IsDir() && d < min(best,
			len(name)) {
			best, near = d, dir+e.Name()
		}
	}
	return near
}
