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

// NewWriter starts writing codes to w. NumPy arrays need the number of rows in advance.
func NewWriter(w io.Writer, f Format, h Header) (*Writer, error) {
	if h.Bits < 1 || h.Bits > MaxBits {
		return nil, fmt.Errorf("codes of %d bits, outside the range 1 to %d", h.Bits, MaxBits)
	}
	out := &lines{w: bufio.NewWriterSize(w, 1<<16)}
	switch f {
	case HGC:
		return &Writer{header: h, out: &codeFile{w: fileio.NewWriter(w, fileio.Codes, codeVersion)}}, nil
	case NPY:
		out.npy = true
		out.patch, _ = w.(*fileio.File)
		fallthrough
	case Raw:
		out.row = out.raw
	case Hex:
		out.row = out.hex
	case CSV:
		out.head = "id,code\n"
		out.row = out.csv
	case JSONLines:
		out.row = out.json
	default:
		return nil, fmt.Errorf("unknown format of codes %q: choose hgc, npy, raw, hex, csv or jsonl", string(f))
	}
	return &Writer{header: h, out: out}, nil
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
	if f, ok := w.out.(*lines); ok && w.rows > 0 {
		return f.w.Flush()
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

// lines is a format of rows one behind the other.
type lines struct {
	w    *bufio.Writer
	head string
	row  func(row int, packed []byte, id string) error
	ids  bool

	npy   bool
	patch *fileio.File // lets the number of rows of an array be filled in later, if not nil
	bytes int          // of a row
	rows  int          // as announced
}

var errRows = errors.New("a NumPy array needs the number of rows first: write to a file, or choose another format")

func (f *lines) writeHead(h Header, ids bool) error {
	if f.ids, f.bytes, f.rows = ids, (h.Bits+7)/8, h.Rows; f.npy {
		f.head = npyHeader(f.rows, f.bytes)
	}
	_, err := f.w.WriteString(f.head)
	return err
}

func (f *lines) add(row int, packed []byte, id string) error {
	if f.npy && f.rows == 0 && f.patch == nil {
		return errRows
	}
	return f.row(row, packed, id)
}

func (f *lines) end(rows int) error {
	if err := f.w.Flush(); err != nil || !f.npy || rows == f.rows {
		return err
	}
	_, err := f.patch.WriteAt([]byte(npyHeader(rows, f.bytes)), 0)
	return err
}

func (f *lines) raw(_ int, packed []byte, _ string) error {
	_, err := f.w.Write(packed)
	return err
}

func (f *lines) hex(_ int, packed []byte, _ string) error {
	_, err := f.w.Write(append(hex.AppendEncode(f.w.AvailableBuffer(), packed), '\n'))
	return err
}

// csv quotes as in RFC 4180. Without ids the id is the row number, from 0.
func (f *lines) csv(row int, packed []byte, id string) error {
	if !f.ids {
		id = strconv.Itoa(row)
	}
	out := csv.NewWriter(f.w) // which needs no buffer of its own
	return out.Write([]string{message.Cell(id), hex.EncodeToString(packed)})
}

// json leaves out the id of rows that have none.
func (f *lines) json(row int, packed []byte, id string) error {
	e := json.NewEncoder(f.w)
	e.SetEscapeHTML(false)
	return e.Encode(struct {
		Row  int    `json:"row"`
		ID   string `json:"id,omitempty"`
		Code string `json:"code"`
	}{row, id, hex.EncodeToString(packed)})
}

// Reader reads codes from a code file, in bounded memory, or from a FAISS binary index.
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
func npyHeader(rows, bytes int) string {
	h := []byte("\x93NUMPY\x01\x00\x76\x00")
	h = fmt.Appendf(h, "{'descr': '|u1', 'fortran_order': False, 'shape': (%d, %d), }", rows, bytes)
	for len(h) < 127 {
		h = append(h, ' ')
	}
	return string(append(h, '\n'))
}
