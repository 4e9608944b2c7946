package index

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"hashgrove/internal/message"
)

// Kind is the kind of an attribute's values, over all items that have it.
type Kind uint8

// The kinds of values. An attribute with values of several kinds has all their bits set.
const (
	NumberKind  Kind = 1 << iota
	TextKind         // any other text
	DateKind         // an ISO 8601 text, such as 2024-01-31 or 2024-01-31T09:30:00Z
	BooleanKind      // the text true or false
)

const textKinds = TextKind | DateKind | BooleanKind

// String returns the name of the kind.
func (k Kind) String() string {
	texts := "text"
	switch k & textKinds {
	case 0:
		return "number"
	case DateKind:
		texts = "date"
	case BooleanKind:
		texts = "true or false"
	}
	if k&NumberKind != 0 {
		return "number or " + texts
	}
	return texts
}

// MarshalText returns the name of the kind.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// kindOfText returns the kind of a text.
func kindOfText[T string | []byte](s T) Kind {
	switch {
	case string(s) == "true" || string(s) == "false":
		return BooleanKind
	case parseDate(s) != noMoment:
		return DateKind
	}
	return TextKind
}

// Kind returns the kind of the value. Filters compare two values of DateKind as moments instead of by their bytes.
func (v Value) Kind() Kind {
	if v.isNumber {
		return NumberKind
	}
	return kindOfText(v.text)
}

// Attribute is the name of an attribute and the kind of its values.
type Attribute struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
}

func (a Attribute) String() string { return fmt.Sprintf("%s (%v)", field(a.Name), a.Kind) }

// Attributes returns the attributes of all items by name. A snapshot made by Collect for a filter without attributes
// has none.
func (s *Snapshot) Attributes() []Attribute {
	kinds := map[string]Kind{}
	for _, v := range s.views {
		for name := range v.columns {
			if k := v.kind(name); k != 0 && !slices.Contains(reserved, name) {
				kinds[name] |= k
			}
		}
	}
	var list []Attribute
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		list = append(list, Attribute{name, kinds[name]})
	}
	return list
}

// kind returns the kind of the values that live items have under a name, or 0 if none has it. Deleted items can only
// take kinds away, so the search ends when all kinds of the column were found, in most columns at once.
func (v view) kind(name string) Kind {
	c := v.columns[name]
	if c == nil || v.live == nil {
		if c == nil {
			return 0
		}
		return c.kind
	}
	met := Kind(0)
	for _, pos := range c.order {
		if v.live.Contains(pos) {
			met = NumberKind
			break
		}
	}
	for i := 0; i < c.texts.len() && met != c.kind; i++ {
		if k := kindOfText(c.texts.bytesOf(i)); met&k == 0 && c.having.count(uint32(i), v.live) > 0 {
			met |= k
		}
	}
	return met
}

// FilterError reports a filter on an attribute, a label or a tag that no item has, or one that compares values that
// never compare: it would let through nothing, or everything. An index without items accepts every filter.
type FilterError struct {
	Name  string      // used by the filter
	Known []Attribute // the existing ones

	reason error // set if items have the name
}

// Unwrap returns the reason why values cannot be compared, or nil if no item has the name.
func (e *FilterError) Unwrap() error { return e.reason }

func (e *FilterError) Error() string {
	const most = 30
	what, names := "an attribute "+field(shortened(e.Name)), []string(nil)
	if slices.Contains(reserved, e.Name) {
		what = "a " + e.Name
	} else if e.reason == nil {
		names = []string{"id", "label (the class)", "tag"}
	}
	for _, a := range e.Known[:min(len(e.Known), most)] {
		names = append(names, a.String())
	}
	list := "there are " + strings.Join(names, ", ")
	if len(names) == 1 {
		list = "there is " + names[0]
	}
	if more := len(e.Known) - most; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	switch {
	case e.Name == idName:
		return e.reason.Error()
	case len(names) == 0:
		return fmt.Sprintf("no item has %s, nor an attribute", what)
	case e.reason == nil:
		return fmt.Sprintf("no item has %s; %s", what, list)
	}
	return fmt.Sprintf("%v; %s", e.reason, list)
}

// CheckFilter returns a *FilterError if the filter cannot mean what it says. Searches call it too.
func (s *Snapshot) CheckFilter(f Filter) error {
	if f.Condition == nil || s.size == 0 {
		return nil
	}
	return s.checkNode(f.Condition)
}

func (s *Snapshot) checkNode(n *Condition) error {
	for _, part := range n.Parts {
		if err := s.checkNode(part); err != nil {
			return err
		}
	}
	switch n.Name {
	case "":
		return nil
	case idName:
		return s.checkID(n)
	}
	kind := Kind(0)
	for _, v := range s.views {
		kind |= v.kind(n.Name)
	}
	if kind == 0 {
		return &FilterError{Name: n.Name, Known: s.Attributes()}
	}
	if n.Name == LabelName || n.Name == TagName {
		return nil // any text is fine
	}
	for _, v := range n.Values {
		if reason := mismatch(n, kind, v); reason != nil {
			return &FilterError{Name: n.Name, Known: s.Attributes(), reason: reason}
		}
	}
	return nil
}

// mismatch explains why a value cannot be compared with an attribute of a kind, or returns nil.
func mismatch(n *Condition, kind Kind, v Value) error {
	texts := kind & textKinds
	var code message.Code
	var hint string
	switch {
	case n.Op == prefixOp && texts == 0:
		code, hint = "prefix-of-number", "only texts start with a text"
	case n.Op == prefixOp, kind&NumberKind != 0 && (v.isNumber || texts != 0), texts&TextKind != 0 && !v.isNumber:
		return nil
	case texts == 0:
		code, hint = "text-for-number", "numbers have no quotes"
	case texts == DateKind && v.Kind() != DateKind && !isPartOfDate(v.text):
		code, hint = "not-a-date", `write a date such as "2024-01-31"`
	case texts == BooleanKind && v.Kind() != BooleanKind:
		code, hint = "not-a-boolean", "write true or false"
	case v.isNumber:
		code, hint = "number-for-text", "texts are in quotes"
	default:
		return nil // dates and booleans
	}
	what := "text"
	if v.isNumber {
		what = "number"
	}
	return message.New(code, "%s has values of kind %q, but %v is a %s: %s",
		field(shortened(n.Name)), kind.String(), v, what, hint)
}

// checkID rejects order comparisons between integers and texts, which never compare, if all ids are of one kind.
func (s *Snapshot) checkID(n *Condition) error {
	if n.Op == "=" || n.Op == "!=" || n.Op == "in" || n.Op == "has" || n.Op == prefixOp {
		return nil // any id is fine
	}
	integers, first := 0, ID{}
	for _, v := range s.views {
		n, least := v.ids.integers, uint32(0)
		if v.live != nil {
			if least = v.live.Minimum(); n > 0 {
				n = int(v.live.Rank(uint32(n - 1)))
			}
		}
		integers += n
		first = v.ids.get(least)
	}
	texts := s.size - integers
	for _, v := range n.Values {
		isInteger := v.isNumber || v.text != "" && Text(v.text).text == ""
		switch {
		case isInteger && integers == 0:
			return &FilterError{Name: idName, reason: message.New("number-for-text", "the ids of the items are texts, such as "+
				"%q, and have no order with the number %s: compare them with a text", first.String(),
				strings.Trim(v.String(), `"`))}
		case !isInteger && texts == 0:
			return &FilterError{Name: idName, reason: message.New("text-for-number",
				"the ids of the items are integers, such as "+
					"%v, and have no order with the text %v", first, v)}
		}
	}
	return nil
}
