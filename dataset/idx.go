package dataset

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"hashgrove/picture"
)

// The IDX format of the MNIST family: two zero bytes, the type of the values, the number of axes, each length as a
// big-endian uint32, then the values, big-endian. The labels of pictures called ...images-idx3-ubyte come from
// ...labels-idx1-ubyte in the same folder.

var idxTypes = map[byte]dtype{
	0x08: {'u', 1, true}, 0x09: {'i', 1, true}, 0x0b: {'i', 2, true},
	0x0c: {'i', 4, true}, 0x0d: {'f', 4, true}, 0x0e: {'f', 8, true},
}

// idx reads pictures and, if they lie beside them, their labels.
type idx struct {
	dense
	pixels bool // rows are pictures
	labels *arrayTexts
	seen   interner
}

// readIDX reads the header, which says the same as that of an npy file.
func readIDX(in *input) (a array, err error) {
	lead, err := in.take(4)
	if err != nil || lead[0] != 0 || lead[1] != 0 || lead[3] == 0 {
		return a, fmt.Errorf("%s: is not an IDX file", in.path)
	}
	code, axes := lead[2], int(lead[3])
	t, known := idxTypes[code]
	if !known {
		return a, fmt.Errorf("%s: has the unknown IDX type 0x%02x", in.path, code)
	}
	a = array{dtype: t, descr: fmt.Sprintf("0x%02x", code), dim: 1, head: int64(4 + 4*axes)}
	lengths, err := in.take(4 * axes)
	if err != nil {
		return a, fmt.Errorf("%s: the IDX header is cut off", in.path)
	}
	for i := range axes {
		n := int(binary.BigEndian.Uint32(lengths[4*i:]))
		a.shape = append(a.shape, n)
		if i == 0 {
			a.rows = n
			continue
		}
		if n > maxDim || a.dim*n > maxDim {
			return a, fmt.Errorf("%s: has rows of more than %d values", in.path, maxDim)
		}
		a.dim *= n
	}
	return a, nil
}

func openIDX(in *input, cols columns) (reader, header, error) {
	h := header{format: "idx"}
	a, err := readIDX(in)
	if err != nil {
		return nil, h, err
	}
	h.rows, h.dim, h.bytes = a.rows, a.dim, a.kind == 'u'
	if a.dim == 0 {
		return nil, h, fmt.Errorf("%s: has rows without values", in.path)
	}
	if a.kind == 'u' && len(a.shape) == 3 && max(a.shape[1], a.shape[2]) <= picture.MaxSide {
		h.shape = picture.Shape{Width: a.shape[2], Height: a.shape[1], Channels: 1}
	}
	x := &idx{pixels: h.shape != picture.Shape{}, dense: dense{in: in, what: in.path, dtype: a.dtype, rows: a.rows, dim: a.dim}, seen: interner{}}
	if err := x.checkSize(a.head); err != nil {
		return nil, h, err
	}
	if h.labels = labelsBeside(in.path); h.labels == "" {
		return x, h, nil
	}
	if x.labels, err = openIDXLabels(h.labels, in.path, a.rows); err != nil {
		return nil, h, err
	}
	return x, h, nil
}

// labelsBeside is the file with the labels of a file of pictures, or "".
func labelsBeside(path string) string {
	dir, name := filepath.Split(path)
	if !strings.Contains(name, "images") || !strings.Contains(name, "idx3") {
		return ""
	}
	name = strings.Replace(strings.Replace(name, "images", "labels", 1), "idx3", "idx1", 1)
	plain := strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	for _, candidate := range []string{name, plain, plain + ".gz", plain + ".zst"} {
		if info, err := os.Stat(dir + candidate); err == nil && info.Mode().IsRegular() {
			return dir + candidate
		}
	}
	return ""
}

func openIDXLabels(path, pictures string, rows int) (*arrayTexts, error) {
	in, err := openInput(path)
	if err != nil {
		return nil, err
	}
	a, err := readIDX(in)
	if err == nil && a.rows != rows {
		err = fmt.Errorf("%s: has %d labels for the %d rows of %s", path, a.rows, rows, pictures)
	}
	var labels *arrayTexts
	if err == nil {
		labels, err = newArrayTexts(in, path, a)
	}
	if err != nil {
		in.Close()
		return nil, err
	}
	return labels, nil
}

func (x *idx) next(rec *record) error {
	read := x.dense.next
	if x.pixels {
		read = x.nextPicture
	}
	err := read(rec)
	if _, bad := errors.AsType[*RowError](err); err != nil && !bad || x.labels == nil {
		return err
	}
	label, more := x.labels.next()
	if more != nil && more != io.EOF {
		return more
	}
	rec.label, rec.hasLabel = x.seen.keep(label), true
	return err
}

// nextPicture is dense.next for bytes that stay bytes.
func (x *idx) nextPicture(rec *record) error {
	*rec = record{pixels: rec.pixels[:0], tags: rec.tags[:0]}
	if x.row == x.rows {
		return atEnd(x.in, x.what)
	}
	for left := x.dim; left > 0; left -= min(left, maxTake) {
		b, err := x.in.take(min(left, maxTake))
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return cutOff(x.what, x.row, x.rows)
		}
		if err != nil {
			return err
		}
		rec.pixels = append(rec.pixels, b...)
	}
	x.row++
	return nil
}

func (x *idx) Close() error {
	if x.labels != nil {
		return errors.Join(x.labels.in.Close(), x.in.Close())
	}
	return x.in.Close()
}

// looksIDX reports whether the lengths in the header account for the size of the file.
func looksIDX(s *sample) bool {
	if len(s.head) < 8 || s.head[0] != 0 || s.head[1] != 0 || s.head[3] == 0 || len(s.head) < 4+4*int(s.head[3]) {
		return false
	}
	t, known := idxTypes[s.head[2]]
	if !known {
		return false
	}
	size := int64(t.size)
	for i := range int(s.head[3]) {
		n := int64(binary.BigEndian.Uint32(s.head[4+4*i:]))
		if n > 0 && size > 1<<48/n {
			return false
		}
		size *= n
	}
	return s.size < 0 || s.size == size+4+4*int64(s.head[3])
}
