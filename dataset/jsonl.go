package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"hashgrove/internal/plain"
)

// JSON Lines: every line is an object with a list of numbers under one key, or only the list. Keys inside of objects
// are written with dots. Only the keys that matter are kept, and integers keep all their digits.

var usualKeys = []string{"vector", "embedding", "values", "x"}

// jsonLines reads one row per line.
type jsonLines struct {
	rowCounter
	keys [4]string // of vector, label, tags and id
	scan jsonScanner
}

// The order of jsonLines.keys.
const (
	keyVector = iota
	keyLabel
	keyTags
	keyID
)

func openJSONLines(in *input, spec *Spec) (reader, header, error) {
	j := &jsonLines{rowCounter: rowCounter{in: in, dim: -1, seen: interner{}}}
	h := header{format: "jsonl", rows: -1, dim: -1}
	// The first row decides which of the usual keys are meant. It is read through an input of its own.
	look, err := in.again()
	if err != nil {
		return nil, h, err
	}
	defer look.Close()
	look.skipMark()
	in.skipMark()
	first, err := look.text()
	if err == io.EOF {
		return nil, h, fmt.Errorf("%s: has no rows", in.path)
	}
	if err != nil {
		return nil, h, err
	}
	first = bytes.TrimSpace(first)
	var keys []string
	if first[0] != '[' {
		s := jsonScanner{b: first}
		err := s.object(0, func(path []byte) (bool, error) { keys = append(keys, string(path)); return false, nil })
		if err != nil && len(keys) == 0 {
			return nil, h, fmt.Errorf("%s: line %d: %w; a row is one line with an object or a list", in.path, look.lines, err)
		}
	}
	j.keys = [4]string{
		keyVector: chosenName(spec.Vector, usualKeys, keys),
		keyLabel:  chosenName(spec.Label, tableLabels, keys),
		keyTags:   chosenName(spec.Tags, usualTags, keys),
		keyID:     chosenName(spec.ID, usualIDs, keys),
	}
	if first[0] != '[' && j.keys[keyVector] == "" {
		return nil, h, &SpecError{"Vector", fmt.Errorf("%s: which key holds the vector? The first row has %s: name one",
			in.path, plain.List(keys))}
	}
	return j, h, nil
}

func (j *jsonLines) next(rec *record) error {
	line, err := j.in.text()
	if err != nil {
		return err
	}
	line = bytes.TrimSpace(line)
	j.row, j.line = j.row+1, j.in.lines
	*rec = record{vector: rec.vector[:0], tags: rec.tags[:0]}
	s := &j.scan
	*s = jsonScanner{b: line, path: s.path[:0]}
	found := [4]bool{}
	column := "" // that the error is in
	if line[0] == '[' {
		found[keyVector] = true
		rec.vector, err = s.numbers(rec.vector)
	} else {
		err = s.object(0, func(path []byte) (bool, error) {
			k := slices.IndexFunc(j.keys[:], func(key string) bool { return key != "" && key == string(path) })
			if k < 0 {
				return false, nil
			}
			column = j.keys[k]
			if found[k] {
				return true, errors.New("the key twice")
			}
			found[k] = true
			if err := j.value(rec, k); err != nil {
				return true, err
			}
			column = ""
			return true, nil
		})
	}
	if err == nil {
		err = s.end()
	}
	switch {
	case err != nil:
		return j.bad(column, err.Error())
	case !found[keyVector]:
		return j.bad(j.keys[keyVector], "no vector")
	}
	return j.checkValues(len(rec.vector), j.keys[keyVector])
}

// value reads the value of one of the keys that matter.
func (j *jsonLines) value(rec *record, k int) (err error) {
	s := &j.scan
	if k == keyVector {
		if s.peek() != '[' {
			return fmt.Errorf("%s instead of a list of numbers", excerpt(s.rest()))
		}
		rec.vector, err = s.numbers(rec.vector)
		return err
	}
	if k == keyTags && s.peek() == '[' {
		rec.hasTags = true
		s.i++
		for first := true; !s.atEnd(']', &first); {
			from := s.i
			if err := s.skip(0); err != nil {
				return err
			}
			tag, ok := jsonScalar(s.b[from:s.i])
			if !ok {
				return fmt.Errorf("%s instead of a tag", excerpt(s.b[from:s.i]))
			}
			rec.tags = append(rec.tags, j.seen.keep(tag))
		}
		return s.err
	}
	from := s.i
	if err := s.skip(0); err != nil {
		return err
	}
	raw := s.b[from:s.i]
	if string(raw) == "null" {
		return nil // the same as no such key
	}
	text, ok := jsonScalar(raw)
	if !ok {
		return fmt.Errorf("%s instead of a string or a number", excerpt(raw))
	}
	switch k {
	case keyLabel:
		rec.label, rec.hasLabel = j.seen.keep(text), true
	case keyTags:
		rec.tags, rec.hasTags = j.seen.appendTags(rec.tags, text, ','), true
	default:
		rec.id = text
	}
	return nil
}

// jsonScalar is the text of a string, a number as it is written, true or false.
func jsonScalar(raw []byte) (string, bool) {
	if len(raw) == 0 {
		return "", false
	}
	switch c := raw[0]; {
	case c == '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err == nil
	case c == '-' || c >= '0' && c <= '9' || c == 't' || c == 'f':
		return string(raw), json.Valid(raw)
	}
	return "", false
}
