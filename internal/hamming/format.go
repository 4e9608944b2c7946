package hamming

import (
	"bufio"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"hashgrove/internal/fileio"
	"hashgrove/internal/message"
)

// Format is a file format for codes. All formats store packed bytes, bit 0 first.
type Format string

// The formats. Only HGC keeps the model's fingerprint; HGC, CSV and JSONLines keep ids.
const (
	HGC Format = "hgc" // Hashgrove's code file: checksums, fingerprint, ids
	NPY Format = "npy" // NumPy array of uint8, one row per code, as from packbits
	Raw Format = "raw" // the packed bytes of all codes
	Hex Format = "hex" // one line of hex digits per code
	CSV Format = "csv" // lines id,code after a header; the code in hex digits

	JSONLines Format = "jsonl" // lines {"row": 0, "id": "a", "code": "0f"}; the code in hex digits
)

var formatOf = map[string]Format{
	".hgc": HGC, ".npy": NPY, ".bin": Raw, ".raw": Raw, ".hex": Hex, ".txt": Hex, ".csv": CSV,
	".jsonl": JSONLines, ".ndjson": JSONLines,
}

// FormatOf returns the format for a file name's extension.
func FormatOf(path string) (Format, error) {
	if f, ok := formatOf[strings.ToLower(filepath.Ext(path))]; ok {
		return f, nil
	}
	return "", fmt.Errorf("%s: the name does not reveal the format of the codes: "+
		"end it with .hgc, .npy, .bin, .hex, .txt, .csv or .jsonl", path)
}

// Header describes codes to a writer before the first one.
type Header struct {
	Bits        int         // length of every code
	Rows        int         // number of codes; 0 if unknown
	Fingerprint Fingerprint // of the model's first Bits bits; zeros if unknown
}

// Writer writes codes a few at a time. The output does not depend on how they are grouped.
type Writer struct {
	header Header
	out    format
	rows   int
	ids    bool
	buf    []byte
}

// format encodes rows one by one; id is empty if there are no ids.
type format interface {
	writeHead(h Header, ids bool) error
	add(row int, packed []byte, id string) error
	end(rows int) error
}

// flusher is a format that can flush its rows at any time.
type flusher interface{ flush() error }

// NewWriter starts writing codes to w. NumPy arrays need the number of rows in advance.
func NewWriter(w io.Writer, f Format, h Header) (*Writer, error) {
	if h.Bits < 1 || h.Bits > MaxBits {
		return nil, fmt.Errorf("codes of %d bits, outside the range 1 to %d", h.Bits, MaxBits)
	}
	out := &Writer{header: h}
	switch f {
	case HGC:
		out.out = &codeFile{w: fileio.NewWriter(w, fileio.Codes, codeVersion)}
	case NPY:
		patch, _ := w.(*fileio.File)
		out.out = &npy{lines: lines{w: bufio.NewWriterSize(w, 1<<16), encode: appendRaw}, patch: patch}
	case Raw:
		out.out = &lines{w: bufio.NewWriterSize(w, 1<<16), encode: appendRaw}
	case Hex:
		out.out = &lines{w: bufio.NewWriterSize(w, 1<<16), encode: appendHex}
	case CSV:
		out.out = &csvLines{w: csv.NewWriter(w)}
	case JSONLines:
		out.out = &jsonLines{w: bufio.NewWriterSize(w, 1<<16)}
	default:
		return nil, fmt.Errorf("unknown format of codes %q: choose hgc, npy, raw, hex, csv or jsonl", string(f))
	}
	return out, nil
}

// Write appends codes. Either all codes of a file have ids or none; nil means none.
func (w *Writer) Write(c Codes, ids []string) error {
	if c.Bits != w.header.Bits {
		panic("hamming: codes of another length than the writer's")
	}
	if ids != nil && len(ids) != c.Len() {
		panic("hamming: numbers of codes and ids differ")
	}
	if c.Len() == 0 {
		return nil
	}
	if w.header.Rows > 0 && w.rows+c.Len() > w.header.Rows {
		return fmt.Errorf("more codes than the %d announced: did a file change while it was read?", w.header.Rows)
	}
	if w.rows == 0 {
		w.ids = ids != nil
		if err := w.out.writeHead(w.header, w.ids); err != nil {
			return err
		}
	}
	if w.ids != (ids != nil) {
		return message.New("ids-missing", "row %d: some codes have ids and some have none", w.rows)
	}
	for i := range c.Len() {
		id := ""
		if ids != nil {
			id = ids[i]
		}
		w.buf = c.AppendBytes(w.buf[:0], i)
		if err := w.out.add(w.rows, w.buf, id); err != nil {
			return err
		}
		w.rows++
	}
	return nil
}

// Flush flushes the rows written so far, except in a code file, which is written in sections.
func (w *Writer) Flush() error {
	if f, ok := w.out.(flusher); ok && w.rows > 0 {
		return f.flush()
	}
	return nil
}

// Close finishes the output. It does not close the writer passed to NewWriter.
func (w *Writer) Close() error {
	if w.rows < w.header.Rows {
		return fmt.Errorf("%d codes instead of the %d announced: did a file change while it was read?",
			w.rows, w.header.Rows)
	}
	if w.rows == 0 {
		if err := w.out.writeHead(w.header, false); err != nil {
			return err
		}
	}
	return w.out.end(w.rows)
}

// lines implements Raw and Hex: encoded rows back to back.
type lines struct {
	w      *bufio.Writer
	encode func(dst, packed []byte) []byte
	buf    []byte
}

func (f *lines) writeHead(Header, bool) error { return nil }
func (f *lines) flush() error                 { return f.w.Flush() }
func (f *lines) end(int) error                { return f.w.Flush() }

func (f *lines) add(_ int, packed []byte, _ string) error {
	f.buf = f.encode(f.buf[:0], packed)
	_, err := f.w.Write(f.buf)
	return err
}

func appendRaw(dst, packed []byte) []byte { return append(dst, packed...) }
func appendHex(dst, packed []byte) []byte { return append(hex.AppendEncode(dst, packed), '\n') }

// csvLines implements CSV, quoted as in RFC 4180. Without ids the id is the row number, from 0.
type csvLines struct {
	w   *csv.Writer
	ids bool
}

func (f *csvLines) writeHead(_ Header, ids bool) error {
	f.ids = ids
	return f.w.Write([]string{"id", "code"})
}

func (f *csvLines) add(row int, packed []byte, id string) error {
	if !f.ids {
		id = strconv.Itoa(row)
	}
	return f.w.Write([]string{message.Cell(id), hex.EncodeToString(packed)})
}

func (f *csvLines) flush() error {
	f.w.Flush()
	return f.w.Error()
}

func (f *csvLines) end(int) error { return f.flush() }

// jsonLines implements JSONLines. Only rows with ids have an "id" field.
type jsonLines struct{ w *bufio.Writer }

func (f *jsonLines) writeHead(Header, bool) error { return nil }
func (f *jsonLines) flush() error                 { return f.w.Flush() }
func (f *jsonLines) end(int) error                { return f.w.Flush() }

func (f *jsonLines) add(row int, packed []byte, id string) error {
	line := struct {
		Row  int    `json:"row"`
		ID   string `json:"id,omitempty"`
		Code string `json:"code"`
	}{row, id, hex.EncodeToString(packed)}
	e := json.NewEncoder(f.w)
	e.SetEscapeHTML(false)
	return e.Encode(line)
}

// npy implements NPY: a header and the packed rows.
type npy struct {
	lines
	patch *fileio.File // lets the number of rows be filled in later, if not nil
	bytes int
	rows  int // as announced
}

var errRows = errors.New("a NumPy array needs the number of rows first: write to a file, or choose another format")

func (f *npy) writeHead(h Header, _ bool) error {
	f.bytes, f.rows = (h.Bits+7)/8, h.Rows
	_, err := f.w.Write(npyHeader(f.rows, f.bytes))
	return err
}

func (f *npy) add(row int, packed []byte, id string) error {
	if f.rows == 0 && f.patch == nil {
		return errRows
	}
	return f.lines.add(row, packed, id)
}

func (f *npy) end(rows int) error {
	if err := f.w.Flush(); err != nil || rows == f.rows {
		return err
	}
	_, err := f.patch.WriteAt(npyHeader(rows, f.bytes), 0)
	return err
}

// Reader reads codes from a code file or a FAISS binary index. Memory is bounded, except for an IndexBinaryIDMap, whose
// ids follow all codes.
type Reader struct {
	Bits        int         // length of every code; all bits of a FAISS index
	Fingerprint Fingerprint // of the model; zeros if unknown
	IDs         bool        // the codes have ids
	First       int         // number of the first row, or -1 if the file does not say

	next func() (Codes, []string, error)
}

// NewReader detects the format from the first bytes and reads the header.
func NewReader(r io.Reader) (*Reader, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	if start, _ := b.Peek(4); isFAISS(start) {
		return newFAISSReader(b)
	}
	return newCodeFileReader(b)
}

// Next returns more codes and their ids, or nil ids if there are none. Both are valid until the next call. After
// checking the whole file it returns io.EOF.
func (r *Reader) Next() (Codes, []string, error) { return r.next() }

// Table is a file of codes in memory.
type Table struct {
	Codes       Codes
	IDs         []string // one per code, or nil
	Fingerprint Fingerprint
}

// All reads the remaining codes.
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

// npyHeader returns the header of an array of bytes. It always has 128 bytes so that it can be overwritten.
func npyHeader(rows, bytes int) []byte {
	h := []byte("\x93NUMPY\x01\x00\x76\x00")
	h = fmt.Appendf(h, "{'descr': '|u1', 'fortran_order': False, 'shape': (%d, %d), }", rows, bytes)
	for len(h) < 127 {
		h = append(h, ' ')
	}
	return append(h, '\n')
}
