// Package fileio writes files all or nothing, locks them, and has the container format of all files that Hashgrove
// writes, except the index: a header, sections with checksums, and an end marker. docs/formats.md draws it.
//
// Reading trusts nothing: lengths are bounded before memory is allocated, memory grows with the bytes that arrive, and
// every byte of the file is covered by a checksum.
package fileio

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
)

// Kind is the kind of a file, stored in its fourth byte.
type Kind byte

// The kinds of files.
const (
	Model      Kind = 'M'
	Codes      Kind = 'C'
	Checkpoint Kind = 'K'
	Index      Kind = 'I'
)

var kindNames = map[Kind]string{
	Model: "model", Codes: "code file", Checkpoint: "checkpoint", Index: "index", 'F': "feature extractor",
}

func (k Kind) String() string {
	if name, ok := kindNames[k]; ok {
		return name
	}
	return fmt.Sprintf("file of kind %q", byte(k))
}

// Errors about the contents of a file, for errors.Is. They do not include I/O errors.
var (
	ErrDamaged = errors.New("the file is damaged")
	ErrKind    = errors.New("not the expected kind of file")
	ErrVersion = errors.New("the file was written by a newer version")
)

const (
	headerSize = 16 // magic, version, checksum
	endTag     = "end."
)

// magic contains a non-text byte and both line endings, so that a copy made in text mode is noticed at once.
func magic(k Kind) [8]byte { return [8]byte{0x89, 'H', 'G', byte(k), '\r', '\n', 0x1a, '\n'} }

// kindOf returns the kind of a file from its first bytes, even if the file is cut short within them.
func kindOf(head []byte) (k Kind, ok bool) {
	if len(head) < 4 {
		return 0, false
	}
	k = Kind(head[3])
	m := magic(k)
	n := min(len(head), len(m))
	return k, bytes.Equal(head[:n], m[:n])
}

// FileKind returns the kind of the file at path.
func FileKind(path string) (k Kind, ok bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, false, err
	}
	defer f.Close()
	var head [8]byte
	n, err := io.ReadFull(f, head[:])
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	k, ok = kindOf(head[:n])
	return k, ok, err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Writer writes a file section by section.
type Writer struct {
	w     *bufio.Writer
	chain uint32 // checksum over the checksums of all sections so far
	n     uint64
	err   error
}

// NewWriter starts a file. Section and Close report errors.
func NewWriter(w io.Writer, kind Kind, version uint32) *Writer {
	out := &Writer{w: bufio.NewWriterSize(w, 1<<16)}
	m := magic(kind)
	h := binary.LittleEndian.AppendUint32(m[:], version)
	h = binary.LittleEndian.AppendUint32(h, crc32.Checksum(h, castagnoli))
	_, out.err = out.w.Write(h)
	return out
}

// Section writes one section. The tag must have four bytes.
func (w *Writer) Section(tag string, payload []byte) error {
	if len(tag) != 4 {
		panic("fileio: bad tag " + tag)
	}
	if w.err != nil {
		return w.err
	}
	h := binary.LittleEndian.AppendUint64([]byte(tag), uint64(len(payload)))
	sum := crc32.Update(crc32.Checksum(h, castagnoli), castagnoli, payload)
	foot := binary.LittleEndian.AppendUint32(nil, sum)
	for _, b := range [][]byte{h, payload, foot} {
		if _, w.err = w.w.Write(b); w.err != nil {
			return w.err
		}
	}
	w.chain = crc32.Update(w.chain, castagnoli, foot)
	w.n++
	return nil
}

// Close writes the end marker and flushes. It does not close the underlying writer.
func (w *Writer) Close() error {
	end := binary.LittleEndian.AppendUint64(nil, w.n)
	end = binary.LittleEndian.AppendUint32(end, w.chain)
	if err := w.Section(endTag, end); err != nil {
		return err
	}
	return w.w.Flush()
}

// Reader reads a file section by section: Next, then Payload, until Next returns io.EOF.
type Reader struct {
	Version uint32

	r      *bufio.Reader
	at     int64  // bytes read
	tag    string // of the current section
	start  int64  // where it begins
	length uint64
	sum    uint32 // checksum of its head
	open   bool
	chain  uint32
	n      uint64
	buf    []byte
}

// NewReader reads the header of a file, which must have the given kind and at most the given version.
func NewReader(r io.Reader, kind Kind, newest uint32) (*Reader, error) {
	in := &Reader{r: bufio.NewReaderSize(r, 1<<16)}
	h := make([]byte, headerSize)
	// Even a file too short for a header may be recognisable as something else.
	n, err := io.ReadFull(in.r, h)
	in.at = int64(n)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	if other, ok := kindOf(h[:n]); ok && other != kind {
		return nil, fmt.Errorf("%w: this is a hashgrove %v, where a hashgrove %v belongs", ErrKind, other, kind)
	}
	want := magic(kind)
	if n == 0 || !bytes.HasPrefix(want[:], h[:min(n, len(want))]) {
		return nil, fmt.Errorf("%w: this is not a hashgrove %v (or its first bytes are damaged)", ErrKind, kind)
	}
	if n < headerSize {
		return nil, in.Damaged("the file ends after %d bytes", n)
	}
	if binary.LittleEndian.Uint32(h[12:]) != crc32.Checksum(h[:12], castagnoli) {
		return nil, in.Damaged("the header does not match its checksum")
	}
	if in.Version = binary.LittleEndian.Uint32(h[8:]); in.Version > newest {
		return nil, fmt.Errorf("%w: %v format %d, but this program reads up to %d: use a newer hashgrove",
			ErrVersion, kind, in.Version, newest)
	}
	if in.Version == 0 {
		return nil, in.Damaged("format version 0")
	}
	return in, nil
}

// Damaged returns an error that matches ErrDamaged and says where the current section begins.
func (r *Reader) Damaged(format string, args ...any) error {
	where := fmt.Sprintf("byte %d", r.start)
	if r.tag != "" {
		where = fmt.Sprintf("section %q at %s", r.tag, where)
	}
	return fmt.Errorf("%w: %s: %s", ErrDamaged, where, fmt.Sprintf(format, args...))
}

func (r *Reader) readFull(b []byte) error {
	n, err := io.ReadFull(r.r, b)
	r.at += int64(n)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return r.Damaged("the file ends early, after %d bytes", r.at)
	}
	return err
}

// Next starts the next section and returns its tag and length. It returns io.EOF after checking the end marker and that
// nothing follows it.
func (r *Reader) Next() (tag string, length uint64, err error) {
	if r.open {
		panic("fileio: Next before the last section was read")
	}
	r.tag, r.start = "", r.at
	var h [12]byte
	if err := r.readFull(h[:]); err != nil {
		return "", 0, err
	}
	r.tag, r.length = string(h[:4]), binary.LittleEndian.Uint64(h[4:])
	r.sum = crc32.Checksum(h[:], castagnoli)
	r.open = true
	if r.tag == endTag {
		return "", 0, r.end()
	}
	return r.tag, r.length, nil
}

func (r *Reader) end() error {
	chain, n := r.chain, r.n
	b, err := r.Payload(12)
	if err != nil {
		return err
	}
	if len(b) != 12 || binary.LittleEndian.Uint64(b) != n || binary.LittleEndian.Uint32(b[8:]) != chain {
		return r.Damaged("sections are missing, too many or out of order")
	}
	switch _, err := r.r.ReadByte(); err {
	case io.EOF:
		return io.EOF
	case nil:
		return r.Damaged("there are bytes after the end marker")
	default:
		return err
	}
}

// Payload reads the rest of the section, which may have at most limit bytes. They are valid until the next call.
func (r *Reader) Payload(limit int) ([]byte, error) {
	if r.length > uint64(max(limit, 0)) {
		return nil, r.Damaged("it claims %d bytes: at most %d are allowed", r.length, limit)
	}
	b := r.buf[:0]
	for left := int(r.length); left > 0; {
		step := min(left, max(len(b), 1<<16)) // never more than has already arrived
		b = slices.Grow(b, step)
		b = b[:len(b)+step]
		if err := r.readFull(b[len(b)-step:]); err != nil {
			return nil, err
		}
		left -= step
	}
	r.buf = b
	var foot [4]byte
	if err := r.readFull(foot[:]); err != nil {
		return b, err
	}
	if binary.LittleEndian.Uint32(foot[:]) != crc32.Update(r.sum, castagnoli, b) {
		return b, r.Damaged("it does not match its checksum")
	}
	r.chain = crc32.Update(r.chain, castagnoli, foot[:])
	r.n++
	r.open = false
	return b, nil
}

// Expect reads the next section, which must have the given tag. The bytes are valid until the next call.
func (r *Reader) Expect(tag string, limit int) ([]byte, error) {
	found, _, err := r.Next()
	if err == io.EOF {
		return nil, r.Damaged("section %q is missing", tag)
	}
	if err != nil {
		return nil, err
	}
	if found != tag {
		return nil, r.Damaged("section %q should be here", tag)
	}
	return r.Payload(limit)
}

// End reads the end marker, which must come next.
func (r *Reader) End() error {
	_, _, err := r.Next()
	if err == io.EOF {
		return nil
	}
	if err != nil {
		return err
	}
	return r.Damaged("this section does not belong here")
}
