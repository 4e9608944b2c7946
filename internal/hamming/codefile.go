package hamming

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"hashgrove/internal/fileio"
)

// The code file (.hgc). docs/formats.md draws it.
//
//	head         bits, whether there are ids, fingerprint
//	part         in versions 2 and 3, which are read and not written: which rows of the data these are
//	code, ids    packed codes and, if there are any, their ids; as many pairs as it takes
//	tail         number of codes
//
// A section has as many codes as codesPerSection allows, or fewer if the ids reach maxIDs first; only the last may be
// shorter. So the same codes and ids always make the same file.
//
// Version 1 is written. Versions 2 and 3 hold a part of the rows of some data.
const (
	codeVersion  = 1
	codesOfParts = 3
)

// Errors of code files, models, feature files and indexes, for errors.Is. They do not include I/O errors.
var (
	ErrDamaged = fileio.ErrDamaged // wrong checksum, size or contents
	ErrKind    = fileio.ErrKind    // another kind of file
	ErrVersion = fileio.ErrVersion // written by a newer version
)

// MaxID is the largest length of an id in bytes.
const MaxID = 1 << 16

const (
	codeHead = 4 + 1 + 32
	maxCodes = 1 << 20 // bytes of codes in a section
	maxIDs   = 1 << 20 // bytes of ids after which a section ends
)

func codesPerSection(bits int) int { return maxCodes / ((bits + 7) / 8) }

// codeFile implements the format HGC.
type codeFile struct {
	w     *fileio.Writer
	ids   bool
	limit int // codes per section
	n     int // codes in this one
	codes []byte
	names []byte
}

func (f *codeFile) writeHead(h Header, ids bool) error {
	f.ids, f.limit = ids, codesPerSection(h.Bits)
	head := binary.LittleEndian.AppendUint32(nil, uint32(h.Bits))
	if ids {
		head = append(head, 1)
	} else {
		head = append(head, 0)
	}
	return f.w.Section("head", append(head, h.Fingerprint[:]...))
}

func (f *codeFile) add(row int, packed []byte, id string) error {
	f.codes = append(f.codes, packed...)
	if f.ids {
		if len(id) > MaxID {
			return fmt.Errorf("row %d: an id of %d bytes: at most %d are allowed", row, len(id), MaxID)
		}
		f.names = binary.LittleEndian.AppendUint32(f.names, uint32(len(id)))
		f.names = append(f.names, id...)
	}
	if f.n++; f.n == f.limit || len(f.names) >= maxIDs {
		return f.flush()
	}
	return nil
}

func (f *codeFile) flush() error {
	if f.n == 0 {
		return nil
	}
	if err := f.w.Section("code", f.codes); err != nil {
		return err
	}
	if f.ids {
		if err := f.w.Section("ids ", f.names); err != nil {
			return err
		}
	}
	f.n, f.codes, f.names = 0, f.codes[:0], f.names[:0]
	return nil
}

func (f *codeFile) end(rows int) error {
	if err := f.flush(); err != nil {
		return err
	}
	if err := f.w.Section("tail", binary.LittleEndian.AppendUint64(nil, uint64(rows))); err != nil {
		return err
	}
	return f.w.Close()
}

// codeSections reads the sections that follow the head.
type codeSections struct {
	in    *fileio.Reader
	ids   bool
	codes Codes
	names []string
	full  bool // the last section of codes was as long as it must be
	rows  uint64
	err   error // io.EOF after the end
}

func (s *codeSections) next() (Codes, []string, error) {
	if s.err == nil {
		s.err = s.read()
	}
	return s.codes, s.names, s.err
}

func (s *codeSections) read() error {
	tag, _, err := s.in.Next()
	if err == io.EOF {
		return s.in.Damaged("section %q is missing", "tail")
	}
	if err != nil {
		return err
	}
	switch tag {
	case "code":
		return s.readSection()
	case "tail":
		s.codes.Data, s.names = nil, nil
		b, err := s.in.Payload(8)
		if err != nil {
			return err
		}
		if len(b) != 8 || binary.LittleEndian.Uint64(b) != s.rows {
			return s.in.Damaged("the number of codes is not %d", s.rows)
		}
		if s.ids && s.rows == 0 {
			return s.in.Damaged("ids without codes")
		}
		if err := s.in.End(); err != nil {
			return err
		}
		return io.EOF
	}
	return s.in.Damaged("this section does not belong here")
}

// readSection reads a section of codes and the section of their ids.
func (s *codeSections) readSection() error {
	b, err := s.in.Payload(maxCodes)
	if err != nil {
		return err
	}
	width := s.codes.Bytes()
	n := len(b) / width
	if n == 0 || len(b)%width != 0 || !s.full {
		return s.in.Damaged("%d bytes of codes, which is the wrong number", len(b))
	}
	if s.codes.Data = s.codes.Data[:0]; !s.codes.Append(b) {
		return s.in.Damaged("a code has bits beyond its length")
	}
	s.rows += uint64(n)
	s.full = n == codesPerSection(s.codes.Bits)
	if !s.ids {
		return nil
	}
	if b, err = s.in.Expect("ids ", maxIDs+MaxID+4); err != nil {
		return err
	}
	s.names = s.names[:0]
	all, last := len(b), 0
	for len(b) >= 4 {
		size := binary.LittleEndian.Uint32(b)
		if size > MaxID || uint64(size) > uint64(len(b)-4) {
			return s.in.Damaged("an id of %d bytes", size)
		}
		last = 4 + int(size)
		s.names = append(s.names, string(b[4:last]))
		b = b[last:]
	}
	if len(b) != 0 || len(s.names) != n || all-last >= maxIDs {
		return s.in.Damaged("%d ids for %d codes", len(s.names), n)
	}
	s.full = s.full || all >= maxIDs
	return nil
}

// newCodeFileReader returns a Reader of a code file.
func newCodeFileReader(r io.Reader) (*Reader, error) {
	in, err := fileio.NewReader(r, fileio.Codes, codesOfParts)
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
		return nil, in.Damaged("codes of %d bits, outside the range 1 to %d", bits, MaxBits)
	}
	out := &Reader{Bits: int(bits), IDs: h[4] == 1, First: -1}
	copy(out.Fingerprint[:], h[5:])
	if in.Version >= 2 {
		// The number of the part, that of parts, its first row, its rows, those of all parts, and a hash of the data.
		size := 4 + 4 + 8 + 8 + 8 + 8*int(in.Version-2)
		part, err := in.Expect("part", size)
		if err != nil {
			return nil, err
		}
		if len(part) != size || binary.LittleEndian.Uint64(part[8:]) > math.MaxInt32 {
			return nil, in.Damaged("an impossible part of the rows, in %d bytes", len(part))
		}
		out.First = int(binary.LittleEndian.Uint64(part[8:]))
	}
	s := &codeSections{in: in, ids: out.IDs, codes: NewCodes(0, out.Bits), full: true}
	out.next = s.next
	return out, nil
}
