package hamming

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"

	"hashgrove/internal/section"
)

// Reader reads codes back from a code file or a NumPy array, in bounded memory.
type Reader struct {
	Bits        int         // length of every code; of a NumPy array, all its bits
	Fingerprint Fingerprint // of the model; zeros when it is not known
	IDs         bool        // the codes have ids

	next func() (Codes, []string, error)
}

// NewReader tells the format from the first bytes and reads the header.
func NewReader(r io.Reader) (*Reader, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	if start, _ := b.Peek(len(npyMagic)); string(start) == npyMagic {
		return newNPYReader(b)
	}
	return newCodeFileReader(b)
}

// Next returns some more codes and their ids, nil without ids. Both are lent until the next call. At the end, once
// the whole file was checked, it returns io.EOF.
func (r *Reader) Next() (Codes, []string, error) { return r.next() }

// Table is codes with what belongs to them.
type Table struct {
	Codes       Codes
	IDs         []string // one per code, or nil
	Fingerprint Fingerprint
}

// All reads the codes that are left.
func (r *Reader) All() (*Table, error) {
	t := &Table{Codes: NewCodes(0, r.Bits), Fingerprint: r.Fingerprint}
	for {
		c, ids, err := r.Next()
		if err == io.EOF {
			return t, nil
		}
		if err != nil {
			return nil, err
		}
		t.Codes.Data = append(t.Codes.Data, c.Data...)
		t.IDs = append(t.IDs, ids...)
	}
}

// ReadFile reads all codes of a file.
func ReadFile(path string) (*Table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	t, err := r.All()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

const npyMagic = "\x93NUMPY"

// npyHeader is the header of an array of bytes, always 128 bytes long so that it can be written over.
func npyHeader(rows, bytes int) []byte {
	h := append([]byte(npyMagic), 1, 0, 118, 0)
	h = fmt.Appendf(h, "{'descr': '|u1', 'fortran_order': False, 'shape': (%d, %d), }", rows, bytes)
	for len(h) < 127 {
		h = append(h, ' ')
	}
	return append(h, '\n')
}

var (
	npyDescr   = regexp.MustCompile(`'descr' *: *'[|<>=]?u1'`)
	npyFortran = regexp.MustCompile(`'fortran_order' *: *True`)
	npyShape   = regexp.MustCompile(`'shape' *: *\( *(\d+) *, *(\d+) *,? *\)`)
)

// newNPYReader reads an array of uint8 with one row per code.
func newNPYReader(r *bufio.Reader) (*Reader, error) {
	damaged := func(format string, args ...any) error {
		return fmt.Errorf("%w: NumPy array: %s", ErrDamaged, fmt.Sprintf(format, args...))
	}
	start := make([]byte, len(npyMagic)+2, 12)
	if _, err := io.ReadFull(r, start); err != nil {
		return nil, damaged("the header is cut short")
	}
	size := 2
	if start[len(npyMagic)] > 1 {
		size = 4
	}
	length := make([]byte, 4)
	if _, err := io.ReadFull(r, length[:size]); err != nil {
		return nil, damaged("the header is cut short")
	}
	n := binary.LittleEndian.Uint32(length)
	if n > 1<<16 {
		return nil, damaged("a header of %d bytes, and at most %d are allowed", n, 1<<16)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, damaged("the header is cut short")
	}
	text = bytes.TrimSpace(text)
	shape := npyShape.FindSubmatch(text)
	if !npyDescr.Match(text) || npyFortran.Match(text) || shape == nil {
		return nil, fmt.Errorf("the NumPy array %q does not hold codes: "+
			"save packed uint8 of shape (rows, bytes) in C order", text)
	}
	rows, err1 := strconv.ParseInt(string(shape[1]), 10, 48)
	width, err2 := strconv.Atoi(string(shape[2]))
	if err1 != nil || err2 != nil || width < 1 || width > MaxBits/8 {
		return nil, fmt.Errorf("the NumPy array of shape (%s, %s) does not hold codes of 1 to %d bytes",
			shape[1], shape[2], MaxBits/8)
	}
	step := int64(codesPerSection(8 * width))
	out := &Reader{Bits: 8 * width}
	var buf []byte
	codes := NewCodes(0, out.Bits)
	out.next = func() (Codes, []string, error) {
		if rows == 0 {
			if _, err := r.ReadByte(); err == nil {
				return Codes{}, nil, damaged("there are bytes after the last row")
			} else if err != io.EOF {
				return Codes{}, nil, err
			}
			return Codes{}, nil, io.EOF
		}
		n := int(min(rows, step))
		buf = slices.Grow(buf[:0], n*width)[:n*width]
		if _, err := io.ReadFull(r, buf); err == io.EOF || err == io.ErrUnexpectedEOF {
			return Codes{}, nil, damaged("the file ends %d or more rows early", max(rows-step, 1))
		} else if err != nil {
			return Codes{}, nil, err
		}
		rows -= int64(n)
		if codes.Data = codes.Data[:0]; !codes.Append(buf) {
			panic("hamming: whole bytes did not fit")
		}
		return codes, nil, nil
	}
	return out, nil
}

// newCodeFileReader reads a code file.
func newCodeFileReader(r io.Reader) (*Reader, error) {
	in, err := section.NewReader(r, section.Codes, codeVersion)
	if err != nil {
		return nil, err
	}
	h, err := in.Expect("head", codeHead)
	if err != nil {
		return nil, err
	}
	if len(h) != codeHead || h[4] > 1 {
		return nil, in.Damaged("a head of %d bytes", len(h))
	}
	bits := binary.LittleEndian.Uint32(h)
	if bits < 1 || bits > MaxBits {
		return nil, in.Damaged("codes of %d bits, outside of 1 to %d", bits, MaxBits)
	}
	out := &Reader{Bits: int(bits), IDs: h[4] == 1}
	copy(out.Fingerprint[:], h[5:])
	s := &codeSections{in: in, ids: out.IDs, codes: NewCodes(0, out.Bits), full: true}
	out.next = s.next
	return out, nil
}
