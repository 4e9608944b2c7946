package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"

	"hashgrove/internal/fault"
)

const maxDepth = 64 // of nested JSON

var errTooDeep = fault.New("nested-too-deep", "the JSON is nested deeper than %d", maxDepth)

// longPaths bounds what the names of objects add to the paths of their keys: this many bytes, and a 1024th of that for
// every byte of the line. An object with a name of a megabyte and a million keys would otherwise take days.
const longPaths = 1 << 16

var errLongPaths = fault.New("long-paths", "the JSON has objects of long names with too many keys in them")

// jsonScanner scans one line of JSON. It accepts nothing but JSON, except inside strings.
type jsonScanner struct {
	b    []byte
	i    int
	path []byte // of the current key
	long int    // bytes of all paths so far
	err  error  // of atEnd
	nans bool   // null is a number: NaN
}

func (s *jsonScanner) fail() error {
	if s.i >= len(s.b) {
		return fault.New("json-ends", "the JSON ends too early")
	}
	return fault.New("bad-json", "the JSON cannot be read from character %d: %s", s.i+1, excerpt(s.rest()))
}

// end checks that nothing follows.
func (s *jsonScanner) end() error {
	if s.space(); s.i < len(s.b) {
		return s.fail()
	}
	return nil
}

func (s *jsonScanner) rest() []byte { return s.b[min(s.i, len(s.b)):] }

// excerpt returns the next value as written, or the rest of the line if that is not a value.
func (s *jsonScanner) excerpt() string {
	s.space()
	from := s.i
	err := s.skip(0)
	value := s.b[from:min(s.i, len(s.b))]
	s.i = from
	if err != nil || s.err != nil || !utf8.Valid(value) || bytes.ContainsFunc(value, unicode.IsControl) {
		return excerpt(s.rest())
	}
	if len(value) > 40 {
		return excerpt(value)
	}
	return string(value)
}

func (s *jsonScanner) space() {
	for s.i < len(s.b) && (s.b[s.i] == ' ' || s.b[s.i] == '\t' || s.b[s.i] == '\r' || s.b[s.i] == '\n') {
		s.i++
	}
}

// peek returns the next character that is not a space, or 0.
func (s *jsonScanner) peek() byte {
	if s.space(); s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

// atEnd skips the comma before the next item of a list or object, or its closing bracket, which it reports. An error,
// kept in err, also counts as an end.
func (s *jsonScanner) atEnd(end byte, first *bool) bool {
	c := s.peek()
	switch {
	case c == end:
		s.i++
		return true
	case *first:
		*first = false
		return false
	case c == ',':
		s.i++
		if s.peek() != end {
			return false
		}
	}
	s.err = s.fail()
	return true
}

// object reads an object. It calls take with the path of every key, with dots; take either reads the value or leaves
// it. A value that is left is searched if it is an object, and skipped otherwise.
func (s *jsonScanner) object(depth int, take func(path []byte) (bool, error)) error {
	if depth == maxDepth {
		return errTooDeep
	}
	if s.peek() != '{' {
		return s.fail()
	}
	s.i++
	n := len(s.path)
	for first := true; !s.atEnd('}', &first); {
		key, err := s.text()
		if err != nil {
			return err
		}
		if s.peek() != ':' {
			return s.fail()
		}
		s.i++
		s.space()
		if s.path = s.path[:n]; n > 0 {
			s.path = append(s.path, '.')
		}
		s.path = append(s.path, key...)
		if s.long += n; s.long > longPaths+longPaths/1024*len(s.b) {
			return errLongPaths
		}
		taken, err := take(s.path)
		if err == nil && !taken && s.peek() == '{' {
			err = s.object(depth+1, take)
		} else if err == nil && !taken {
			err = s.skip(depth + 1)
		}
		if err != nil {
			return err
		}
	}
	return s.err
}

// text reads a string. It returns the bytes between the quotes, or a copy if they hold escapes.
func (s *jsonScanner) text() ([]byte, error) {
	if s.peek() != '"' {
		return nil, s.fail()
	}
	from := s.i
	escaped := false
	for s.i++; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; {
		case c == '\\':
			escaped = true
			s.i++
		case c < ' ':
			return nil, s.fail()
		case c == '"':
			s.i++
			if !escaped {
				return s.b[from+1 : s.i-1], nil
			}
			var out string
			if err := json.Unmarshal(s.b[from:s.i], &out); err != nil {
				s.i = from
				return nil, s.fail()
			}
			return []byte(out), nil
		}
	}
	return nil, s.fail()
}

// number reads a number and returns its digits.
func (s *jsonScanner) number() ([]byte, bool) {
	b, i := s.b, s.i
	run := func() bool {
		from := i
		for i < len(b) && b[i] >= '0' && b[i] <= '9' {
			i++
		}
		return i > from
	}
	if i < len(b) && b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if !run() {
		return nil, false
	}
	if i < len(b) && b[i] == '.' {
		if i++; !run() {
			return nil, false
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !run() {
			return nil, false
		}
	}
	b = b[s.i:i]
	s.i = i
	return b, true
}

// errNull reports null in place of a number.
var errNull = errors.New("null")

// null consumes null, if it comes next.
func (s *jsonScanner) null() bool {
	if !bytes.HasPrefix(s.b[min(s.i, len(s.b)):], []byte("null")) {
		return false
	}
	s.i += len("null")
	return true
}

// numbers appends the numbers of a flat list.
func (s *jsonScanner) numbers(dst []float32) ([]float32, error) {
	s.i++ // the bracket
	for first := true; !s.atEnd(']', &first); {
		b, ok := s.number()
		if !ok && s.null() {
			if !s.nans {
				return dst, fault.New("not-a-number", "\"%w\" instead of a number at place %d", errNull, len(dst)+1)
			}
			if len(dst) == maxDim {
				return dst, fmt.Errorf("more than %d values", maxDim)
			}
			dst = append(dst, nan)
			continue
		}
		if !ok {
			if s.i >= len(s.b) {
				return dst, s.fail()
			}
			from := s.i
			if err := s.skip(0); err != nil {
				return dst, err
			}
			return dst, fault.New("not-a-number", "%s instead of a number at place %d", excerpt(s.b[from:s.i]), len(dst)+1)
		}
		v, err := parseFloat(b)
		if err != nil {
			return dst, fmt.Errorf("%s at place %d %w", b[:min(len(b), 40)], len(dst)+1, err)
		}
		if len(dst) == maxDim {
			return dst, fmt.Errorf("more than %d values", maxDim)
		}
		dst = append(dst, v)
	}
	return dst, s.err
}

// skip skips any value.
func (s *jsonScanner) skip(depth int) error {
	if depth == maxDepth {
		return errTooDeep
	}
	switch c := s.peek(); {
	case c == '"':
		_, err := s.text()
		return err
	case c == '{':
		return s.object(depth, func([]byte) (bool, error) { return true, s.skip(depth + 1) })
	case c == '[':
		s.i++
		for first := true; !s.atEnd(']', &first); {
			if err := s.skip(depth + 1); err != nil {
				return err
			}
		}
		return s.err
	case c == '-' || c >= '0' && c <= '9':
		if _, ok := s.number(); ok {
			return nil
		}
		return s.fail()
	}
	for _, word := range []string{"null", "true", "false"} {
		if bytes.HasPrefix(s.rest(), []byte(word)) {
			s.i += len(word)
			return nil
		}
	}
	return s.fail()
}
