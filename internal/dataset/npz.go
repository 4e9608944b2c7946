package dataset

import (
	"archive/zip"
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"hashgrove/internal/message"
)

// The .npz format of NumPy: a zip file of npy files, one per array. The vectors are the array named by the caller, or
// the only one of two or more axes, or the one with a usual name; labels, tags and ids are other arrays.

var (
	usualVectors = []string{"X", "x", "data", "features", "embeddings", "vectors", "arr_0"}
	usualLabels  = []string{"y", "labels", "label"}
	usualIDs     = []string{"ids", "id"}
	usualTags    = []string{"tags"}
)

const maxMembers = 1 << 12

// archive is an open npz file.
type archive struct {
	in      *input
	names   []string
	members map[string]*zip.File
}

// beside reads rows with the arrays of texts that are beside them.
type beside struct {
	reader
	what   string    // name in errors
	sides  [3]*dense // of texts, or nil; see tableRows.sides
	matrix reader    // tags as a 0/1 matrix
	row    record
	seen   interner
	open   []*input // besides that of the reader
}

func openNpz(in *input, spec *Spec) (reader, header, error) {
	a, err := openArchive(in)
	if err != nil {
		return nil, header{}, err
	}
	z := &beside{what: in.path, seen: interner{}}
	h, err := z.openArrays(a, spec)
	if err != nil {
		_ = z.closeArrays() // the first error says more
		return nil, header{}, err
	}
	z.open, h.format = append(z.open, in), "npz"
	return z, h, nil
}

func openArchive(in *input) (*archive, error) {
	if err := in.checkPlain("an npz file"); err != nil {
		return nil, err
	}
	z, err := zip.NewReader(in.at, in.size)
	if err != nil {
		return nil, message.New("not-a-zip", "%s: is not an npz file, or is cut off: %w", in.path, err)
	}
	if len(z.File) > maxMembers {
		return nil, fmt.Errorf("%s: holds %d arrays; at most %d are read", in.path, len(z.File), maxMembers)
	}
	a := &archive{in: in, members: map[string]*zip.File{}}
	for _, f := range z.File {
		name, found := strings.CutSuffix(f.Name, ".npy")
		if !found || a.members[name] != nil {
			return nil, message.New("not-npz", "%s: holds %.40q, so it is not an npz file", in.path, f.Name)
		}
		a.members[name] = f
		a.names = append(a.names, name)
	}
	return a, nil
}

// what names an array in errors.
func (a *archive) what(name string) string { return fmt.Sprintf("%s, array %s", a.in.path, name) }

// array opens one array and reads its header.
func (a *archive) array(name string) (*input, array, error) {
	f := a.members[name]
	if f == nil {
		return nil, array{}, message.New("no-such-array",
			"%s: has no array %q; it has %s", a.in.path, name, strings.Join(a.names, ", "))
	}
	r, err := f.Open()
	if err != nil {
		return nil, array{}, fmt.Errorf("%s: %w", a.what(name), err)
	}
	m := &input{path: a.what(name), size: -1, disk: a.in.disk, packed: "zip", close: []func() error{r.Close}}
	if f.Method == zip.Store {
		// Uncompressed content can be read in any order.
		offset, err := f.DataOffset()
		if err == nil && (offset > a.in.size || f.UncompressedSize64 > uint64(a.in.size-offset)) {
			r.Close()
			return nil, array{}, message.New("impossible-claim",
				"%s: claims %d bytes, more than the file has", a.what(name), f.UncompressedSize64)
		}
		if err == nil {
			m.at, m.size = io.NewSectionReader(a.in.at, offset, int64(f.UncompressedSize64)), int64(f.UncompressedSize64)
		}
	}
	m.buf = bufio.NewReaderSize(&unpacked{m, r}, maxTake)
	head, err := readArray(m, a.what(name))
	if err != nil {
		m.Close()
		return nil, array{}, err
	}
	return m, head, nil
}

// openArrays chooses the arrays of an archive and opens them.
func (z *beside) openArrays(a *archive, spec *Spec) (header, error) {
	sides := []string{
		sideLabel: chosenName(spec.Label, usualLabels, a.names),
		sideID:    chosenName(spec.ID, usualIDs, a.names),
		sideTags:  chosenName(spec.Tags, usualTags, a.names),
	}
	vector, err := a.vectorArray(spec.Vector, sides)
	if err != nil {
		return header{}, err
	}
	in, head, err := a.array(vector)
	if err != nil {
		return header{}, err
	}
	z.open = append(z.open, in)
	var h header
	if z.reader, h, err = openArray(in, in.path, head); err != nil {
		return h, err
	}
	for k, name := range sides {
		if name == "" {
			continue
		}
		in, head, err := a.array(name)
		if err != nil {
			return h, err
		}
		z.open = append(z.open, in)
		if head.rows != h.rows {
			return h, message.New("wrong-count", "%s: has %d rows, array %s has %d", in.path, head.rows, vector, h.rows)
		}
		if k == sideTags && !head.isText() {
			z.matrix, _, err = openArray(in, in.path, head)
		} else {
			z.sides[k], err = openTexts(in, in.path, head)
		}
		if err != nil {
			return h, err
		}
	}
	return h, nil
}

// vectorArray chooses the array of the vectors; the taken ones have another use.
func (a *archive) vectorArray(asked string, taken []string) (string, error) {
	if asked != "" {
		return asked, nil
	}
	var tables []string
	var unreadable error
	for _, name := range a.names {
		if slices.Contains(taken, name) {
			continue
		}
		in, head, err := a.array(name)
		if err != nil {
			unreadable = errors.Join(unreadable, err)
			continue
		}
		in.Close()
		if len(head.shape) > 1 && !head.isText() {
			tables = append(tables, name)
		}
	}
	if len(tables) == 1 {
		return tables[0], nil
	}
	for _, n := range usualVectors {
		if slices.Contains(tables, n) || len(tables) == 0 && a.members[n] != nil && !slices.Contains(taken, n) {
			return n, nil
		}
	}
	if len(tables) == 0 && unreadable != nil {
		return "", unreadable
	}
	return "", &SpecError{"Vector", message.New("which-vector", "%s: which array holds the vectors? It has %s: name one",
		a.in.path, strings.Join(a.names, ", "))}
}

func (z *beside) next(rec *record) error {
	err := z.reader.next(rec)
	if _, bad := errors.AsType[*RowError](err); err != nil && !bad {
		return err
	}
	// The other arrays advance even if the vector is bad.
	for k, side := range z.sides {
		if side == nil {
			continue
		}
		text, more := side.nextText()
		if more != nil {
			return more
		}
		switch k {
		case sideLabel:
			rec.label, rec.hasLabel = z.seen.keep(text), true
		case sideID:
			rec.id = text
		default:
			rec.tags, rec.hasTags = z.seen.appendTags(rec.tags, text, tagSeparator(text)), true
		}
	}
	if z.matrix != nil {
		more := z.matrix.next(&z.row)
		if more != nil {
			return more
		}
		if rec.tags, more = appendMatrixTags(rec.tags, z.row.vector); more != nil {
			return fmt.Errorf("%s: %w", z.what, more)
		}
		rec.hasTags = true
	}
	return err
}

func (z *beside) closeArrays() error {
	var errs []error
	for _, in := range z.open {
		errs = append(errs, in.Close())
	}
	z.open = nil
	return errors.Join(errs...)
}

func (z *beside) Close() error { return errors.Join(z.closeArrays(), z.reader.Close()) }
