package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"hashgrove/internal/fault"
	"hashgrove/internal/plain"
)

// JSON Lines: every line is an object with a list of numbers under one key, or just the list, or an object with a
// number under each of the named keys. Keys inside objects are written with dots. Only the keys that matter are kept,
// and integers keep all their digits. The first row determines the keys.

var usualKeys = []string{"vector", "embedding", "values", "x"}

// jsonLines reads one row per line.
type jsonLines struct {
	rowCounter
	keys   [4]string // of vector, label, tags and id
	single []string  // keys of the single numbers that make up the vector, in place of a list
	place  map[string]int
	filled []bool // of the current row
	scan   jsonScanner
}

// The order of jsonLines.keys.
const (
	keyVector = iota
	keyLabel
	keyTags
	keyID
)

func openJSONLines(in *input, spec *Spec) (reader, header, error) {
	j := &jsonLines{rowCounter: rowCounter{in: in, dim: -1, seen: interner{}, nans: spec.Missing}}
	h := header{format: "jsonl", rows: -1, dim: -1}
	in.skipMark()
	list, keys, err := firstKeys(in)
	if err != nil {
		return nil, h, err
	}
	if list {
		return j, h, nil
	}
	if err := j.chooseKeys(spec, keys); err != nil {
		return nil, h, err
	}
	h.columns = Columns{
		Vector: []string{j.keys[keyVector]}, List: true, Label: j.keys[keyLabel], Tags: j.keys[keyTags], ID: j.keys[keyID],
	}
	if j.single != nil {
		h.columns.Vector, h.columns.List = j.single, false
		h.dim, h.names, j.dim = len(j.single), j.single, len(j.single)
	}
	used := map[string]bool{}
	for _, key := range slices.Concat(h.columns.Vector, j.keys[1:]) {
		used[key] = true
	}
	for _, k := range keys {
		if k.begins != '{' && !used[k.path] {
			h.columns.Unused = append(h.columns.Unused, k.path)
		}
	}
	return j, h, nil
}

// jsonKey is a key of the first row, and the character that its value begins with.
type jsonKey struct {
	path   string
	begins byte
}

func (k jsonKey) isNumber() bool { return k.begins == '-' || k.begins >= '0' && k.begins <= '9' }

// firstKeys reads the first row through an input of its own and returns whether it is just a list, or else its keys.
func firstKeys(in *input) (list bool, keys []jsonKey, err error) {
	look, err := in.again()
	if err != nil {
		return false, nil, err
	}
	defer look.Close()
	look.skipMark()
	first, err := look.text()
	if err == io.EOF {
		return false, nil, fault.New("no-rows", "%s: has no rows", in.path)
	}
	if err != nil {
		return false, nil, err
	}
	first = bytes.TrimSpace(first)
	if first[0] == '[' {
		return true, nil, nil
	}
	s := jsonScanner{b: first}
	err = s.object(0, func(path []byte) (bool, error) {
		keys = append(keys, jsonKey{string(path), s.peek()})
		return false, nil
	})
	if err != nil && len(keys) == 0 {
		return false, nil, fmt.Errorf("%s: line %d: %w; a row is one line with an object or a list", in.path,
			look.lines, err)
	}
	return false, keys, nil
}

// chooseKeys decides which keys of the first row to use.
func (j *jsonLines) chooseKeys(spec *Spec, keys []jsonKey) error {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.path
	}
	j.keys = [4]string{
		keyVector: chosenName(spec.Vector, usualKeys, names),
		keyLabel:  chosenName(spec.labelName(names), tableLabels, names),
		keyTags:   chosenName(spec.tagsName(names), usualTags, names),
		keyID:     chosenName(spec.ID, usualIDs, names),
	}
	if known := spec.knownVector(names); known != nil && !spec.Known.List {
		j.setSingle(known)
	} else if known != nil {
		j.keys[keyVector] = known[0]
	} else if asked := slices.Index(names, spec.Vector); asked >= 0 && keys[asked].isNumber() {
		j.setSingle(names[asked : asked+1])
	} else if asked < 0 && (strings.ContainsAny(spec.Vector, ",*?[") || strings.Contains(spec.Vector, "..")) {
		if err := j.chooseSingle(spec.Vector, keys, names); err != nil {
			return err
		}
	}
	if j.single == nil && j.keys[keyVector] == "" {
		if !slices.ContainsFunc(keys, func(k jsonKey) bool { return k.begins == '[' }) {
			return &SpecError{"Vector", fault.New("which-numbers",
				"%s: which keys hold the numbers of the vector? None holds a list; "+
					"the first row has %s: name them", j.in.path, plain.Runs(names))}
		}
		return &SpecError{"Vector", fault.New("which-vector",
			"%s: which key holds the vector? The first row has %s: name one",
			j.in.path, plain.List(names))}
	}
	return nil
}

// chooseSingle chooses several keys of numbers, or one of a list by a pattern.
func (j *jsonLines) chooseSingle(vector string, keys []jsonKey, names []string) error {
	choice := columnChoice{
		path: j.in.path, names: names, width: len(keys),
		find: func(name string) (int, error) {
			i := slices.Index(names, name)
			if i < 0 {
				return 0, fmt.Errorf("%s: the first row has no key %q; it has %s", j.in.path, name, plain.Runs(names))
			}
			return i, nil
		},
		may: func(i int) bool {
			number := keys[i].isNumber() || keys[i].begins == 'n' && j.nans
			return (number || keys[i].begins == '[') && !slices.Contains(j.keys[1:], names[i])
		},
	}
	chosen, err := choice.choose(vector)
	if err != nil {
		return err
	}
	if len(chosen) == 1 && keys[chosen[0]].begins == '[' {
		j.keys[keyVector] = names[chosen[0]]
		return nil
	}
	var single []string
	for _, i := range chosen {
		if keys[i].begins == '[' {
			return fault.New("list-among-numbers",
				"%s: the key %s holds a list, which is a vector of its own: name it alone, or leave it out",
				j.in.path, names[i])
		}
		single = append(single, names[i])
	}
	j.setSingle(single)
	return nil
}

// setSingle makes the vector from the single numbers under these keys.
func (j *jsonLines) setSingle(keys []string) {
	j.single, j.place, j.keys[keyVector] = keys, make(map[string]int, len(keys)), ""
	for i, key := range keys {
		j.place[key] = i
	}
	j.filled = make([]bool, len(keys))
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
	*s = jsonScanner{b: line, path: s.path[:0], nans: j.nans}
	found := [4]bool{}
	if j.single != nil {
		rec.vector = slices.Grow(rec.vector, len(j.single))[:len(j.single)] // all are filled, or the row is bad
		clear(j.filled)
	}
	column := "" // that the error is in
	if line[0] == '[' {
		found[keyVector] = true
		rec.vector, err = s.numbers(rec.vector[:0])
	} else {
		err = s.object(0, func(path []byte) (bool, error) {
			i, isSingle := j.place[string(path)]
			k := slices.IndexFunc(j.keys[:], func(key string) bool { return key != "" && key == string(path) })
			if isSingle {
				column = j.single[i]
				from := s.i
				if err := j.number(rec, i); err != nil {
					return true, err
				}
				if k >= 0 {
					s.i = from // a label or an id too
				}
			}
			if k < 0 {
				column = ""
				return isSingle, nil
			}
			column = j.keys[k]
			if found[k] {
				return true, fault.New("duplicate-key", "the key twice")
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
	case errors.Is(err, errNull):
		return j.lacks(column, err)
	case err != nil:
		return j.bad(column, err)
	case j.single != nil && line[0] != '[':
		for i, filled := range j.filled {
			if !filled && !j.nans {
				return j.lacks(j.single[i], fault.New("no-value", "no value"))
			} else if !filled {
				rec.vector[i] = nan
			}
		}
	case !found[keyVector]:
		return j.bad(j.keys[keyVector], fault.New("no-vector", "no vector"))
	}
	return j.checkValues(len(rec.vector), j.keys[keyVector])
}

// number reads one of the single numbers of the vector.
func (j *jsonLines) number(rec *record, i int) error {
	if j.filled[i] {
		return fault.New("duplicate-key", "the key twice")
	}
	j.filled[i] = true
	s := &j.scan
	s.space()
	b, ok := s.number()
	if !ok && s.null() {
		if !s.nans {
			return fault.New("not-a-number", "%w instead of a number", errNull)
		}
		rec.vector[i] = nan
		return nil
	}
	if !ok {
		return fault.New("not-a-number", "%s instead of a number", s.excerpt())
	}
	v, err := parseFloat(b)
	if err != nil {
		return fmt.Errorf("%s %w", b[:min(len(b), 40)], err)
	}
	rec.vector[i] = v
	return nil
}

// value reads the value of one of the keys that matter.
func (j *jsonLines) value(rec *record, k int) (err error) {
	s := &j.scan
	if k == keyVector {
		if s.peek() != '[' {
			return fault.New("not-a-list", "%s instead of a list of numbers", s.excerpt())
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
		return fault.New("not-a-text", "%s instead of a string or a number", excerpt(raw))
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

// jsonScalar returns the text of a string, a number as written, true or false.
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
