package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"hashgrove/internal/message"
	"hashgrove/internal/picture"
	"hashgrove/internal/picture/gallery"
)

// record is one row of a file. Its memory is reused for the next row.
type record struct {
	vector   []float32 // values as read; NaN and infinities are checked by the caller
	pixels   []uint8   // of a picture, in place of the vector
	finite   bool      // there are none
	id       string    // "" when the file has none
	label    string    // "" and hasLabel false when the file has none
	hasLabel bool
	tags     []string
	hasTags  bool
}

var usualKeys = []string{"vector", "embedding", "values", "x"}

// reader yields the rows of one file in order.
type reader interface {
	// next reads the next row. It returns io.EOF after the last one and a *RowError for a bad row (ragged, not a
	// number) after which reading can continue; any other error ends the file.
	next(rec *record) error
	Close() error
}

// missingText reports whether a field of a table stands for a missing value: the spellings of spreadsheets, databases,
// R and pandas, and the dash of tables made by hand.
func missingText(field []byte) bool {
	if len(field) > 4 {
		return false
	}
	switch text := string(field); text {
	case "", "NA", "-", "#N/A":
		return true
	default:
		return strings.EqualFold(text, "null") || strings.EqualFold(text, "n/a")
	}
}

var nan = float32(math.NaN())

// header holds what is known about a file before its rows are read.
type header struct {
	format    string
	rows, dim int              // -1 where unknown before reading
	names     []string         // names of the features, where the file has them
	columns   Columns          // of a table
	shape     picture.Shape    // of rows that are pictures
	gallery   *gallery.Gallery // the pictures of a folder or an archive
	code      codeForm         // with Spec.Codes
}

// RowError reports a row that cannot be used.
type RowError struct {
	File   string
	Row    int    // counted from 0; messages count from 1; -1 when File is a picture, which is the row
	Column string // name or number, or ""
	Line   int    // of a text, where the row begins, from 1; 0 elsewhere
	Msg    string

	Missing bool // a value is missing, which Spec.Missing would allow

	cause error // what Msg says
}

// badRow returns the error for a row, counted from 0.
func badRow(file string, row int, column string, cause error) *RowError {
	return &RowError{File: file, Row: row, Column: column, Msg: cause.Error(), cause: cause}
}

// Unwrap returns the reason.
func (e *RowError) Unwrap() error { return e.cause }

func (e *RowError) Error() string {
	switch {
	case e.Row < 0:
		return fmt.Sprintf("%s: %s", e.File, e.Msg)
	case e.Column == "":
		return fmt.Sprintf("%s: row %d: %s", e.File, e.Row+1, e.Msg)
	}
	return fmt.Sprintf("%s: row %d, column %s: %s", e.File, e.Row+1, e.Column, e.Msg)
}

// format is a file format: how to recognise it and how to read it.
type format struct {
	name   string
	suffix []string
	looks  func(s *sample) bool // at the content
	open   func(in *input, spec *Spec) (reader, header, error)
}

// formats lists the formats in the order in which they are tried. Text that looks like JSON is not CSV.
var formats = []format{
	{"npy", []string{".npy"}, isNpy, openNpy},
	{"npz", []string{".npz"}, magic("PK\x03\x04", "PK\x05\x06"), openNpz},
	{"parquet", []string{".parquet", ".pq"}, magic("PAR1", "PARE"), openTable("parquet")},
	{"idx", []string{"-ubyte", ".idx"}, looksIDX, openIDX},
	{"cifar10", nil, cifar10.looks, cifar10.open},
	{"cifar100", nil, cifar100.looks, cifar100.open},
	{"tar", []string{".tar", ".tgz", ".tzst"}, looksTar, openTar},
	{"picture", gallery.Endings, looksPicture, openPicture},
	{"fvecs", []string{".fvecs"}, looksVecs("fvecs"), openVecs("fvecs")},
	{"bvecs", []string{".bvecs"}, looksVecs("bvecs"), openVecs("bvecs")},
	{"ivecs", []string{".ivecs"}, looksVecs("ivecs"), openVecs("ivecs")},
	{"jsonl", []string{".jsonl", ".ndjson", ".json"}, looksJSON, openTable("jsonl")},
	{"tsv", []string{".tsv", ".tab"}, looksTable("\t"), openTable("tsv")},
	{"csv", []string{".csv"}, looksTable(",;"), openTable("csv")},
}

// FormatNames lists the file formats for use in a sentence.
func FormatNames() string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return strings.Join(names, ", ")
}

// openFile opens path for reading from the start. It takes the format from the spec, or recognises it by content, then
// by name. A folder holds pictures.
func openFile(path string, spec *Spec) (reader, header, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() && path != Standard {
		if spec.Format != "" {
			return nil, header{}, &SpecError{"Format", message.New("folder-with-format",
				"%s: is a folder, which is read as pictures: name no format, or name the files in it", path)}
		}
		return openFolder(path, spec)
	}
	in, err := spec.openInput(path)
	if err != nil {
		return nil, header{}, err
	}
	var opened io.Closer = in
	var r reader
	var h header
	f, err := recognise(in, spec.Format)
	if err == nil {
		err = in.checkStream(f.name)
	}
	if err == nil && in.isEmptyStream(f.name, spec) {
		return noRows{in}, header{format: f.name, dim: spec.Dim}, nil
	}
	if err == nil && spec.Codes {
		r, h, err = f.openCodes(in, spec)
	} else if err == nil {
		r, h, err = f.open(in, spec)
	}
	if err == nil {
		opened = r
		r, h, err = spec.refit(path, r, h)
	}
	if err != nil {
		_ = opened.Close() // the first error says more
		return nil, header{}, err
	}
	return r, h, nil
}

// FormatOf returns the format of a file, by content, then by name, and whether it is compressed.
func FormatOf(path string) (name string, packed bool, err error) {
	in, err := openInput(path)
	if err != nil {
		return "", false, err
	}
	defer in.Close()
	f, err := recognise(in, "")
	return f.name, in.packed != "", err
}

// chosenName returns the name asked for, or the first of the usual ones among names, or "".
func chosenName(asked string, usual, names []string) string {
	i := slices.IndexFunc(usual, func(name string) bool { return slices.Contains(names, name) })
	if asked != "" || i < 0 {
		return asked
	}
	return usual[i]
}

// recognise finds the format of a file.
func recognise(in *input, formatName string) (format, error) {
	if formatName != "" {
		if i := slices.IndexFunc(formats, func(f format) bool { return f.name == strings.ToLower(formatName) }); i >= 0 {
			return formats[i], nil
		}
		return format{}, message.New("unknown-format", "unknown format %q; the formats are %s", formatName, FormatNames())
	}
	head, err := in.head()
	if err != nil {
		return format{}, err
	}
	if len(head) == 0 {
		return format{}, message.New("empty-file", "%s: is empty", in.path)
	}
	s := &sample{head, in.size, strings.ToLower(filepath.Base(in.path))}
	if len(head) < maxTake && len(head) == in.buf.Buffered() {
		s.size = int64(len(head)) // all of it, compressed or not
	}
	var found []format
	for _, f := range formats {
		isTable := f.name == "csv" || f.name == "tsv" // text that looks like JSON is not CSV
		if (!isTable || len(found) == 0 || found[0].name == "tsv") && f.looks(s) {
			found = append(found, f)
		}
	}
	choice := found
	if len(found) == 0 {
		if err := checkEncoding(in.path, head); err != nil {
			return format{}, err
		}
		choice = formats
	}
	named := fileNamed(in.path)
	if i := slices.IndexFunc(choice, func(f format) bool { return f.name == named }); i >= 0 {
		return choice[i], nil
	}
	switch len(found) {
	case 0:
		return format{}, &SpecError{"Format", message.New("unrecognised-format",
			"%s: its format is not recognised: name it, one of %s", in.path, FormatNames())}
	case 1:
		return found[0], nil
	}
	return format{}, &SpecError{"Format", message.New("ambiguous-format", "%s: could be %s or %s: name the format",
		in.path, found[0].name, found[1].name)}
}

// checkEncoding reports unsupported compression or text encoding.
func checkEncoding(path string, head []byte) error {
	s := &sample{head: head}
	if magic("\xff\xfe", "\xfe\xff")(s) {
		return message.New("wrong-encoding", "%s: is text in UTF-16: save it as UTF-8", path)
	}
	for packing, beginning := range map[string]string{"xz": "\xfd7zXZ\x00", "bzip2": "BZh"} {
		if magic(beginning)(s) {
			return message.New("unread-compression", "%s: is compressed with %s, which is not supported: "+
				"decompress it, or pack it with gzip or zstd instead", path, packing)
		}
	}
	return nil
}

// fileNamed returns the format that a file extension stands for, ignoring that of a compression, or "".
func fileNamed(path string) string {
	name := strings.ToLower(filepath.Base(path))
	for _, packed := range []string{".gz", ".zst", ".zstd"} {
		name = strings.TrimSuffix(name, packed)
	}
	for _, f := range formats {
		if slices.ContainsFunc(f.suffix, func(s string) bool { return strings.HasSuffix(name, s) }) {
			return f.name
		}
	}
	return ""
}

// sample is the evidence by which a format is recognised.
type sample struct {
	head []byte // the first bytes, all if there are fewer than maxTake
	size int64  // of the content, -1 when that is not known
	name string // in lower case
}

// firstLine returns the first line that is not blank, or nil if it is longer than the sample.
func (s *sample) firstLine() []byte {
	rest := bytes.TrimPrefix(s.head, []byte("\ufeff"))
	for len(rest) > 0 {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		if !whole && len(s.head) == maxTake {
			break
		}
		if line = bytes.TrimRight(line, " \t\r"); len(line) > 0 {
			return line
		}
		rest = after
	}
	return nil
}

// isNpy reports an npy file.
var isNpy = magic("\x93NUMPY")

func magic(beginnings ...string) func(s *sample) bool {
	return func(s *sample) bool {
		return slices.ContainsFunc(beginnings, func(b string) bool { return bytes.HasPrefix(s.head, []byte(b)) })
	}
}

// isText reports whether the bytes are UTF-8 without control characters.
func isText(head []byte) bool {
	for _, c := range head {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' && c != '\f' || c == 0x7f {
			return false
		}
	}
	// The last character may be cut off.
	for cut := 0; cut < utf8.UTFMax && cut <= len(head); cut++ {
		if utf8.Valid(head[:len(head)-cut]) {
			return true
		}
	}
	return false
}

// looksJSON reports whether the first line is a JSON object or list, or the beginning of a long one.
func looksJSON(s *sample) bool {
	if !isText(s.head) {
		return false
	}
	if line := s.firstLine(); line != nil {
		return (line[0] == '{' || line[0] == '[') && json.Valid(line)
	}
	return len(s.head) == maxTake && (s.head[0] == '{' || s.head[0] == '[')
}

// looksTable reports whether the first line of a text has one of the separators, or holds only numbers.
func looksTable(separators string) func(s *sample) bool {
	return func(s *sample) bool {
		if !isText(s.head) {
			return false
		}
		if line := s.firstLine(); line != nil {
			if bytes.ContainsAny(line, separators) {
				return true
			}
			_, _, err := appendList(nil, line)
			return err == nil && separators != "\t" && bytes.IndexByte(line, '\t') < 0
		}
		first, _, _ := bytes.Cut(s.head, []byte("\n"))
		return bytes.ContainsAny(first, separators)
	}
}
