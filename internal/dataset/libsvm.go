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

// The sparse text format of LibSVM and SVMlight:
//
//	label index:value index:value ...    # comment
//
// Indices ascend and begin at 1, or at 0 where the file has an index 0. Several labels between commas are tags, and
// then every row of the file has tags. "qid:7" is skipped. The greatest index is known only after the whole file is
// read, so it is read twice. A test file may lack the last features; then the number of dimensions is given as the name
// of the vector. Vectors are dense in memory.

var svmEndings = []string{".libsvm", ".svm", ".svmlight"}

type libSVM struct {
	rowCounter
	base  int // the first index
	multi bool
}

func openLibSVM(in *input, spec *Spec) (reader, header, error) {
	h := header{format: "libsvm"}
	s := &libSVM{rowCounter: rowCounter{in: in, seen: interner{}}}
	look, err := in.again()
	if err != nil {
		return nil, h, err
	}
	defer look.Close()
	look.skipMark()
	in.skipMark()
	greatest, least := 0, 1
	for in.stream == nil || h.rows == 0 { // in a stream the first row must tell
		line, err := nextSVM(look)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, h, err
		}
		h.rows++
		first, rest := cutSpace(line)
		s.multi = s.multi || bytes.IndexByte(first, ',') >= 0 || bytes.IndexByte(first, ':') >= 0
		if line[0] == ' ' || line[0] == '\t' {
			rest = line
		}
		// Bad rows are reported when they are read again.
		for len(rest) > 0 {
			var pair []byte
			pair, rest = cutSpace(rest)
			index, _, ok := bytes.Cut(pair, []byte(":"))
			if n, err := strconv.Atoi(string(index)); ok && err == nil && n >= 0 && n <= maxDim {
				greatest, least = max(greatest, n), min(least, n)
			}
		}
	}
	s.base, s.dim = least, greatest-least+1
	if in.stream != nil {
		if s.dim = spec.Dim; s.dim < 1 && spec.Vector == "" {
			return nil, h, &SpecError{"Vector", fault.New("unknown-dim",
				"%s: LibSVM rows from a pipe do not tell how many dimensions there "+
					"are: give their number", in.path)}
		}
	}
	if spec.Vector != "" {
		n, err := strconv.Atoi(spec.Vector)
		if err != nil || n < 1 || n > maxDim {
			return nil, h, &SpecError{"Vector", fault.New("no-columns",
				"%s: a LibSVM file has no column %q: give the number of dimensions instead", in.path, spec.Vector)}
		}
		s.dim = n
	}
	if spec.Vector == "" && in.stream == nil && look.tooMany(int64(s.dim)*int64(h.rows)) {
		return nil, h, &SpecError{"Vector", fault.New("too-many-values",
			"%s: the index %d makes rows of %d values, far more than %d rows in "+
				"%d bytes can be worth: give the number of dimensions if that is meant",
			in.path, greatest, s.dim, h.rows, look.content())}
	}
	h.dim = s.dim
	if s.dim < 1 || h.rows == 0 {
		return nil, h, fault.New("no-rows", "%s: has no rows of the form label index:value", in.path)
	}
	if in.stream != nil {
		h.rows = -1
	}
	return s, h, nil
}

// nextSVM returns the next line that is more than a comment, without its comment.
func nextSVM(in *input) ([]byte, error) {
	for {
		line, err := in.line()
		if err != nil {
			return nil, err
		}
		line, _, _ = bytes.Cut(line, []byte("#"))
		if line = bytes.TrimRight(line, " \t\r"); len(line) > 0 {
			return line, nil
		}
	}
}

// cutSpace cuts off the first word.
func cutSpace(b []byte) (word, rest []byte) {
	b = bytes.TrimLeft(b, " \t")
	end := 0
	for end < len(b) && b[end] != ' ' && b[end] != '\t' { // words are short, so searching for either costs more
		end++
	}
	return b[:end], bytes.TrimLeft(b[end:], " \t")
}

// makes does nothing: the number of dimensions was checked when the file was opened.
func (s *libSVM) makes(int64) error { return nil }

func (s *libSVM) next(rec *record) error {
	line, err := nextSVM(s.in)
	if err != nil {
		return err
	}
	s.row, s.line = s.row+1, s.in.lines
	*rec = record{vector: rec.vector[:0], tags: rec.tags[:0]}
	if cap(rec.vector) < s.dim {
		rec.vector = make([]float32, s.dim)
	}
	rec.vector = rec.vector[:s.dim]
	clear(rec.vector)
	label, rest := cutSpace(line)
	if bytes.IndexByte(label, ':') >= 0 { // no label at all
		label, rest = nil, line
	}
	if s.multi {
		rec.tags, rec.hasTags = s.seen.appendTags(rec.tags, string(label), ','), true
	} else {
		rec.label, rec.hasLabel = s.seen.keepBytes(label), true
	}
	last := -1
	for len(rest) > 0 {
		var pair []byte
		pair, rest = cutSpace(rest)
		index, value, ok := bytes.Cut(pair, []byte(":"))
		if !ok {
			return s.bad("", fault.New("not-a-pair", "%s instead of index:value", excerpt(pair)))
		}
		if string(index) == "qid" {
			continue
		}
		n, err := strconv.Atoi(string(index))
		if err != nil || n < 0 {
			return s.bad("", fault.New("not-a-pair", "%s instead of index:value", excerpt(pair)))
		}
		switch n -= s.base; {
		case n <= last:
			return s.bad(string(index), fault.New("wrong-order", "the index is not greater than the one before"))
		case n < 0 || n >= s.dim:
			return s.bad(string(index), fault.New("index-too-large", "an index beyond the %d dimensions", s.dim))
		}
		last = n
		if rec.vector[n], err = parseFloat(value); err != nil {
			return s.bad(string(index), fmt.Errorf("%s %w", excerpt(value), err))
		}
	}
	return nil
}

// looksLibSVM reports whether the first lines hold a label and pairs index:value. Labels that are not numbers need
// pairs after them and no comma, since other texts have such words too, unless the name of the file says what it is.
func looksLibSVM(s *sample) bool {
	if !isText(s.head) {
		return false
	}
	pairs := 0
	named := slices.ContainsFunc(svmEndings, func(ending string) bool { return strings.Contains(s.name, ending) })
	for n, line := range s.lines(10) {
		line, _, _ = bytes.Cut(line, []byte("#"))
		word, rest := cutSpace(line)
		if n == 0 && len(word) == 0 {
			return false
		}
		if bytes.IndexByte(word, ':') >= 0 {
			rest = line
		} else if isWord := len(bytes.Trim(word, "+-.,eE0123456789")) > 0; isWord && !named &&
			(len(rest) == 0 || bytes.IndexByte(word, ',') >= 0) {
			return false
		}
		for len(rest) > 0 {
			word, rest = cutSpace(rest)
			index, value, ok := bytes.Cut(word, []byte(":"))
			if !ok || len(index) == 0 || len(bytes.Trim(index, "0123456789")) > 0 && string(index) != "qid" {
				return false
			}
			if _, err := parseFloat(value); err != nil {
				return false
			}
			pairs++
		}
	}
	return pairs > 0
}
