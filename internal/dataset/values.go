package dataset

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"hashgrove/internal/fault"
)

// Files with one entry per row beside the vectors: labels, ids, tags.

// interner keeps one copy of strings that occur often.
type interner map[string]string

const maxInterned, longestInterned = 1 << 16, 1 << 10

func (m interner) keep(s string) string {
	if kept, found := m[s]; found {
		return kept
	}
	if len(m) < maxInterned && len(s) <= longestInterned {
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

// tagSeparator returns the character between the tags in these texts: the first of tab, |, ; and comma that any of them
// has, or else a space. One rule for a whole file keeps "blue sky" together if other rows have commas.
func tagSeparator(texts ...string) byte {
	for _, sep := range []byte("\t|;,") {
		if slices.ContainsFunc(texts, func(s string) bool { return strings.IndexByte(s, sep) >= 0 }) {
			return sep
		}
	}
	return ' '
}

// appendTags appends the tags in text, trimmed, without empty ones.
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
			return nil, fault.New("bad-tags", "a matrix of tags holds %v; it may hold only 0 and 1", v)
		}
	}
	return tags, nil
}

// readValues reads a file of one value per row: labels or ids. It may be npy or IDX (one axis), CSV or TSV (one column,
// or one of a usual name), JSON Lines (a string or number per line), or text with a value per line. Integers keep all
// digits.
func readValues(path string) ([]string, error) {
	_, values, err := readTexts(path, valueTexts)
	// Editors leave empty lines at the end.
	for len(values) > 0 && values[len(values)-1] == "" {
		values = values[:len(values)-1]
	}
	return values, err
}

// readTexts reads a file with a text per row, by a function that chooses how. The input is closed, but goes on counting
// memory.
func readTexts(path string, open func(*input) (func() (string, error), error)) (*input, []string, error) {
	in, err := openInput(path)
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	next, err := open(in)
	if err != nil {
		return nil, nil, err
	}
	var texts []string
	seen := interner{}
	for {
		text, err := next()
		switch {
		case err == io.EOF:
			return in, texts, nil
		case err != nil:
			return nil, nil, err
		case len(texts) == maxRows:
			return nil, nil, fmt.Errorf("%s: has more than %d rows", path, maxRows)
		}
		if err := in.hold(entryBytes + len(text)); err != nil {
			return nil, nil, err
		}
		texts = append(texts, seen.keep(text))
	}
}

// valueTexts returns a function that reads the value of the next row.
func valueTexts(in *input) (func() (string, error), error) {
	head, err := in.head()
	if err != nil {
		return nil, err
	}
	switch f := fileNamed(in.path); {
	case isNpy(&sample{head: head}):
		a, err := readArray(in, in.path)
		return arrayTexts(in, a, err)
	case looksIDX(&sample{head: head, size: in.size}):
		a, err := readIDX(in)
		return arrayTexts(in, a, err)
	case !isText(head):
		return nil, fault.New("wrong-format",
			"%s: is neither text nor npy nor IDX: a file with one value per row is expected", in.path)
	case f == "jsonl":
		return jsonTexts(in), nil
	case f == "csv" || f == "tsv":
		return valueColumn(in, f)
	}
	return lineTexts(in), nil
}

// arrayTexts reads the values of an array of one axis, unless its head could not be read.
func arrayTexts(in *input, a array, err error) (func() (string, error), error) {
	if err != nil {
		return nil, err
	}
	d, err := openTexts(in, in.path, a)
	if err != nil {
		return nil, err
	}
	return d.nextText, nil
}

// lineTexts reads lines of text.
func lineTexts(in *input) func() (string, error) {
	in.skipMark()
	return func() (string, error) {
		line, err := in.line()
		return string(bytes.TrimSpace(line)), err
	}
}

// jsonTexts reads a string, a number, true or false per line.
func jsonTexts(in *input) func() (string, error) {
	return func() (string, error) {
		line, err := in.line()
		if err != nil {
			return "", err
		}
		s, ok := jsonScalar(bytes.TrimSpace(line))
		if !ok {
			return "", fault.New("not-a-text",
				"%s: line %d: %s instead of a string or a number", in.path, in.lines, excerpt(line))
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
			return nil, fault.New("which-column",
				"%s: has %d columns and none is called label or id: give a file with one value per line",
				in.path, t.width)
		}
	}
	return func() (string, error) {
		if err := t.readRow(); err != nil {
			return "", err
		}
		return string(t.fields[column]), nil
	}, nil
}

// readTagLines reads a file of tags, one line per row: tags with one separator for the whole file (tagSeparator),
// JSON lists, or a 0/1 matrix in text or npy, whose columns, counted from 0, are the tags. An empty line is a row
// without tags.
func readTagLines(path string) ([][]string, error) {
	in, lines, err := readTexts(path, tagTexts)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(lines, func(line string) bool { return line != "" && line[0] != '[' }) {
		sep := tagSeparator(lines...)
		for _, line := range lines {
			if err := in.hold(entryBytes * (2 + strings.Count(line, string(rune(sep))))); err != nil {
				return nil, err
			}
		}
		tags := tagSets(lines)
		matrixTags(tags)
		return tags, nil
	}
	tags := make([][]string, len(lines))
	seen := interner{}
	var j jsonLine
	for i, line := range lines {
		if line == "" {
			continue
		}
		j.reset([]byte(line))
		err := j.list(func(item []byte) error {
			tag, ok := jsonScalar(item)
			if !ok {
				return fmt.Errorf("%s instead of a tag", excerpt(item))
			}
			tags[i] = append(tags[i], seen.keep(tag))
			return in.hold(entryBytes)
		})
		if err == nil {
			err = j.end()
		}
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, i+1, err)
		}
		if err := in.hold(entryBytes); err != nil {
			return nil, err
		}
	}
	return tags, nil
}

// tagTexts returns a function that reads the tags of the next row as a text.
func tagTexts(in *input) (func() (string, error), error) {
	head, err := in.head()
	switch {
	case err != nil:
		return nil, err
	case isNpy(&sample{head: head}):
		a, err := readArray(in, in.path)
		if err != nil || a.isText() {
			return arrayTexts(in, a, err)
		}
		return matrixTexts(in, a)
	case !isText(head):
		return nil, fault.New("wrong-format",
			"%s: is neither text nor npy: a file with one line of tags per row is expected", in.path)
	}
	return lineTexts(in), nil
}

// matrixTexts reads the rows of a 0/1 matrix as the places of their ones.
func matrixTexts(in *input, a array) (func() (string, error), error) {
	r, _, err := openArray(in, in.path, a)
	row, rec := 0, record{}
	return func() (string, error) {
		if err := r.next(&rec); err != nil {
			return "", err
		}
		row++
		tags, err := appendMatrixTags(nil, rec.vector)
		if err != nil {
			return "", fmt.Errorf("%s: row %d: %w", in.path, row, err)
		}
		return strings.Join(tags, ","), nil
	}, err
}

// tagSets splits texts into tags.
func tagSets(texts []string) [][]string {
	tags := make([][]string, len(texts))
	seen, sep := interner{}, tagSeparator(texts...)
	for i, text := range texts {
		tags[i] = seen.appendTags(nil, text, sep)
	}
	return tags
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
