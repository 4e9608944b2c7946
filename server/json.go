package server

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hashgrove/api"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
	"hashgrove/internal/search"
)

// Requests are decoded strictly: keys in another case, twice or unknown, text that is not UTF-8, and null,
// which would leave a value as it is, are errors. In a vector, null stands for a missing value, since that is how
// JavaScript writes NaN. Lists, vectors, nesting and memory are bounded while decoding.

const (
	maxNesting = 16       // of lists and objects; the tags of an item are five deep
	takeStep   = 64 << 10 // bytes that are taken from the budget at a time
)

// decoder watches over the values of one request.
type decoder struct {
	*answer
	limits  *Limits
	model   *model.Model // whose vectors the request may have; may be nil
	used    int64        // bytes of the budget
	needed  int64        // bytes, since some were taken last
	at      int64        // offset of the value before this one
	wasText bool         // whether it is a text
}

// decode decodes one JSON value.
func (d *decoder) decode(b []byte, v any) error {
	err := json.Unmarshal(b, v, json.RejectUnknownMembers(true), json.WithUnmarshalers(json.JoinUnmarshalers(
		json.UnmarshalFromFunc(d.vector), json.UnmarshalFromFunc(d.text), json.UnmarshalFromFunc(d.value))))
	switch {
	case err == nil:
		return nil
	case len(bytes.TrimSpace(b)) == 0:
		return bad("the request is empty: send a JSON object")
	}
	return notUnderstood(err)
}

// errNull is what is wrong with null.
var errNull = errors.New("is null: leave it out, or give a value")

// errEmpty is what is wrong with an empty text that says nothing.
var errEmpty = errors.New("is empty: leave it out, or give a value")

// value looks at every value but vectors before it is decoded.
func (d *decoder) value(dec *jsontext.Decoder, v any) error {
	kind := dec.PeekKind()
	attribute, isAttribute := v.(*any)
	if kind == 'n' {
		return errNull
	}
	size := int64(reflect.TypeOf(v).Elem().Size())
	if isAttribute {
		size += 64 // for its name in a map
	}
	if kind == '"' {
		size += 32 // the least that a text takes, and what a list of texts grows into
	}
	if err := d.admit(dec, kind, size); err != nil {
		return err
	}
	if !isAttribute || kind == 't' || kind == 'f' {
		return errors.ErrUnsupported // decode it as usual
	}
	var value index.Value
	text, err := dec.ReadValue()
	if err == nil {
		err = value.UnmarshalJSON(text)
	}
	if words, ok := value.Text(); ok {
		*attribute = words
	} else {
		*attribute, _ = value.Number()
	}
	return err
}

// choices are keys whose text says something: an empty one is what a program sends that has nothing to say.
var choices = []string{"code", "where", "rank", "ties", "rerank", "mode", "like", "fingerprint"}

// text decodes a text, which is not empty where it would have no effect.
func (d *decoder) text(dec *jsontext.Decoder, v *string) error {
	if err := d.value(dec, v); dec.PeekKind() != '"' || !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	token, err := dec.ReadToken()
	if *v = token.String(); err == nil && *v == "" && slices.Contains(choices, dec.StackPointer().LastToken()) {
		return errEmpty
	}
	return err
}

// admit checks the depth of a value and its number in a list, and counts its memory: its size and, once it has been
// read, that of its text.
func (d *decoder) admit(dec *jsontext.Decoder, kind jsontext.Kind, size int64) error {
	depth := dec.StackDepth()
	if depth >= maxNesting {
		return bad("the request is nested more than %d deep", maxNesting)
	}
	if list, before := dec.StackIndex(depth); list == '[' && before >= int64(d.limits.Batch) {
		return problem(http.StatusRequestEntityTooLarge,
			"a list in the request has more than the allowed %d entries", d.limits.Batch)
	}
	at := dec.InputOffset()
	d.needed += size
	if d.wasText {
		d.needed += at - d.at
	}
	d.at, d.wasText = at, kind == '"'
	if d.needed < takeStep {
		return nil
	}
	if d.used+d.needed > d.limits.Bodies/2 {
		return problem(http.StatusRequestEntityTooLarge,
			"the request needs more than %d bytes of memory: send less at a time", d.limits.Bodies/2)
	}
	err := d.take(d.needed)
	d.used, d.needed = d.used+d.needed, 0
	return err
}

// vector decodes a vector as float32, which is what its decimals are rounded to.
func (d *decoder) vector(dec *jsontext.Decoder, v *[]float32) error {
	if dec.PeekKind() != '[' {
		return d.value(dec, v)
	}
	if d.model == nil {
		return search.ErrNoModel
	}
	dim := d.model.Dim()
	if err := d.admit(dec, '[', 24+4*int64(dim)); err != nil {
		return err
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	at := place(dec.StackPointer())
	x := make([]float32, 0, dim)
	for dec.PeekKind() != ']' {
		if len(x) == dim {
			return api.Errorf(api.ErrDimension, "%s: a vector of more than the %d values that the model takes", at, dim)
		}
		text, err := dec.ReadValue()
		if err != nil {
			return err
		}
		value, err := strconv.ParseFloat(string(text), 32)
		switch kind := text.Kind(); {
		case kind == 'n' && d.model.TakesMissing():
			value = math.NaN()
		case kind == 'n':
			return bad("%s: column %d is null, but the model takes no missing values", at, len(x))
		case kind != '0':
			return bad("%s: column %d is %s: give a number", at, len(x), kindName(kind))
		case err != nil:
			return bad("%s: column %d: %.40s is too large", at, len(x), text)
		}
		x = append(x, float32(value))
	}
	if len(x) < dim {
		return api.Errorf(api.ErrDimension, "%s: a vector of %d values, and the model takes %d", at, len(x), dim)
	}
	_, err := dec.ReadToken()
	*v, d.at, d.wasText = x, dec.InputOffset(), false
	return err
}

// notUnderstood turns the errors of decoding into sentences for people who sent a request.
func notUnderstood(err error) error {
	f, refused, semantic, syntax := new(failure), new(api.Error), new(json.SemanticError), new(jsontext.SyntacticError)
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &semantic):
		for inner := semantic; errors.As(inner.Err, &inner); {
			semantic = inner
		}
		at := cmp.Or(place(semantic.JSONPointer), "the request")
		switch {
		case errors.Is(semantic, json.ErrUnknownName):
			return bad("unknown key %.100q: keys are spelled as in the documentation, in lower case", at)
		case errors.Is(semantic.Err, errNull), errors.Is(semantic.Err, errEmpty):
			return bad("%.200s %v", at, semantic.Err)
		case semantic.Err != nil:
			return bad("%.200s: %v", at, semantic.Err)
		}
		return bad("the value of %.100q cannot be %s", at, kindName(semantic.JSONKind))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return bad("the JSON in the request ends early")
	case errors.As(err, &syntax) && errors.Is(err, jsontext.ErrDuplicateName):
		return bad("the key %.100q occurs twice", place(syntax.JSONPointer))
	case errors.As(err, &syntax):
		return bad("the JSON in the request cannot be read: %.200v at byte %d", syntax.Err, syntax.ByteOffset)
	}
	return bad("%v", err)
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
