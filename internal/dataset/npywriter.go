package dataset

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"hashgrove/internal/fileio"
	"hashgrove/internal/vectors"
)

// npyHeader is that of a file of float32, of the same length for any number of rows.
func npyHeader(rows, cols int) []byte {
	text := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", rows, cols)
	text += strings.Repeat(" ", 117-len(text)) + "\n"
	return append([]byte("\x93NUMPY\x01\x00\x76\x00"), text...)
}

// Saved describes what SaveNpy wrote.
type Saved struct {
	Rows   int
	Labels string // file with one label per row, "" when the source has none
	Tags   string // likewise, tags separated by commas, or lists in JSON where a tag has a comma
	IDs    string // likewise
}

// NpyFiles returns the files that SaveNpy may write: the vectors first, then labels, tags and ids, and last the labels
// and ids that a line of text cannot hold.
func NpyFiles(path string) []string {
	stem := strings.TrimSuffix(path, filepath.Ext(path))
	return []string{
		path, stem + ".labels.txt", stem + ".tags.txt", stem + ".ids.txt", stem + ".labels.jsonl", stem + ".ids.jsonl",
	}
}

// SaveNpy writes the vectors of a source to a NumPy file, and labels, tags and ids to text files beside it: out.npy has
// out.labels.txt, out.tags.txt and out.ids.txt, or out.labels.jsonl and out.ids.jsonl if a text contains a line break.
// The number of rows need not be known in advance. Progress, which may be nil, is called after every chunk with the
// rows so far.
func SaveNpy(ctx context.Context, src vectors.Source, path string, progress func(rows int)) (saved Saved, err error) {
	out, err := fileio.Create(path)
	if err != nil {
		return saved, err
	}
	defer out.Abort()
	if _, err := out.Write(npyHeader(0, src.Dim())); err != nil {
		return saved, err
	}
	names := NpyFiles(path)
	labels, tags, ids := &sidecar{path: names[1]}, &sidecar{path: names[2], tags: true}, &sidecar{path: names[3]}
	var values []byte
	for c, err := range src.Chunks(ctx) {
		values = values[:0]
		for _, v := range c.X.Data {
			values = binary.LittleEndian.AppendUint32(values, math.Float32bits(v))
		}
		if err == nil {
			_, err = out.Write(values)
		}
		if err != nil {
			return saved, err
		}
		for _, label := range c.Labels {
			labels.add(label)
		}
		for _, list := range c.Tags {
			tags.add(list...)
		}
		for _, id := range c.IDs {
			ids.add(id)
		}
		saved.Rows = c.First + c.X.Rows
		if progress != nil {
			progress(saved.Rows)
		}
	}
	if _, err := out.WriteAt(npyHeader(saved.Rows, src.Dim()), 0); err != nil {
		return saved, err
	}
	saved.Labels, saved.Tags, saved.IDs = labels.file(), tags.file(), ids.file()
	return saved, saveBeside(out, path, []*sidecar{labels, tags, ids})
}
