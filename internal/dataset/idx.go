package dataset

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"hashgrove/internal/message"
	"hashgrove/internal/picture"
)

// The IDX format of the MNIST family: two zero bytes, the type of the values, the number of axes, each length as a
// big-endian uint32, then the values, big-endian. The labels of pictures called ...images-idx3-ubyte come from
// ...labels-idx1-ubyte in the same folder.

var idxTypes = map[byte]dtype{
	0x08: {'u', 1, true}, 0x09: {'i', 1, true}, 0x0b: {'i', 2, true},
	0x0c: {'i', 4, true}, 0x0d: {'f', 4, true}, 0x0e: {'f', 8, true},
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
		return a, message.New("unknown-type", "%s: has the unknown IDX type 0x%02x", in.path, code)
	}
	a = array{dtype: t, descr: fmt.Sprintf("0x%02x", code), head: int64(4 + 4*axes)}
	lengths, err := in.take(4 * axes)
	if err != nil {
		return a, fmt.Errorf("%s: the IDX header is cut off", in.path)
	}
	for i := range axes {
		a.shape = append(a.shape, int(min(int64(binary.BigEndian.Uint32(lengths[4*i:])), math.MaxInt)))
	}
	if err := a.measure(); err != nil {
		return a, fmt.Errorf("%s: %w", in.path, err)
	}
	return a, nil
}

func openIDX(in *input, spec *Spec) (reader, header, error) {
	a, err := readIDX(in)
	if err != nil {
		return nil, header{}, err
	}
	r, h, err := openArray(in, a, spec)
	if err != nil {
		return nil, h, err
	}
	d := r.(*dense) // never in Fortran order
	h.format = "idx"
	if d.pixels = a.kind == 'u' && len(a.shape) == 3 && max(a.shape[1], a.shape[2]) <= picture.MaxSide; d.pixels {
		h.shape = picture.Shape{Width: a.shape[2], Height: a.shape[1], Channels: 1}
	}
	path := labelsBeside(in.path)
	if path == "" {
		return d, h, nil
	}
	beside := &beside{reader: d}
	beside.labels, err = readIDXLabels(path)
	if n := len(beside.labels); err == nil && n != a.rows {
		err = message.New("wrong-count", "%s: has %d labels for the %d rows of %s", path, n, a.rows, in.path)
	}
	return beside, h, err
}

// labelsBeside returns the file with the labels of a file of pictures, or "".
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

func readIDXLabels(path string) ([]string, error) {
	in, err := openInput(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	a, err := readIDX(in)
	if err != nil {
		return nil, err
	}
	next, err := a.entries(in)
	return in.collect(next, err)
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
