package dataset

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hashgrove/internal/message"
)

// The .npy format of NumPy (its documentation, "npy format", versions 1 to 3):
//
//	"\x93NUMPY"  major  minor  length of the dictionary (2 bytes in version 1, else 4, little-endian)
//	{'descr': '<f4', 'fortran_order': False, 'shape': (60000, 28, 28), }   padded with spaces, ends in a newline
//	the values
//
// The dictionary is Python, but only this much of it is read. A row is the first axis; all others are flattened
// in C order. Fortran order lies column by column, so rows are gathered with strided reads.

const maxDictionary = 1 << 20

// array is the header of an npy file.
type array struct {
	descr   string // as written, for instance "<f4"
	dtype          // the size of text is that of one string
	fortran bool
	shape   []int
	rows    int
	dim     int   // product of the other axes
	head    int64 // bytes before the values
}

// readArray reads the header.
func readArray(in *input) (a array, err error) {
	what := in.path
	lead, err := in.take(8)
	if err != nil || string(lead[:6]) != "\x93NUMPY" {
		return a, message.New("not-npy", "%s: is not an npy file", what)
	}
	major, width := lead[6], 4
	if major < 1 || major > 3 {
		return a, message.New("unknown-version", "%s: is npy version %d; versions 1 to 3 are known", what, major)
	}
	if major == 1 {
		width = 2
	}
	b, err := in.take(width)
	if err != nil {
		return a, message.New("cut-off", "%s: the npy header is cut off", what)
	}
	length := int(binary.LittleEndian.Uint16(b))
	if width == 4 {
		length = int(min(binary.LittleEndian.Uint32(b), maxDictionary+1))
	}
	if length > maxDictionary {
		return a, message.New("header-too-long", "%s: the npy header claims more than %d bytes", what, maxDictionary)
	}
	text := make([]byte, 0, min(length, maxTake))
	for len(text) < length {
		part, err := in.take(min(length-len(text), maxTake))
		if err != nil {
			return a, message.New("cut-off", "%s: the npy header is cut off", what)
		}
		text = append(text, part...)
	}
	if err := a.parse(string(text)); err != nil {
		return a, fmt.Errorf("%s: %w", what, err)
	}
	a.head = int64(8 + width + length)
	return a, nil
}

var (
	npyDescr   = regexp.MustCompile(`['"]descr['"]\s*:\s*(?:'([^']+)'|"([^"]+)"|(\[))`)
	npyFortran = regexp.MustCompile(`['"]fortran_order['"]\s*:\s*(True|False)`)
	npyShape   = regexp.MustCompile(`['"]shape['"]\s*:\s*\(([0-9L, ]*)\)`) // Python 2 wrote long integers as 1L
)

// parse reads the dictionary.
func (a *array) parse(s string) error {
	descr, fortran := npyDescr.FindStringSubmatch(s), npyFortran.FindStringSubmatch(s)
	shape := npyShape.FindStringSubmatch(s)
	switch {
	case descr != nil && descr[3] != "":
		return message.New("structured-type", "has a structured dtype (named fields): save the vectors as one plain array")
	case descr == nil || fortran == nil || shape == nil:
		return message.New("missing-key", "has an npy header without descr, fortran_order and shape")
	}
	a.descr, a.fortran = descr[1]+descr[2], fortran[1] == "True"
	for n := range strings.SplitSeq(strings.TrimRight(shape[1], ", "), ",") {
		v, err := strconv.ParseInt(strings.Trim(n, " L"), 10, 50)
		if shape[1] == "" {
			return message.New("single-value", "holds a single value, not rows")
		}
		if err != nil || len(a.shape) == 32 { // numpy has no more axes
			return message.New("bad-header", "has the shape %.40q in its npy header, which cannot be read", shape[1])
		}
		a.shape = append(a.shape, int(min(v, math.MaxInt))) // if int has 32 bits, there cannot be more rows
	}
	if err := a.measure(); err != nil {
		return err
	}
	return a.parseType()
}

// measure counts the rows and their values.
func (a *array) measure() error {
	a.rows, a.dim = a.shape[0], 1
	for _, n := range a.shape[1:] {
		if n > maxDim || a.dim*n > maxDim {
			return message.New("row-too-long", "has rows of more than %d values", maxDim)
		}
		a.dim *= n
	}
	return nil
}

// parseType parses numpy's type string: order, kind, bytes.
func (a *array) parseType() error {
	order, rest := a.descr[:1], a.descr[1:]
	if strings.HasPrefix(rest, "O") {
		return message.New("python-objects", "holds Python objects (a pickle), which could run any code and is not read: "+
			"save numbers instead, for instance np.save(file, np.stack(x).astype(np.float32))")
	}
	if len(rest) < 2 || !strings.Contains("<>|=", order) {
		return message.New("unknown-type", "has the unknown dtype %.40q", a.descr)
	}
	n, err := strconv.ParseUint(rest[1:], 10, 31)
	if err != nil {
		return message.New("unknown-type", "has the unknown dtype %.40q", a.descr)
	}
	a.kind, a.size, a.big = rest[0], int(n), order == ">"
	switch a.kind {
	case 'U':
		if n > 1<<16 {
			return fmt.Errorf("has strings of %d characters: at most %d can be read", n, 1<<16)
		}
		a.size *= 4
		return nil
	case 'S':
		if n > maxTake {
			return fmt.Errorf("has strings of %d bytes: at most %d can be read", n, maxTake)
		}
		return nil
	}
	sizes := map[byte][]int{'f': {2, 4, 8}, 'i': {1, 2, 4, 8}, 'u': {1, 2, 4, 8}, 'b': {1}}[a.kind]
	if !slices.Contains(sizes, a.size) {
		return message.New("unread-type",
			"has the dtype %.40q, which is not supported: save it with astype(np.float32)", a.descr)
	}
	return nil
}

// isText reports an array of strings.
func (a *array) isText() bool { return a.kind == 'U' || a.kind == 'S' }

// openNpy opens a file of vectors.
func openNpy(in *input, spec *Spec) (reader, header, error) {
	a, err := readArray(in)
	if err != nil {
		return nil, header{}, err
	}
	return openArray(in, a, spec)
}

// openArray reads the rows of a numeric array whose header has been read.
func openArray(in *input, a array, spec *Spec) (reader, header, error) {
	h := header{format: "npy", rows: a.rows, dim: a.dim}
	switch {
	case a.isText():
		return nil, h, message.New("text-values", "%s: holds text (dtype %s), not vectors", in.path, a.descr)
	case a.dim == 0:
		return nil, h, message.New("no-values", "%s: has rows without values", in.path)
	}
	d := newDense(in, in.path, a.dtype, a.rows, a.dim, spec)
	if err := d.checkSize(a.head); err != nil {
		return nil, h, err
	}
	long := 0 // with at most one long axis the two orders are the same
	for _, n := range a.shape {
		if n > 1 {
			long++
		}
	}
	if a.fortran && long > 1 {
		if in.at == nil {
			return nil, h, message.New("fortran-packed",
				"%s: is in Fortran order, column by column, but comes row by row from here: send np.ascontiguousarray(x), or "+
					"give a file that is not compressed", in.path)
		}
		d.place, d.block = a.places(), fortranBytes
	}
	return d, h, nil
}

// places returns where the columns of a file in Fortran order belong in a row. The file counts the axes after the first
// with the leftmost running fastest, a row with the rightmost.
func (a *array) places() []int32 {
	place, axes := make([]int32, a.dim), a.shape[1:]
	for j := range place {
		left, stride, c := j, a.dim, 0
		for _, n := range axes {
			stride /= n
			c += left % n * stride
			left /= n
		}
		place[j] = int32(c)
	}
	return place
}

// entries returns a function that reads the values of an array of one value per row as texts.
func (a *array) entries(in *input) (func() (string, error), error) {
	if a.dim != 1 {
		return nil, message.New("not-one-value", "%s: has %d values per row, but should have one", in.path, a.dim)
	}
	d := newDense(in, in.path, a.dtype, a.rows, 1, new(Spec))
	return func() (string, error) {
		if d.row == d.rows {
			return "", d.atEnd()
		}
		b, err := in.take(a.size)
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			err = cutOff(in.path, d.row, d.rows)
		}
		if err != nil {
			return "", err
		}
		d.row++
		return a.text(b), nil
	}, d.checkSize(a.head)
}
