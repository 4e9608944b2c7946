package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hashgrove/internal/message"
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
	filled []bool  // of the current row
	found  [4]bool // of the keys
	json   jsonLine
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
		if k.kind != '{' && !used[k.path] {
			h.columns.Unused = append(h.columns.Unused, k.path)
		}
	}
	return j, h, nil
}

// jsonKey is a key of the first row, and the kind of its value.
type jsonKey struct {
	path string
	kind jsontext.Kind
}

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
		return false, nil, message.New("no-rows", "%s: has no rows", in.path)
	}
	if err != nil {
		return false, nil, err
	}
	first = bytes.TrimSpace(first)
	if first[0] == '[' {
		return true, nil, nil
	}
	var s jsonLine
	s.reset(first)
	err = s.object(func(path []byte, kind jsontext.Kind) (bool, error) {
		keys = append(keys, jsonKey{string(path), kind})
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
	} else if asked := slices.Index(names, spec.Vector); asked >= 0 && keys[asked].kind == '0' {
		j.setSingle(names[asked : asked+1])
	} else if asked < 0 && (strings.ContainsAny(spec.Vector, ",*?[") || strings.Contains(spec.Vector, "..")) {
		if err := j.chooseSingle(spec.Vector, keys, names); err != nil {
			return err
		}
	}
	if j.single == nil && j.keys[keyVector] == "" {
		if !slices.ContainsFunc(keys, func(k jsonKey) bool { return k.kind == '[' }) {
			return &SpecError{"Vector", message.New("which-numbers",
				"%s: which keys hold the numbers of the vector? None holds a list; "+
					"the first row has %s: name them", j.in.path, message.Runs(names))}
		}
		return &SpecError{"Vector", message.New("which-vector",
			"%s: which key holds the vector? The first row has %s: name one",
			j.in.path, message.List(names))}
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
				return 0, fmt.Errorf("%s: the first row has no key %q; it has %s", j.in.path, name, message.Runs(names))
			}
			return i, nil
		},
		may: func(i int) bool {
			kind := keys[i].kind
			return (kind == '0' || kind == 'n' && j.nans || kind == '[') && !slices.Contains(j.keys[1:], names[i])
		},
	}
	chosen, err := choice.choose(vector)
	if err != nil {
		return err
	}
	if len(chosen) == 1 && keys[chosen[0]].kind == '[' {
		j.keys[keyVector] = names[chosen[0]]
		return nil
	}
	var single []string
	for _, i := range chosen {
		if keys[i].kind == '[' {
			return message.New("list-among-numbers",
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
	j.json.reset(line)
	j.found = [4]bool{}
	if j.single != nil {
		rec.vector = slices.Grow(rec.vector, len(j.single))[:len(j.single)] // all are filled, or the row is bad
		clear(j.filled)
	}
	column, isList := "", line[0] == '[' // the column that the error is in
	if isList {
		j.found[keyVector] = true
		var list []byte
		if list, err = j.json.value(); err == nil {
			rec.vector, err = appendNumbers(rec.vector[:0], list, j.nans)
		}
	} else {
		err = j.json.object(func(path []byte, kind jsontext.Kind) (bool, error) {
			i, isSingle := j.place[string(path)]
			k := slices.IndexFunc(j.keys[:], func(key string) bool { return key != "" && key == string(path) })
			if !isSingle && k < 0 {
				column = ""
				return false, nil
			}
			column = string(path)
			if k == keyTags && kind == '[' && !isSingle {
				return true, j.tagList(rec)
			}
			raw, err := j.json.value()
			if err == nil && isSingle {
				err = j.number(rec, i, raw)
			}
			if err == nil && k >= 0 {
				err = j.value(rec, k, raw)
			}
			if err == nil {
				column = ""
			}
			return true, err
		})
	}
	if err == nil {
		err = j.json.end()
	}
	switch {
	case errors.Is(err, errNull):
		return j.lacks(column, err)
	case err != nil:
		return j.bad(column, err)
	case j.single != nil && !isList:
		for i, filled := range j.filled {
			if !filled && !j.nans {
				return j.lacks(j.single[i], message.New("no-value", "no value"))
			} else if !filled {
				rec.vector[i] = nan
			}
		}
	case !j.found[keyVector]:
		return j.bad(j.keys[keyVector], message.New("no-vector", "no vector"))
	}
	return j.checkValues(len(rec.vector), j.keys[keyVector])
}

var errTwice = message.New("duplicate-key", "the key twice")

// number takes one of the single numbers of the vector.
func (j *jsonLines) number(rec *record, i int, raw []byte) (err error) {
	if j.filled[i] {
		return errTwice
	}
	j.filled[i] = true
	rec.vector[i], err = jsonNumber(raw, j.nans)
	return err
}

// tagList reads a list of tags.
func (j *jsonLines) tagList(rec *record) (err error) {
	if j.found[keyTags] {
		return errTwice
	}
	j.found[keyTags], rec.hasTags = true, true
	rec.tags, err = j.json.tags(rec.tags, j.seen)
	return err
}

// value takes the value of one of the keys that matter.
func (j *jsonLines) value(rec *record, k int, raw []byte) (err error) {
	if j.found[k] {
		return errTwice
	}
	j.found[k] = true
	if k == keyVector {
		if raw[0] != '[' {
			return message.New("not-a-list", "%s instead of a list of numbers", excerpt(raw))
		}
		rec.vector, err = appendNumbers(rec.vector, raw, j.nans)
		return err
	}
	if raw[0] == 'n' {
		return nil // null is the same as no such key
	}
	text, ok := jsonScalar(raw)
	if !ok {
		return message.New("not-a-text", "%s instead of a string or a number", excerpt(raw))
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
