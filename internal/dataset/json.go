package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"hashgrove/internal/message"
)

const maxDepth = 64 // of objects in objects

var errTooDeep = message.New("nested-too-deep", "the JSON is nested deeper than %d", maxDepth)

// longPaths bounds what the names of objects add to the paths of their keys: this many bytes, and a 1024th of that for
// every byte of the line. An object with a name of a megabyte and a million keys would otherwise take days.
const longPaths = 1 << 16

var errLongPaths = message.New("long-paths", "the JSON has objects of long names with too many keys in them")

// jsonLine decodes one line of JSON. Keys may appear twice: callers check the ones they use.
type jsonLine struct {
	dec  *jsontext.Decoder
	line []byte
	path []byte // of the current key
	long int    // bytes of all paths so far
}

// reset begins a line.
func (j *jsonLine) reset(line []byte) {
	in := bytes.NewBuffer(line)
	if j.dec == nil {
		j.dec = new(jsontext.Decoder)
	}
	j.dec.Reset(in, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	j.line, j.path, j.long = line, j.path[:0], 0
}

// fail turns an error of the decoder into one that shows the place.
func (j *jsonLine) fail(err error) error {
	e, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok || errors.Is(err, io.ErrUnexpectedEOF) {
		return message.New("json-ends", "the JSON ends too early")
	}
	at := min(int(e.ByteOffset), len(j.line))
	return message.New("bad-json", "the JSON cannot be read from character %d: %s", at+1, excerpt(j.line[at:]))
}

// value reads any value and returns it as written. It is a part of the line.
func (j *jsonLine) value() ([]byte, error) {
	v, err := j.dec.ReadValue()
	if err != nil {
		return nil, j.fail(err)
	}
	end := int(j.dec.InputOffset())
	return j.line[end-len(v) : end], nil
}

// token reads a bracket.
func (j *jsonLine) token() error {
	if _, err := j.dec.ReadToken(); err != nil {
		return j.fail(err)
	}
	return nil
}

// end checks that nothing follows.
func (j *jsonLine) end() error {
	if _, err := j.dec.ReadToken(); err != io.EOF {
		rest := j.line[j.dec.InputOffset():]
		return message.New("bad-json", "the JSON cannot be read from character %d: %s",
			len(j.line)-len(bytes.TrimLeft(rest, " \t\r\n"))+1, excerpt(rest))
	}
	return nil
}

// object reads an object. It calls take with the path of every key, with dots, and the kind of its value; take either
// reads the value or leaves it. A value that is left is searched if it is an object, and skipped otherwise.
func (j *jsonLine) object(take func(path []byte, kind jsontext.Kind) (taken bool, err error)) error {
	if j.dec.StackDepth() == maxDepth {
		return errTooDeep
	}
	if err := j.token(); err != nil {
		return err
	}
	n := len(j.path)
	for j.dec.PeekKind() != '}' {
		name, err := j.value()
		if err != nil {
			return err
		}
		if j.path = j.path[:n]; n > 0 {
			j.path = append(j.path, '.')
		}
		j.path = append(j.path, unquoted(name)...)
		if j.long += n; j.long > longPaths+longPaths/1024*len(j.line) {
			return errLongPaths
		}
		kind := j.dec.PeekKind()
		taken, err := take(j.path, kind)
		if err == nil && !taken && kind == '{' {
			err = j.object(take)
		} else if err == nil && !taken {
			_, err = j.value()
		}
		if err != nil {
			return err
		}
	}
	return j.token()
}

// tags appends the scalars in a list.
func (j *jsonLine) tags(tags []string, seen interner) ([]string, error) {
	if err := j.token(); err != nil {
		return nil, err
	}
	for j.dec.PeekKind() != ']' {
		item, err := j.value()
		if err != nil {
			return nil, err
		}
		tag, ok := jsonScalar(item)
		if !ok {
			return nil, fmt.Errorf("%s instead of a tag", excerpt(item))
		}
		tags = append(tags, seen.keep(tag))
	}
	return tags, j.token()
}

// jsonNumber parses a value that should be a number. Where values may be missing, null is NaN.
func jsonNumber(raw []byte, nans bool) (float32, error) {
	switch c := raw[0]; {
	case c == '-' || c >= '0' && c <= '9':
		v, err := parseFloat(raw)
		if err != nil {
			err = fmt.Errorf("%s %w", raw[:min(len(raw), 40)], err)
		}
		return v, err
	case c == 'n' && nans:
		return nan, nil
	case c == 'n':
		return 0, missingValue{message.New("not-a-number", "%q instead of a number", "null")}
	}
	return 0, message.New("not-a-number", "%s instead of a number", excerpt(raw))
}

// appendNumbers appends the numbers of a list, which the decoder has accepted.
func appendNumbers(dst []float32, list []byte, nans bool) ([]float32, error) {
	from := len(dst)
	for rest, more := bytes.TrimSpace(list[1:len(list)-1]), true; len(rest) > 0 && more; {
		var item []byte
		item, rest, more = bytes.Cut(rest, []byte{','})
		v, err := jsonNumber(trimSpaces(item), nans)
		if err != nil {
			return dst, fmt.Errorf("%w at place %d", err, len(dst)-from+1)
		}
		if len(dst)-from == maxDim {
			return dst, fmt.Errorf("more than %d values", maxDim)
		}
		dst = append(dst, v)
	}
	return dst, nil
}

// jsonScalar returns the text of a string, a number as written, true or false.
func jsonScalar(raw []byte) (string, bool) {
	value := jsontext.Value(raw)
	if !value.IsValid(jsontext.AllowInvalidUTF8(true)) {
		return "", false
	}
	switch value.Kind() {
	case '"':
		return string(unquoted(raw)), true
	case '0', 't', 'f':
		return string(raw), true
	}
	return "", false
}
