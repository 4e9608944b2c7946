// Package strict decodes the JSON of requests wholly or not at all. What package encoding/json lets pass is an error
// here: keys in another case, keys that occur twice, unknown keys, text that is not UTF-8, and null, which would leave
// a value as it is. In a vector, null stands for a missing value, since that is how JavaScript writes NaN.
//
// The work is done by github.com/go-json-experiment/json, the coming encoding/json/v2. Lists, vectors, nesting and
// memory are bounded while decoding, so a request that asks for too much is refused before it has it.
package strict

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxNesting limits how deep lists and objects may nest; the tags of an item are five deep.
const maxNesting = 16

// Options bound what a request may hold.
type Options struct {
	List int // entries of a list that is not a vector; 0 means no limit

	// Vector returns the length of vectors and whether values may be missing, or an error if there can be no vectors.
	// It is called once, at the first vector; nil means vectors of any length.
	Vector func() (dim int, missing bool, err error)

	// Take is called with the bytes that decoding needs before it goes on; nil means no limit.
	Take func(bytes int64) error
}

// Error says what is wrong with a request, and where.
type Error struct {
	Text     string
	TooLarge bool // a list exceeds its limit
	Length   bool // a vector has a wrong length
	Values   int  // of that vector, as far as they were read
}

func (e *Error) Error() string { return e.Text }

// Decode decodes one JSON value into v.
func Decode(b []byte, v any, o Options) error {
	d := &decoder{Options: o, length: -1}
	err := json.Unmarshal(b, v,
		json.RejectUnknownMembers(true),
		json.WithUnmarshalers(json.JoinUnmarshalers(
			json.UnmarshalFromFunc(d.vector), json.UnmarshalFromFunc(d.scalars), json.UnmarshalFromFunc(d.any))))
	return plain(b, err)
}

// decoder watches over the values of one request.
type decoder struct {
	Options
	length  int // of vectors; -1 means unknown, 0 any
	missing bool

	taken   int64 // bytes, since Take was last called
	at      int64 // offset of the value before this one
	wasText bool  // whether it is a text
}

// takeStep is how many bytes are taken at a time.
const takeStep = 64 << 10

// errNull is what is wrong with null.
var errNull = errors.New("is null: leave it out, or give a value")

// any looks at every value but vectors before it is decoded.
func (d *decoder) any(dec *jsontext.Decoder, v any) error {
	kind := dec.PeekKind()
	if kind == 'n' {
		return errNull
	}
	if err := d.position(dec); err != nil {
		return err
	}
	if err := d.need(dec, kind, int64(reflect.TypeOf(v).Elem().Size())); err != nil {
		return err
	}
	return errors.ErrUnsupported // decode it as usual
}

// position checks the depth of a value, and its number in a list.
func (d *decoder) position(dec *jsontext.Decoder) error {
	depth := dec.StackDepth()
	if depth >= maxNesting {
		return &Error{Text: fmt.Sprintf("the request is nested more than %d deep", maxNesting)}
	}
	kind, before := dec.StackIndex(depth)
	if kind == '[' && d.List > 0 && before >= int64(d.List) {
		return &Error{TooLarge: true, Text: fmt.Sprintf("a list in the request has more than the allowed %d entries", d.List)}
	}
	return nil
}

// need counts the memory of a value: its size and, once it has been read, that of its text.
func (d *decoder) need(dec *jsontext.Decoder, kind jsontext.Kind, size int64) error {
	at := dec.InputOffset()
	d.taken += size
	if d.wasText {
		d.taken += at - d.at
	}
	d.at, d.wasText = at, kind == '"'
	if d.Take == nil || d.taken < takeStep {
		return nil
	}
	size, d.taken = d.taken, 0
	if err := d.Take(size); err != nil {
		return &outside{err}
	}
	return nil
}

// outside is an error that comes from Options, and has nothing to do with a place in the request.
type outside struct{ error }

func (e *outside) Unwrap() error { return e.error }

// vector decodes a vector as float32, which is what its decimals are rounded to.
func (d *decoder) vector(dec *jsontext.Decoder, v *[]float32) error {
	if dec.PeekKind() != '[' {
		return d.any(dec, v)
	}
	if d.length < 0 {
		d.length = 0
		if d.Vector != nil {
			var err error
			if d.length, d.missing, err = d.Vector(); err != nil {
				return &outside{err}
			}
		}
	}
	if err := d.position(dec); err != nil {
		return err
	}
	if err := d.need(dec, '[', 24+4*int64(d.length)); err != nil {
		return err
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	x := make([]float32, 0, d.length)
	for dec.PeekKind() != ']' {
		if d.length > 0 && len(x) == d.length {
			return &Error{Length: true, Values: len(x) + 1,
				Text: fmt.Sprintf("a vector of more than the %d values that the model takes", d.length)}
		}
		value, err := d.number(dec, len(x))
		if err != nil {
			return err
		}
		if x = append(x, value); d.length == 0 && len(x)%1024 == 0 {
			if err := d.need(dec, '0', 4*1024); err != nil {
				return err
			}
		}
	}
	if len(x) < d.length {
		return &Error{Length: true, Values: len(x),
			Text: fmt.Sprintf("a vector of %d values, and the model takes %d", len(x), d.length)}
	}
	if d.length == 0 {
		d.taken += 4 * int64(len(x)%1024)
	}
	_, err := dec.ReadToken()
	*v, d.at, d.wasText = x, dec.InputOffset(), false
	return err
}

// number reads one value of a vector.
func (d *decoder) number(dec *jsontext.Decoder, column int) (float32, error) {
	text, err := dec.ReadValue()
	switch {
	case err != nil:
		return 0, err
	case text.Kind() == 'n' && d.missing:
		return float32(math.NaN()), nil
	case text.Kind() == 'n':
		return 0, fmt.Errorf("column %d is null, but the model takes no missing values", column)
	case text.Kind() != '0':
		return 0, fmt.Errorf("column %d is %s: give a number", column, kindName(text.Kind()))
	}
	x, err := strconv.ParseFloat(string(text), 32)
	if err != nil {
		return 0, fmt.Errorf("column %d: %.40s is too large", column, text)
	}
	return float32(x), nil
}

// scalars decodes attributes of any kind, which are numbers, texts and booleans, never lists or objects.
func (d *decoder) scalars(dec *jsontext.Decoder, v *map[string]any) error {
	if dec.PeekKind() != '{' {
		return d.any(dec, v)
	}
	if err := d.position(dec); err != nil {
		return err
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	values := map[string]any{}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		key := name.String()
		if err := d.need(dec, '"', 64+int64(len(key))); err != nil {
			return err
		}
		value, err := dec.ReadToken()
		if err != nil {
			return err
		}
		switch value.Kind() {
		case '"':
			values[key] = value.String()
		case '0':
			x, err := strconv.ParseFloat(value.String(), 64)
			if err != nil {
				return fmt.Errorf("the attribute %.80q: %.40s is too large", key, value.String())
			}
			values[key] = x
		case 't', 'f':
			values[key] = value.Bool()
		default:
			return fmt.Errorf("the attribute %.80q is %s: give a number, a text, true or false", key, kindName(value.Kind()))
		}
	}
	_, err := dec.ReadToken()
	*v = values
	return err
}

// plain turns the errors of the decoder into sentences for people who sent a request.
func plain(b []byte, err error) error {
	own, semantic, syntax, foreign := new(Error), new(json.SemanticError), new(jsontext.SyntacticError), new(outside)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &foreign):
		return foreign.error
	case errors.As(err, &semantic):
		return inRequest(semantic)
	case errors.As(err, &own):
		return own
	case len(strings.TrimSpace(string(b[:min(len(b), 1<<10)]))) == 0 && len(b) < 1<<10:
		return &Error{Text: "the request is empty: send a JSON object"}
	case errors.Is(err, jsontext.ErrDuplicateName):
		errors.As(err, &syntax)
		return &Error{Text: fmt.Sprintf("the key %.100q occurs twice", place(syntax.JSONPointer))}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{Text: "the JSON in the request ends early"}
	case errors.As(err, &syntax):
		return &Error{Text: fmt.Sprintf("the JSON in the request cannot be read: %.200v at byte %d", syntax.Err,
			syntax.ByteOffset)}
	}
	return err
}

// inRequest names the place of a value that cannot be used.
func inRequest(e *json.SemanticError) error {
	own, at := new(Error), place(e.JSONPointer)
	var other *json.SemanticError
	switch {
	case errors.Is(e, json.ErrUnknownName):
		return &Error{Text: fmt.Sprintf("unknown key %.100q: keys are spelled as in the documentation, in lower case", at)}
	case errors.As(e.Err, &own):
		text := own.Text
		if own.Length && at != "" {
			text = at + ": " + text
		}
		return &Error{Text: text, TooLarge: own.TooLarge, Length: own.Length, Values: own.Values}
	case errors.As(e.Err, &other):
		return inRequest(other)
	case errors.Is(e.Err, errNull):
		return &Error{Text: fmt.Sprintf("%.200s %v", cmp.Or(at, "the request"), errNull)}
	case e.Err != nil && e.GoType == reflect.TypeFor[*[]float32]():
		return fmt.Errorf("%s: %w", row(at), e.Err)
	case e.Err != nil && at != "":
		return fmt.Errorf("%.200s: %w", at, e.Err)
	case e.Err != nil:
		return e.Err
	}
	return &Error{Text: fmt.Sprintf("the value of %.100q cannot be %s", at, kindName(e.JSONKind))}
}

// place writes a JSON pointer as programs do: items[0].attributes.price.
func place(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		if _, err := strconv.Atoi(token); err == nil && b.Len() > 0 {
			b.WriteString("[" + token + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(token)
	}
	return b.String()
}

// row writes the place of a vector in a list as a row.
func row(at string) string {
	if list, number, ok := strings.Cut(strings.TrimSuffix(at, "]"), "["); ok && list == "vectors" {
		return list + ", row " + number
	}
	return at
}

// kindName names a kind of JSON value.
func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a text"
	case '0':
		return "a number"
	case '{', '}':
		return "an object"
	}
	return "a list"
}
