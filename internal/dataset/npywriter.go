package dataset

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"hashgrove/internal/fileio"
	"hashgrove/internal/message"
	"hashgrove/internal/vectors"
)

// NpyType is the type of the values in a NumPy file to write.
type NpyType string

// The types of written values.
const (
	Float32 NpyType = "float32"
	Float16 NpyType = "float16" // half the size; values beyond 65504 are an error
	Uint8   NpyType = "uint8"   // of whole numbers up to 255 only
)

// npyWriter writes rows of vectors to a NumPy file, all or nothing. The number of rows need not be known in advance.
type npyWriter struct {
	file *fileio.File
	kind NpyType
	cols int
	rows int
	buf  []byte
}

// createNpy starts a file of vectors with the given number of columns.
func createNpy(path string, kind NpyType, cols int) (*npyWriter, error) {
	w := &npyWriter{kind: kind, cols: cols}
	if npyTypes[kind] == "" {
		return nil, fmt.Errorf("values of type %q cannot be written: choose %s, %s or %s", kind, Float32, Float16, Uint8)
	}
	var err error
	if w.file, err = fileio.Create(path); err != nil {
		return nil, err
	}
	if _, err := w.file.Write(w.header()); err != nil {
		w.file.Abort()
		return nil, err
	}
	return w, nil
}

// npyTypes maps the types to NumPy's names.
var npyTypes = map[NpyType]string{Float32: "<f4", Float16: "<f2", Uint8: "|u1"}

// header returns the header for the rows so far, padded to the same length for any number of rows.
func (w *npyWriter) header() []byte {
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%d, %d), }", npyTypes[w.kind], w.rows, w.cols)
	text += strings.Repeat(" ", 117-len(text)) + "\n"
	return append([]byte("\x93NUMPY\x01\x00\x76\x00"), text...)
}

// Write appends rows.
func (w *npyWriter) Write(x vectors.Matrix) error {
	if x.Cols != w.cols {
		panic("dataset: rows of another width than the file")
	}
	w.buf = w.buf[:0]
	switch w.kind {
	case Float32:
		for _, v := range x.Data {
			w.buf = binary.LittleEndian.AppendUint32(w.buf, math.Float32bits(v))
		}
	case Float16:
		for i, v := range x.Data {
			h := toHalf(v)
			if h&0x7fff >= 0x7c00 {
				return message.New("out-of-range", "row %d, column %d: %v is beyond the range of float16; write float32",
					w.rows+i/w.cols+1, i%w.cols+1, v)
			}
			w.buf = binary.LittleEndian.AppendUint16(w.buf, h)
		}
	case Uint8:
		for i, v := range x.Data {
			if v != float32(uint8(v)) {
				return message.New("out-of-range", "row %d, column %d: %v is no whole number from 0 to 255; write float32",
					w.rows+i/w.cols+1, i%w.cols+1, v)
			}
			w.buf = append(w.buf, uint8(v))
		}
	}
	w.rows += x.Rows
	_, err := w.file.Write(w.buf)
	return err
}

// finish puts the number of rows into the header. The file is then complete, but not yet in its place.
func (w *npyWriter) finish() error {
	_, err := w.file.WriteAt(w.header(), 0)
	return err
}

// Abort discards the file.
func (w *npyWriter) Abort() { w.file.Abort() }

// toHalf rounds to the nearest float16, ties to even; too large values become infinite.
func toHalf(x float32) uint16 {
	bits := math.Float32bits(x)
	sign, magnitude := uint16(bits>>16&0x8000), bits&0x7fffffff
	switch {
	case magnitude >= 0x47800000: // 65536 and more, infinities, NaN
		return sign | 0x7c00
	case magnitude < 0x38800000: // below the least normal float16: a multiple of 2^-24
		return sign | uint16(math.RoundToEven(float64(math.Float32frombits(magnitude))*(1<<24)))
	}
	// Drop 13 bits of the mantissa and rebias the exponent; a carry out of the mantissa raises the exponent.
	magnitude += 0xfff + magnitude>>13&1
	return sign | uint16((magnitude-0x38000000)>>13)
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
// Progress, which may be nil, is called after every
// chunk with the rows so far.
func SaveNpy(
	ctx context.Context, src vectors.Source, path string, kind NpyType, progress func(rows int),
) (Saved, error) {
	var saved Saved
	out, err := createNpy(path, kind, src.Dim())
	if err != nil {
		return saved, err
	}
	names := NpyFiles(path)
	labels, tags, ids := &sidecar{path: names[1]}, &sidecar{path: names[2], tags: true}, &sidecar{path: names[3]}
	defer out.Abort()
	for c, err := range src.Chunks(ctx) {
		if err == nil {
			err = out.Write(c.X)
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
	if err := out.finish(); err != nil {
		return saved, err
	}
	for _, side := range []struct {
		*sidecar
		path *string
	}{{labels, &saved.Labels}, {tags, &saved.Tags}, {ids, &saved.IDs}} {
		if len(side.rows) > 0 {
			*side.path = side.file()
		}
	}
	return saved, saveBeside(out.file, path, []*sidecar{labels, tags, ids})
}
