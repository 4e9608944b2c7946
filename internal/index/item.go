package index

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
)

// Limits of one item.
const (
	MaxTags       = 1 << 12 // of an item
	MaxAttributes = 1 << 8  // of an item
	MaxText       = 1 << 16 // bytes of a label, a tag, or an attribute's name or text
)

// Value is the value of an attribute: a number or a text. The zero value is the empty text. Numbers are float64;
// a whole number beyond 2^53 that lies between two of these is refused wherever values are read.
type Value struct {
	text     string
	number   float64
	isNumber bool
}

// Number returns a number as a Value.
func Number(x float64) Value { return Value{number: x, isNumber: true} }

// String returns a text as a Value.
func String(s string) Value { return Value{text: s} }

// Number returns the number, and whether the value is one.
func (v Value) Number() (float64, bool) { return v.number, v.isNumber }

// Text returns the text, and whether the value is one.
func (v Value) Text() (string, bool) { return v.text, !v.isNumber }

// String returns the value as the filter language spells it.
func (v Value) String() string {
	if v.isNumber {
		return strconv.FormatFloat(v.number, 'g', -1, 64)
	}
	return quoteWith(v.text, `"`)
}

// MarshalJSON writes a number or a string.
func (v Value) MarshalJSON() ([]byte, error) {
	if v.isNumber {
		return json.Marshal(v.number)
	}
	return json.Marshal(v.text)
}

// UnmarshalJSON reads a number, a string or a boolean, which becomes the text true or false.
func (v *Value) UnmarshalJSON(b []byte) error {
	*v = Value{}
	switch text := string(b); {
	case text == "true", text == "false":
		v.text = text
		return nil
	case text == "null":
		return errors.New("an attribute is null: leave it out instead")
	case text != "" && text[0] == '"':
		return json.Unmarshal(b, &v.text)
	case text != "" && (text[0] == '[' || text[0] == '{'):
		return errors.New("an attribute is a number, a text, true or false, and never a list or an object")
	}
	v.isNumber = true
	if err := json.Unmarshal(b, &v.number); err != nil {
		return fmt.Errorf("%.40s is too large", b)
	}
	if !IsExact(string(b), v.number) {
		return fmt.Errorf("%.40s %w", b, ErrInexact)
	}
	return nil
}

// ErrInexact is what is wrong with a number that is not exact.
var ErrInexact = errors.New("would be rounded, as whole numbers beyond 2^53 are: give it as a text")

// IsExact reports whether x is the whole number that the text spells, or the text is how x is usually written, with the
// fewest digits and zeros after them; other numbers are rounded to 15 digits or more.
func IsExact(text string, x float64) bool {
	text = strings.TrimPrefix(text, "+")
	return math.Abs(x) < 1<<53 || strings.ContainsAny(text, ".eE") ||
		text == strconv.FormatFloat(x, 'f', 0, 64) || text == strconv.FormatFloat(x, 'f', -1, 64)
}

// Item is one thing that can be found.
type Item struct {
	ID         ID               `json:"id"`
	Code       []uint64         `json:"-"`
	Label      string           `json:"label,omitempty"` // empty means none
	Tags       []string         `json:"tags,omitempty"`
	Attributes map[string]Value `json:"attributes,omitempty"`

	Clear Clear `json:"-"` // what an update removes from the existing item
}

// Clear lists what an update removes from an item.
type Clear uint8

// Values of Clear, which can be combined.
const (
	ClearLabel Clear = 1 << iota
	ClearTags
)

// Completed returns the item with missing parts taken from an older one: the code, the label, the tags and, unless
// replace is set, attributes that the item has no value for.
func (it Item) Completed(old Item, replace bool) Item {
	if len(it.Code) == 0 {
		it.Code = old.Code
	}
	if it.Clear&ClearLabel == 0 {
		it.Label = cmp.Or(it.Label, old.Label)
	}
	if len(it.Tags) == 0 && it.Clear&ClearTags == 0 {
		it.Tags = old.Tags
	}
	switch {
	case replace || len(old.Attributes) == 0:
	case len(it.Attributes) == 0:
		it.Attributes = old.Attributes
	default:
		all := maps.Clone(old.Attributes)
		maps.Copy(all, it.Attributes)
		it.Attributes = all
	}
	return it
}

// Batch holds items by columns, to add many of them quickly. Labels, Tags and Attributes are nil or as long as IDs; an
// empty label and nil tags or attributes mean none.
type Batch struct {
	IDs        []ID
	Codes      hamming.Codes
	Labels     []string
	Tags       [][]string
	Attributes []map[string]Value
	Clear      []Clear // for updates; nil means nothing

	// Fingerprint identifies the model that made the codes; zeros mean unknown.
	Fingerprint hamming.Fingerprint
}

// Reserve allocates space for more items of an expected total. The total may be what a file claims, so it allocates at
// most four times the items that are there.
func (b *Batch) Reserve(more, total int) {
	room := roomFor(len(b.IDs)+more, cap(b.IDs), total)
	b.IDs, b.Codes.Data = regrown(b.IDs, room), regrown(b.Codes.Data, room*b.Codes.Words)
}

// roomFor returns the capacity for needed items, given the current capacity and the claimed total.
func roomFor(needed, room, claimed int) int {
	switch {
	case needed <= room:
		return room
	case claimed < needed: // the claim is too low
		return 2 * needed
	}
	return min(claimed, max(4*needed, 1<<16))
}

// regrown returns the list with capacity for n entries.
func regrown[T any](list []T, n int) []T {
	if cap(list) >= n {
		return list
	}
	return append(make([]T, 0, n), list...)
}

// Details returns the batch without its codes.
func (b *Batch) Details() *Batch {
	return &Batch{IDs: b.IDs, Labels: b.Labels, Tags: b.Tags, Attributes: b.Attributes, Clear: b.Clear}
}

// NewBatch returns an empty batch for codes of the given length.
func NewBatch(bits int) *Batch { return &Batch{Codes: hamming.NewCodes(0, bits)} }

// Append adds an item, copying its code.
func (b *Batch) Append(it Item) {
	if len(it.Code) != b.Codes.Words {
		panic("index: a code of another length than the batch has")
	}
	n := len(b.IDs)
	b.IDs = append(b.IDs, it.ID)
	b.Codes.Data = append(b.Codes.Data, it.Code...)
	if it.Label != "" || b.Labels != nil {
		b.Labels = append(padTo(b.Labels, n, cap(b.IDs)), it.Label)
	}
	if it.Tags != nil || b.Tags != nil {
		b.Tags = append(padTo(b.Tags, n, cap(b.IDs)), it.Tags)
	}
	if it.Attributes != nil || b.Attributes != nil {
		b.Attributes = append(padTo(b.Attributes, n, cap(b.IDs)), it.Attributes)
	}
}

// Item returns item i without copying it.
func (b *Batch) Item(i int) Item {
	it := Item{ID: b.IDs[i], Code: b.Codes.Row(i)}
	if len(b.Labels) > 0 {
		it.Label = b.Labels[i]
	}
	if len(b.Tags) > 0 {
		it.Tags = b.Tags[i]
	}
	if len(b.Attributes) > 0 {
		it.Attributes = b.Attributes[i]
	}
	if len(b.Clear) > 0 {
		it.Clear = b.Clear[i]
	}
	return it
}

// Order returns the rows in ascending order of ids. If an id occurs twice, the last row counts if replace is set;
// otherwise it is an error.
func (b *Batch) Order(replace bool) ([]int, error) {
	rows := make([]int, len(b.IDs))
	for i := range rows {
		rows[i] = i
	}
	if !slices.IsSortedFunc(b.IDs, ID.Compare) {
		slices.SortStableFunc(rows, func(i, j int) int { return b.IDs[i].Compare(b.IDs[j]) })
	}
	kept := rows[:0]
	for i, r := range rows {
		if i == 0 || b.IDs[r] != b.IDs[rows[i-1]] {
			kept = append(kept, r)
			continue
		}
		if !replace {
			return nil, message.New("duplicate-id", "item %d: the id %q is in the batch twice", r, b.IDs[r].Short())
		}
		kept[len(kept)-1] = r
	}
	return kept, nil
}

// padTo extends a column with zero values to at least n items, with the given capacity.
func padTo[T any](s []T, n, room int) []T {
	if s == nil || len(s) < n {
		s = append(slices.Grow(s, max(room, n)-len(s)), make([]T, n-len(s))...)
	}
	return s
}

// Check returns an error for items that an index of codes of the given length cannot hold.
func (b *Batch) Check(bits int) error {
	if b.Codes.Bits != bits {
		return message.New("bits-mismatch", "codes of %d bits for an index of %d: encode with the model of the index",
			b.Codes.Bits, bits)
	}
	if b.Codes.Len() != len(b.IDs) {
		panic("index: columns of a batch differ in length")
	}
	if over := bits & 63; over != 0 {
		for i := range b.IDs {
			if b.Codes.Data[(i+1)*b.Codes.Words-1]<<over != 0 {
				return b.refusal(i, "stray-bits", "its code has bits beyond %d", bits)
			}
		}
	}
	return b.CheckDetails()
}

func (b *Batch) refusal(i int, code message.Code, format string, args ...any) error {
	return fmt.Errorf("item %d (id %q): %w", i, b.IDs[i].Short(), message.New(code, format, args...))
}

// CheckDetails returns an error for ids, labels, tags and attributes that no index can hold.
func (b *Batch) CheckDetails() error {
	n := len(b.IDs)
	if cmp.Or(len(b.Labels), n) != n || cmp.Or(len(b.Tags), n) != n || cmp.Or(len(b.Attributes), n) != n {
		panic("index: columns of a batch differ in length")
	}
	refusal := b.refusal
	for i, id := range b.IDs {
		if n := len(id.text); n > hamming.MaxID {
			return refusal(i, "long-id", "an id of %d bytes: at most %d are allowed", n, hamming.MaxID)
		}
	}
	for i, label := range b.Labels {
		if len(label) > MaxText {
			return refusal(i, "long-label", "a label of %d bytes: at most %d are allowed", len(label), MaxText)
		}
	}
	for i, tags := range b.Tags {
		if len(tags) > MaxTags {
			return refusal(i, "too-many-tags", "%d tags: at most %d are allowed", len(tags), MaxTags)
		}
		for _, tag := range tags {
			if tag == "" || len(tag) > MaxText {
				return refusal(i, "tag-length", "a tag of %d bytes, and 1 to %d are allowed", len(tag), MaxText)
			}
		}
	}
	for i, attributes := range b.Attributes {
		if err := checkAttributes(attributes); err != nil {
			return refusal(i, "bad-attribute", "%w", err)
		}
	}
	return nil
}

func checkAttributes(attributes map[string]Value) error {
	if len(attributes) > MaxAttributes {
		return fmt.Errorf("%d attributes: at most %d are allowed", len(attributes), MaxAttributes)
	}
	for name, v := range attributes {
		if slices.Contains(reserved, name) || name == "" || len(name) > MaxText {
			return message.New("reserved-name", "an attribute cannot be named %q", shortened(name))
		}
		if len(v.text) > MaxText {
			return fmt.Errorf("attribute %q has %d bytes: at most %d are allowed",
				shortened(name), len(v.text), MaxText)
		}
		if v.isNumber && (math.IsNaN(v.number) || math.IsInf(v.number, 0)) {
			return message.New("not-a-number", "attribute %q is %v: leave it out or give a finite number", shortened(name),
				v.number)
		}
	}
	return nil
}

// shortened shortens a text that a message quotes.
func shortened(s string) string {
	if len(s) > 60 {
		return s[:60] + "..."
	}
	return s
}
