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
// the first with a usual name, or the only one that is not named like labels, tags or ids.

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

// beside reads rows with what comes with them in arrays or files of their own.
type beside struct {
	reader
	row         int
	labels, ids []string
	tags        [][]string
}

func (b *beside) next(rec *record) error {
	err := b.reader.next(rec)
	if _, bad := errors.AsType[*RowError](err); err != nil && !bad {
		return err
	}
	if b.labels != nil {
		rec.label, rec.hasLabel = b.labels[b.row], true
	}
	if b.ids != nil {
		rec.id = b.ids[b.row]
	}
	if b.tags != nil {
		rec.tags, rec.hasTags = append(rec.tags, b.tags[b.row]...), true
	}
	b.row++
	return err
}

func openNpz(in *input, spec *Spec) (reader, header, error) {
	a, err := openArchive(in)
	if err != nil {
		return nil, header{}, err
	}
	label := chosenName(spec.Label, usualLabels, a.names)
	id := chosenName(spec.ID, usualIDs, a.names)
	tags := chosenName(spec.Tags, usualTags, a.names)
	vector, err := a.vectorArray(spec.Vector, []string{label, id, tags})
	if err != nil {
		return nil, header{}, err
	}
	of, err := a.array(vector)
	if err != nil {
		return nil, header{}, err
	}
	r, h, err := openNpy(of, spec)
	if err != nil {
		return nil, h, err
	}
	h.format, of.close = "npz", slices.Insert(of.close, 0, in.Close)
	b := &beside{reader: r}
	if b.labels, _, err = a.entries(label, labelNoun, h.rows); err == nil {
		b.ids, _, err = a.entries(id, idNoun, h.rows)
	}
	if err == nil {
		_, b.tags, err = a.entries(tags, tagsNoun, h.rows)
	}
	return b, h, err
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

// array opens one array.
func (a *archive) array(name string) (*input, error) {
	f := a.members[name]
	if f == nil {
		return nil, message.New("no-such-array",
			"%s: has no array %q; it has %s", a.in.path, name, strings.Join(a.names, ", "))
	}
	what := fmt.Sprintf("%s, array %s", a.in.path, name)
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	m := &input{path: what, size: -1, disk: a.in.disk, packed: "zip", close: []func() error{r.Close}}
	if f.Method == zip.Store {
		// Uncompressed content can be read in any order.
		offset, err := f.DataOffset()
		if err == nil && (offset > a.in.size || f.UncompressedSize64 > uint64(a.in.size-offset)) {
			r.Close()
			return nil, message.New("impossible-claim", "%s: claims %d bytes, more than the file has",
				what, f.UncompressedSize64)
		}
		if err == nil {
			m.at, m.size = io.NewSectionReader(a.in.at, offset, int64(f.UncompressedSize64)), int64(f.UncompressedSize64)
		}
	}
	m.buf = bufio.NewReaderSize(&unpacked{m, r}, maxTake)
	return m, nil
}

// entries reads an array with an entry per row, unless there is none.
func (a *archive) entries(name string, what noun, rows int) (texts []string, tags [][]string, err error) {
	if name == "" {
		return nil, nil, nil
	}
	in, err := a.array(name)
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	next, err := npyEntries(in, what)
	if texts, err = in.collect(next, err); err != nil {
		return nil, nil, err
	}
	if len(texts) != rows {
		return nil, nil, message.New("wrong-count", "%s: has %d rows, the vectors have %d", in.path, len(texts), rows)
	}
	if what == tagsNoun {
		tags, err = parseTags(in, texts)
	}
	return texts, tags, err
}

// vectorArray chooses the array of the vectors; the taken ones have another use.
func (a *archive) vectorArray(asked string, taken []string) (string, error) {
	left := slices.DeleteFunc(slices.Clone(a.names), func(name string) bool { return slices.Contains(taken, name) })
	if name := chosenName(asked, usualVectors, left); name != "" {
		return name, nil
	}
	if len(left) == 1 {
		return left[0], nil
	}
	return "", &SpecError{"Vector", message.New("which-vector", "%s: which array holds the vectors? It has %s: name one",
		a.in.path, strings.Join(a.names, ", "))}
}
