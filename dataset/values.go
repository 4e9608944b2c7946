package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Files with one entry per row beside the vectors: labels, ids, tags.

// interner keeps one copy of strings that occur often.
type interner map[string]string

const maxInterned = 1 << 16

func (m interner) keep(s string) string {
	if kept, found := m[s]; found {
		return kept
	}
	if len(m) < maxInterned {
		m[s] = s
	}
	return s
}

func (m interner) keepBytes(b []byte) string {
	if kept, found := m[string(b)]; found {
		return kept
	}
	return m.keep(string(b))
}

// tagSeparator is the character between the tags in these texts: the first of tab, |, ; and comma that any of them
// has, or else a space. One rule for a whole file keeps "blue sky" together where other rows have commas.
func tagSeparator(texts ...string) byte {
	for _, sep := range []byte("\t|;,") {
		if slices.ContainsFunc(texts, func(s string) bool { return strings.IndexByte(s, sep) >= 0 }) {
			return sep
		}
	}
	return ' '
}

// appendTags appends the tags in text. Spaces around a tag, and empty tags, do not count.
func (m interner) appendTags(tags []string, text string, sep byte) []string {
	for text != "" {
		var tag string
		tag, text, _ = strings.Cut(text, string(rune(sep)))
		if tag = strings.TrimSpace(tag); tag != "" {
			tags = append(tags, m.keep(tag))
		}
	}
	return tags
}

// appendMatrixTags appends the places of the ones in a row of a 0/1 matrix, counted from 0.
func appendMatrixTags(tags []string, row []float32) ([]string, error) {
	for j, v := range row {
		switch v {
		case 0:
		case 1:
			tags = append(tags, strconv.Itoa(j))
		default:
			return nil, fmt.Errorf("a matrix of tags holds %v; it may hold only 0 and 1", v)
		}
	}
	return tags, nil
}

// readValues reads a file of one value per row: labels or ids. It may be npy or IDX (one axis), CSV or TSV (one
// column, or one of a usual name), JSON Lines (a string or number per line), or text with a value per line.
// Integers lose no digit.
func readValues(path string) ([]string, error) {
	in, err := openInput(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	head, err := in.head()
	if err != nil {
		return nil, err
	}
	var next func() (string, error)
	switch f := fileNamed(path); {
	case bytes.HasPrefix(head, []byte("\x93NUMPY")):
		a, err := readArray(in, path)
		if err != nil {
			return nil, err
		}
		texts, err := newArrayTexts(in, path, a)
		if err != nil {
			return nil, err
		}
		next = texts.next
	case looksIDX(&sample{head: head, size: in.size}):
		a, err := readIDX(in)
		if err != nil {
			return nil, err
		}
		texts, err := newArrayTexts(in, path, a)
		if err != nil {
			return nil, err
		}
		next = texts.next
	case !isText(head):
		return nil, fmt.Errorf("%s: is neither text nor npy nor IDX: a file with one value per row is expected", path)
	case f == "jsonl":
		next = jsonValues(in)
	case f == "csv" || f == "tsv":
		if next, err = valueColumn(in, f); err != nil {
			return nil, err
		}
	default:
		in.skipMark()
		next = func() (string, error) {
			line, err := in.line()
			return string(bytes.TrimSpace(line)), err
		}
	}
	var values []string
	seen := interner{}
	for {
		v, err := next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(values) == maxRows {
			return nil, fmt.Errorf("%s: has more than %d rows", path, maxRows)
		}
		values = append(values, seen.keep(v))
	}
	// Editors leave empty lines at the end.
	for len(values) > 0 && values[len(values)-1] == "" {
		values = values[:len(values)-1]
	}
	return values, nil
}

// jsonValues reads a string, a number, true or false per line.
func jsonValues(in *input) func() (string, error) {
	n := 0
	return func() (string, error) {
		line, err := in.line()
		if err != nil {
			return "", err
		}
		n++
		s, ok := jsonScalar(bytes.TrimSpace(line))
		if !ok {
			return "", fmt.Errorf("%s: line %d: %s instead of a string or a number", in.path, n, excerpt(line))
		}
		return s, nil
	}
}

// valueColumn reads a table of one column, or the one with a usual name.
func valueColumn(in *input, format string) (func() (string, error), error) {
	t, _, err := openTable(in, format, "")
	if err != nil {
		return nil, err
	}
	column := 0
	if t.width > 1 {
		if column = t.named(slices.Concat(tableLabels, usualIDs)); column < 0 {
			return nil, fmt.Errorf("%s: has %d columns and none is called label or id: give a file with one value per line",
				in.path, t.width)
		}
	}
	return func() (string, error) {
		if err := t.read(); err != nil {
			return "", err
		}
		if err := t.checkWidth(); err != nil {
			return "", err
		}
		return string(t.fields[column]), nil
	}, nil
}

// readTagLines reads a file of tags, one line per row: tags with one separator for the whole file (tagSeparator),
// JSON lists, or a 0/1 matrix in text or npy, whose columns, counted from 0, are the tags. An empty line is a row
// without tags.
func readTagLines(path string) ([][]string, error) {
	in, err := openInput(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	head, err := in.head()
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(head, []byte("\x93NUMPY")) {
		return readTagArray(in)
	}
	if !isText(head) {
		return nil, fmt.Errorf("%s: is neither text nor npy: a file with one line of tags per row is expected", path)
	}
	in.skipMark()
	var lines []string
	lists := true
	for {
		line, err := in.line()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(lines) == maxRows {
			return nil, fmt.Errorf("%s: has more than %d rows", path, maxRows)
		}
		line = bytes.TrimSpace(line)
		lists = lists && (len(line) == 0 || line[0] == '[')
		lines = append(lines, string(line))
	}
	tags := make([][]string, len(lines))
	seen := interner{}
	if lists {
		for i, line := range lines {
			if tags[i], err = jsonTags(line, seen); err != nil {
				return nil, fmt.Errorf("%s: line %d: %w", path, i+1, err)
			}
		}
		return tags, nil
	}
	sep := tagSeparator(lines...)
	for i, line := range lines {
		tags[i] = seen.appendTags(nil, line, sep)
	}
	matrixTags(tags)
	return tags, nil
}

// jsonTags reads a JSON list of strings and numbers.
func jsonTags(line string, seen interner) ([]string, error) {
	if line == "" {
		return nil, nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal([]byte(line), &items); err != nil {
		return nil, errors.New("a JSON list of tags cannot be read")
	}
	var tags []string
	for _, item := range items {
		tag, ok := jsonScalar(item)
		if !ok {
			return nil, fmt.Errorf("%s instead of a tag", excerpt(item))
		}
		tags = append(tags, seen.keep(tag))
	}
	return tags, nil
}

// matrixTags recognises a 0/1 matrix written as text: the same number of fields in every line, three or more, all of
// them 0 or 1. Sets of tags do not look like this, since they would name a tag twice.
func matrixTags(tags [][]string) {
	if len(tags) == 0 || len(tags[0]) < 3 {
		return
	}
	for _, row := range tags {
		if len(row) != len(tags[0]) || slices.ContainsFunc(row, func(s string) bool { return s != "0" && s != "1" }) {
			return
		}
	}
	for i, row := range tags {
		kept := row[:0]
		for j, s := range row {
			if s == "1" {
				kept = append(kept, strconv.Itoa(j))
			}
		}
		tags[i] = kept
	}
}

// readTagArray reads tags from an npy file: a 0/1 matrix, or a string of tags per row.
func readTagArray(in *input) ([][]string, error) {
	a, err := readArray(in, in.path)
	if err != nil {
		return nil, err
	}
	if a.rows > maxRows {
		return nil, fmt.Errorf("%s: has more than %d rows", in.path, maxRows)
	}
	var tags [][]string
	seen := interner{}
	if a.isText() {
		texts, err := newArrayTexts(in, in.path, a)
		if err != nil {
			return nil, err
		}
		var lines []string
		for {
			line, err := texts.next()
			if err == io.EOF {
				break
			}
			if err != nil {
				return nil, err
			}
			lines = append(lines, line)
		}
		sep := tagSeparator(lines...)
		for _, line := range lines {
			tags = append(tags, seen.appendTags(nil, line, sep))
		}
		return tags, nil
	}
	r, _, err := openArray(in, in.path, a)
	if err != nil {
		return nil, err
	}
	var rec record
	for {
		err := r.next(&rec)
		if err == io.EOF {
			return tags, nil
		}
		if err != nil {
			return nil, err
		}
		row, err := appendMatrixTags(nil, rec.vector)
		if err != nil {
			return nil, fmt.Errorf("%s: row %d: %w", in.path, len(tags)+1, err)
		}
		tags = append(tags, row)
	}
}
