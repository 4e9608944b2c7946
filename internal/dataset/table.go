package dataset

import (
	"bytes"
	"io"
	"slices"
	"strconv"
	"strings"

	"hashgrove/internal/message"
)

// Column names with a meaning. y is not among them: it may be a coordinate.
var tableLabels = []string{"label", "labels", "class", "target"}

const (
	sampleRows  = 64
	sampleBytes = 1 << 20
)

// maxFields is the largest number of fields in a row. Tests use less.
var maxFields = 1 << 22

// table splits a text file into rows of fields, with quotes as in RFC 4180.
type table struct {
	in     *input
	comma  byte
	line   int      // where the row begins, from 1
	fields [][]byte // of the current row, valid until the next
	names  []string // head of the table, nil without one
	width  int      // columns
	plain  []byte   // the fields of a row with quotes, without them
}

// takeHead reads the first row as the names of the columns.
func (t *table) takeHead(names []string) error {
	t.names = names
	return t.read()
}

// sampleTable examines the first rows through an input of its own to determine the separator, and returns them.
func sampleTable(in *input, format string) (*table, [][]string, error) {
	look, err := in.again()
	if err != nil {
		return nil, nil, err
	}
	defer look.Close()
	t := &table{in: look, comma: ','}
	if format == "tsv" {
		t.comma = '\t'
	} else {
		head, err := look.head()
		if err != nil {
			return nil, nil, err
		}
		first, _, _ := bytes.Cut(head, []byte("\n"))
		if bytes.IndexByte(first, ',') < 0 && bytes.IndexByte(first, ';') >= 0 {
			t.comma = ';'
		}
	}
	look.skipMark()
	var rows [][]string
	for size := 0; len(rows) < sampleRows && size < sampleBytes; {
		err := t.read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		row := make([]string, len(t.fields))
		for j, f := range t.fields {
			row[j] = string(f)
			size += len(f) + 1
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil, nil, message.New("no-rows", "%s: has no rows", in.path)
	}
	t = &table{in: in, comma: t.comma, width: len(rows[0])}
	in.skipMark()
	return t, rows, nil
}

// isHead reports whether the first row names the columns: it holds a usual name or one that the caller asks for, or no
// number above any column of numbers, or the numbers 0, 1, 2 that pandas makes up.
func isHead(rows [][]string, asked []string) bool {
	head := rows[0]
	wanted := map[string]bool{}
	for _, name := range slices.Concat(asked, tableLabels, usualIDs, usualTags) {
		if name != "" && !isNumeric(name) {
			wanted[strings.ToLower(name)] = true
		}
	}
	if slices.ContainsFunc(head, func(s string) bool { return wanted[strings.ToLower(s)] }) {
		return true
	}
	if len(rows) == 1 {
		return false
	}
	numeric, named, counted, fractions := 0, 0, 0, false
	for j, name := range head {
		if numbers, _ := holdsNumbers(rows[1:], j); numbers {
			numeric++
			if !isNumeric(name) {
				named++
			}
		}
		if name == strconv.Itoa(counted) {
			counted++
		}
		fractions = fractions || j < len(rows[1]) && strings.Contains(rows[1][j], ".")
	}
	return numeric > 0 && named == numeric ||
		head[0] == "" && counted == len(head)-1 && counted > 0 ||
		fractions && counted == len(head) && counted > 2
}

// holdsNumbers reports whether column j holds numbers, or lists of them, in most rows that have a value there.
func holdsNumbers(rows [][]string, j int) (numbers, lists bool) {
	single, several, no, missing := 0, 0, 0, 0
	for _, row := range rows {
		switch {
		case j >= len(row) || row[j] == "":
		case missingText([]byte(row[j])):
			missing++
		case !isNumeric(row[j]):
			no++
		default:
			if _, err := parseFloat([]byte(row[j])); err == errNotNumber {
				several++
			} else {
				single++
			}
		}
	}
	yes := single + several
	return yes >= no && (yes > 0 || missing == 0), several > single
}

// isNumeric reports whether s is a number or a list of numbers.
func isNumeric(s string) bool {
	if _, err := parseFloat([]byte(s)); err != errNotNumber {
		return true
	}
	values, _, err := appendList(nil, []byte(s))
	return err == nil && len(values) > 0
}

// read splits the next row that is not blank.
func (t *table) read() error {
	line, err := t.in.text()
	if err != nil {
		return err
	}
	t.line, t.fields = t.in.lines, t.fields[:0]
	if bytes.IndexByte(line, '"') >= 0 {
		return t.readQuoted(line)
	}
	for {
		i := bytes.IndexByte(line, t.comma)
		if i < 0 {
			t.fields = append(t.fields, field(line))
			return nil
		}
		if len(t.fields) == maxFields {
			return t.tooWide()
		}
		t.fields = append(t.fields, field(line[:i]))
		line = line[i+1:]
	}
}

// tooWide returns the error for a row with too many fields.
func (t *table) tooWide() error {
	return message.New("too-many-fields", "%s: line %d: more than %d fields", t.in.path, t.line, maxFields)
}

// readRow is like read, but every row must have all columns.
func (t *table) readRow() error {
	if err := t.read(); err != nil || len(t.fields) == t.width {
		return err
	}
	return message.New("wrong-count",
		"%s: line %d: %s instead of %d", t.in.path, t.line, fieldNoun.count(len(t.fields)), t.width)
}

// field returns the text of a field without quotes.
func field(b []byte) []byte { return message.OfCell(trimSpaces(b)) }

// trimSpaces is bytes.TrimSpace, faster in the common case of nothing to trim.
func trimSpaces(b []byte) []byte {
	if len(b) == 0 || b[0] > ' ' && b[len(b)-1] > ' ' {
		return b
	}
	return bytes.TrimSpace(b)
}

// readQuoted splits a row with quoted fields, which may hold separators, doubled quotes and line breaks. All fields are
// copied, since reading the next line overwrites this one.
func (t *table) readQuoted(line []byte) (err error) {
	t.plain = t.plain[:0]
	for more := true; more; {
		from := len(t.plain)
		if text := bytes.TrimLeft(line, " "); len(text) > 0 && text[0] == '"' {
			if line, err = t.unquote(text[1:]); err != nil {
				return err
			}
		}
		var rest []byte
		if len(t.fields) == maxFields {
			return t.tooWide()
		}
		rest, line, more = bytes.Cut(line, []byte{t.comma})
		t.plain = append(t.plain, trimSpaces(rest)...)
		t.fields = append(t.fields, message.OfCell(t.plain[from:len(t.plain):len(t.plain)]))
	}
	return nil
}

// unquote appends what is inside quotes to plain and returns what follows the closing one.
func (t *table) unquote(line []byte) ([]byte, error) {
	for {
		inside, rest, closed := bytes.Cut(line, []byte{'"'})
		t.plain = append(t.plain, inside...)
		switch {
		case !closed:
			more, err := t.in.line()
			if err == io.EOF || len(t.plain) > maxLine {
				return nil, message.New("open-quote", "%s: line %d: a quoted field does not end", t.in.path, t.line)
			}
			if err != nil {
				return nil, err
			}
			t.plain, line = append(t.plain, '\n'), more
		case len(rest) > 0 && rest[0] == '"': // a doubled quote
			t.plain, line = append(t.plain, '"'), rest[1:]
		default:
			return rest, nil
		}
	}
}

// column names column j in errors.
func (t *table) column(j int) string {
	if j < len(t.names) && t.names[j] != "" {
		return t.names[j]
	}
	return strconv.Itoa(j + 1)
}
