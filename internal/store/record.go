package store

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"hashgrove/internal/index"
)

// A record is what an item has besides its id and its code. One that has nothing is empty.
//
//	flags, then those that the flags name:  label │ number of tags, tags │ number of attributes, attributes by name
//	text = length, bytes      attribute = name, 0, number, f64  or  name, 1, text
const (
	hasLabel      = 1
	hasTags       = 2
	hasAttributes = 4

	numberValue = 0
	textValue   = 1
)

// appendRecord appends the record of an item that an index can hold.
func appendRecord(dst []byte, it index.Item) []byte {
	if it.Label == "" && len(it.Tags) == 0 && len(it.Attributes) == 0 {
		return dst
	}
	flags := len(dst)
	dst = append(dst, 0)
	if it.Label != "" {
		dst[flags] |= hasLabel
		dst = appendText(dst, it.Label)
	}
	if len(it.Tags) > 0 {
		dst[flags] |= hasTags
		dst = binary.AppendUvarint(dst, uint64(len(it.Tags)))
		for _, tag := range it.Tags {
			dst = appendText(dst, tag)
		}
	}
	if len(it.Attributes) > 0 {
		dst[flags] |= hasAttributes
		dst = appendAttributes(dst, it.Attributes)
	}
	return dst
}

func appendAttributes(dst []byte, attributes map[string]index.Value) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(attributes)))
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		dst = appendText(dst, name)
		v := attributes[name]
		if x, ok := v.Number(); ok {
			dst = binary.LittleEndian.AppendUint64(append(dst, numberValue), math.Float64bits(x))
			continue
		}
		text, _ := v.Text()
		dst = appendText(append(dst, textValue), text)
	}
	return dst
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// records parses records. It stores equal texts once, because labels, tags and names repeat.
type records struct {
	texts map[string]string
	rest  []byte
	bad   bool
}

// maxTexts bounds the number of remembered texts.
const maxTexts = 1 << 16

// parse sets the label, tags and attributes of an item from its record.
func (r *records) parse(b []byte, it *index.Item) error {
	it.Label, it.Tags, it.Attributes = "", nil, nil
	if len(b) == 0 {
		return nil
	}
	flags := b[0]
	r.rest, r.bad = b[1:], flags == 0 || flags > hasLabel|hasTags|hasAttributes
	if flags&hasLabel != 0 {
		it.Label = r.text()
		r.bad = r.bad || it.Label == ""
	}
	if flags&hasTags != 0 {
		for range r.count(index.MaxTags) {
			it.Tags = append(it.Tags, r.text())
		}
	}
	if flags&hasAttributes != 0 {
		n := r.count(index.MaxAttributes)
		it.Attributes = make(map[string]index.Value, n)
		for range n {
			name := r.text()
			_, twice := it.Attributes[name]
			r.bad = r.bad || twice
			it.Attributes[name] = r.value()
		}
	}
	if r.bad || len(r.rest) > 0 {
		return damaged("label, tags or attributes of id %s cannot be read", it.ID.Short())
	}
	return nil
}

// count reads a count: at least one, and at most as many as bytes are left.
func (r *records) count(most int) int {
	n, rest, ok := uvarint(r.rest)
	if !ok || n == 0 || n > uint64(min(most, len(rest))) {
		r.fail()
		return 0
	}
	r.rest = rest
	return int(n)
}

func (r *records) text() string {
	n, rest, ok := uvarint(r.rest)
	if !ok || n > uint64(min(index.MaxText, len(rest))) {
		r.fail()
		return ""
	}
	b := rest[:n]
	r.rest = rest[n:]
	s, ok := r.texts[string(b)]
	if !ok {
		s = string(b)
		if r.texts == nil {
			r.texts = map[string]string{}
		}
		if len(r.texts) < maxTexts {
			r.texts[s] = s
		}
	}
	return s
}

func (r *records) value() index.Value {
	if len(r.rest) == 0 {
		r.fail()
		return index.Value{}
	}
	kind := r.rest[0]
	r.rest = r.rest[1:]
	switch {
	case kind == textValue:
		return index.String(r.text())
	case kind == numberValue && len(r.rest) >= 8:
		x := math.Float64frombits(binary.LittleEndian.Uint64(r.rest))
		r.rest = r.rest[8:]
		return index.Number(x + 0) // -0 is 0
	}
	r.fail()
	return index.Value{}
}

// fail marks the record as bad and makes the rest empty.
func (r *records) fail() { r.rest, r.bad = nil, true }
