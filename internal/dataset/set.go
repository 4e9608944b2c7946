// Package dataset reads vectors from files, with their classes, tags, pairs, ids and attributes. It recognises the
// format, checks every value, and streams rows in bounded memory.
//
//	Open   files named by a Spec   -> Set, a source of rows
package dataset

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"

	"hashgrove/internal/message"
	"hashgrove/internal/picture"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// Set is a data set in files: a Source that checks every row.
//
// A bad row ends the pass with an error or, with Spec.SkipBad, is left out, in every pass alike. Passes over one Set
// must not run at the same time.
type Set struct {
	spec    Spec
	files   []file
	dim     int           // -1 before the first row is read
	dimFile string        // the file that dim comes from
	shape   picture.Shape // of rows that are pictures
	names   []string
	columns Columns // of the first file

	badRows  int // met while opening
	firstBad error

	// What comes with the vectors, according to the first row and the Spec.
	labelled, tagged, identified bool

	// From separate files.
	sided             bool // there are some
	labels, tags, ids entries

	duplicates []vectors.Repeat // found by Scan, to be left out from then on; in order of row
	last       *pass            // the latest pass, or an empty one
	warnings   []string         // from opening
}

type file struct {
	path   string
	header header
	spec   *Spec // how it was opened
}

// Dim implements Source.
func (s *Set) Dim() int { return s.dim }

// Rows returns the number of rows, or -1 if it is unknown before reading.
func (s *Set) Rows() int {
	if s.spec.SkipBad {
		return -1
	}
	return s.countedRows()
}

// Names returns the names of the features, or nil if the files have none.
func (s *Set) Names() []string { return s.names }

// Columns returns what the columns of the first file are used for; it is empty if the data have no columns.
func (s *Set) Columns() Columns { return s.columns }

// Schema implements Source.
func (s *Set) Schema() vectors.Schema {
	c := s.columns
	schema := vectors.Schema{Names: s.names, Missing: s.spec.Missing, Files: s}
	if c.List && s.spec.Vector != "" {
		schema.Vector = c.Vector[0]
	}
	if named := len(s.names) > 0 || c.List; named && s.spec.Label != "" {
		schema.Label = c.Label
	} else if named && s.spec.Tags != "" {
		schema.Tags = c.Tags
	}
	if p := s.Preparation(); p.Shape != (picture.Shape{}) {
		schema.Pictures = &p
	}
	return schema
}

// Files returns the files of vectors in the order they are read.
func (s *Set) Files() []string {
	paths := make([]string, len(s.files))
	for i, f := range s.files {
		paths[i] = f.path
	}
	return paths
}

// Once reports whether some of the data can be read only once, as from a pipe.
func (s *Set) Once() bool { return len(s.spec.streams) > 0 }

// Format returns the format of the first file.
func (s *Set) Format() string { return s.files[0].header.format }

// Bad returns the number of rows that the latest pass left out, and the first few of them.
func (s *Set) Bad() (rows int, first []error) {
	dropped := s.last.dropped
	for _, row := range dropped[:min(len(dropped), badExamples)] {
		first = append(first, s.last.bad[row])
	}
	return len(dropped), first
}

// Dropped returns the rows that the latest pass left out, counted as in the files, ascending.
func (s *Set) Dropped() []int { return s.last.dropped }

// Warnings returns the doubts that opening the files raised.
func (s *Set) Warnings() []string { return s.warnings }

// badExamples is the number of bad rows reported individually.
const badExamples = 10

// pass is one reading of all files.
type pass struct {
	s      *Set
	starts []int         // number of rows before each file opened so far
	row    int           // rows met, good or bad, over all files
	chunk  picture.Chunk // with values in place of pixels, unless all files hold pictures
	slab   []string      // what chunk.Tags points into

	dropped []int             // rows left out, ascending
	bad     map[int]*RowError // why, for the first of them at least
}

// Chunks implements Source.
func (s *Set) Chunks(ctx context.Context) iter.Seq2[vectors.Chunk, error] {
	if p, ok := s.AsPictures(); ok {
		return picture.Pixels(ctx, p)
	}
	return func(yield func(vectors.Chunk, error) bool) {
		if err := s.run(ctx, func(c picture.Chunk) bool { return yield(c.Chunk, nil) }); err != nil {
			yield(vectors.Chunk{}, err)
		}
	}
}

// run reads all files and yields their rows in chunks until yield returns false.
func (s *Set) run(ctx context.Context, yield func(c picture.Chunk) bool) error {
	p := &pass{s: s, bad: map[int]*RowError{}}
	s.last = p
	p.clearChunk()
	for i := range s.files {
		if more, err := p.readFile(ctx, i, yield); err != nil || !more {
			return err
		}
	}
	// All rows are read, so the files of labels, tags and ids must be at their ends.
	if err := cmp.Or(s.labels.checkLength(p.row), s.tags.checkLength(p.row), s.ids.checkLength(p.row)); err != nil {
		return err
	}
	if p.chunk.X.Rows > 0 {
		yield(p.chunk)
	}
	return nil
}

// read reopens a file.
func (s *Set) read(ctx context.Context, f file) (reader, error) {
	if f.header.gallery != nil {
		return readGallery(ctx, f.header.gallery)
	}
	r, _, err := openFile(f.path, f.spec)
	if from := s.spec.streams[f.path]; from != nil {
		from.startPass()
	}
	return r, err
}

// readFile reads one file into chunks. It returns false if the caller has seen enough.
func (p *pass) readFile(ctx context.Context, i int, yield func(c picture.Chunk) bool) (bool, error) {
	f := p.s.files[i]
	r, err := p.s.read(ctx, f)
	if err != nil {
		return false, err
	}
	defer r.Close()
	p.starts = append(p.starts, p.row)
	full := vectors.ChunkRows(p.s.dim)
	duplicates := p.s.duplicates
	k, _ := slices.BinarySearchFunc(duplicates, p.row, func(d vectors.Repeat, row int) int { return d.Row - row })
	duplicates = duplicates[k:]
	var read record // the reader's memory
	for ; ; p.row++ {
		if p.row%full == 0 && ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		read.id, read.label, read.hasLabel, read.hasTags, read.finite = "", "", false, false, false
		err := r.next(&read)
		if err == io.EOF {
			return true, nil
		}
		rec := read
		problem, bad := err.(*RowError)
		if !bad && err == nil && p.s.sided {
			err = p.attach(&rec)
		}
		if !bad && err == nil {
			problem, err = p.checkRow(&rec)
		}
		if !bad && err != nil {
			return false, err
		}
		if len(duplicates) > 0 && duplicates[0].Row == p.row {
			if problem == nil {
				problem = p.sameID(vectors.Repeat{Row: p.row, First: duplicates[0].First, ID: rec.id})
			}
			duplicates = duplicates[1:]
		}
		if problem != nil {
			if !p.s.spec.SkipBad {
				return false, advise(problem)
			}
			p.drop(problem)
			continue
		}
		p.add(&rec)
		live, ok := r.(waiter)
		if p.chunk.X.Rows == full || ok && live.waits() { // do not keep anyone waiting for answers
			if !yield(p.chunk) {
				return false, nil
			}
			p.chunk.First += p.chunk.X.Rows
			p.clearChunk()
		}
	}
}

// attach adds the row's entries in the files of labels, tags and ids.
func (p *pass) attach(rec *record) error {
	id, err := p.s.ids.find(p.row, "")
	if err == nil && id >= 0 {
		rec.id = p.s.ids.texts[id]
	}
	names := []string{rec.id}
	if file, at := p.place(p.row); file.header.gallery != nil {
		name, below := file.header.gallery.Name(at)
		names = append(names, name, below, strings.TrimSuffix(below, path.Ext(below)))
	}
	label, more := p.s.labels.find(p.row, names...)
	if label >= 0 {
		rec.label, rec.hasLabel = p.s.labels.texts[label], true
	}
	tags, most := p.s.tags.find(p.row, names...)
	if tags >= 0 {
		rec.tags, rec.hasTags = p.s.tags.tags[tags], true
	}
	return cmp.Or(err, more, most)
}

// checkRow returns what is wrong with a row. An error concerns all rows, so leaving out this one would not help.
func (p *pass) checkRow(rec *record) (*RowError, error) {
	s := p.s
	if n := len(rec.vector) + len(rec.pixels); n != s.dim {
		return p.problem("", message.New("wrong-dim", "%d values instead of %d", n, s.dim)), nil
	}
	for j, v := range rec.vector {
		if rec.finite {
			break
		}
		if v-v == 0 { // only finite values
			continue
		}
		name := strconv.Itoa(j + 1)
		if j < len(s.names) {
			name = s.names[j]
		}
		if v != v && s.spec.Missing {
			continue
		} else if v != v {
			problem := p.problem(name, message.New("no-value", "NaN instead of a number"))
			problem.Missing = true
			return problem, nil
		}
		return p.problem(name, message.New("not-finite", "an infinite value")), nil
	}
	if s.spec.TagsAlone {
		rec.label, rec.hasLabel = "", false
	}
	if rec.hasLabel {
		rec.label = supervision.CanonicalLabel(rec.label)
	}
	switch {
	case s.labelled && (!rec.hasLabel || rec.label == "") && !s.spec.Codes:
		return p.problem(s.spec.Label, message.New("no-label", "no label%s", inFiles(s.spec.LabelsFile))), nil
	case s.tagged && !rec.hasTags && !s.spec.Codes:
		return p.problem(s.spec.Tags, message.New("no-tags", "no tags")), nil
	case s.identified && rec.id == "":
		return p.problem(s.spec.ID, message.New("no-id", "no id%s", inFiles(s.spec.IDsFile))), nil
	case !s.labelled && rec.hasLabel:
		return nil, p.unexpected("Label", "a label", "labels")
	case !s.tagged && rec.hasTags:
		return nil, p.unexpected("Tags", "tags", "tags")
	case !s.identified && rec.id != "":
		return nil, p.unexpected("ID", "an id", "ids")
	}
	return nil, nil
}

// unexpected returns the error for a row with something that the first row lacks.
func (p *pass) unexpected(field, has, things string) error {
	return &SpecError{field, message.New("first-row-has-none", "%w, but the first row has none: name the column of the %s",
		p.problem("", errors.New(has)), things)}
}

// add copies a good row into the chunk.
func (p *pass) add(rec *record) {
	c := &p.chunk
	c.X.Rows++
	c.X.Data = append(c.X.Data, rec.vector...)
	if p.s.shape != (picture.Shape{}) {
		c.Pix = append(c.Pix, rec.pixels...)
	} else {
		for _, v := range rec.pixels { // pictures among vectors
			c.X.Data = append(c.X.Data, float32(v))
		}
	}
	c.Places = append(c.Places, p.row)
	if p.s.labelled {
		c.Labels = append(c.Labels, rec.label)
	}
	if p.s.identified {
		c.IDs = append(c.IDs, rec.id)
	}
	if p.s.tagged {
		from := len(p.slab)
		p.slab = append(p.slab, rec.tags...)
		c.Tags = append(c.Tags, p.slab[from:len(p.slab):len(p.slab)])
	}
}

// clearChunk empties the chunk for the next rows.
func (p *pass) clearChunk() {
	c := &p.chunk
	p.slab, c.Pix = p.slab[:0], c.Pix[:0]
	if c.X = (vectors.Matrix{Data: c.X.Data[:0]}); p.s.shape == (picture.Shape{}) {
		c.X.Cols = p.s.dim
	}
	c.IDs, c.Labels, c.Tags, c.Places = c.IDs[:0], c.Labels[:0], c.Tags[:0], c.Places[:0]
}
