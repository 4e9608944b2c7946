package index

import (
	"bytes"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"hashgrove/internal/message"
)

// Names that every item has and no attribute may use.
const (
	idName    = "id"
	LabelName = "label"
	TagName   = "tag"
)

var reserved = []string{idName, LabelName, TagName}

// Filter selects the items a search may return. It is a tree of comparisons, evaluated per segment as bitmaps, so
// answers are exact: a search returns k items whenever that many match. The zero Filter lets everything through.
//
// A comparison holds if it holds for one of the item's values: an item has several tags. Numbers compare by value,
// texts by their bytes, and dates (ISO 8601) as moments. Texts and numbers never compare, and no comparison holds for a
// name the item lacks; name != value means that the item has the name and none of its values is equal. If no item can
// match because of a name or a kind of value, the search returns a *FilterError. Parse reads filters, and String writes
// them so that Parse returns the same filter.
type Filter struct{ *Condition }

// Condition is a filter as a tree, which others can translate, for instance into SQL.
type Condition struct {
	Op     string       // and, or, not, has, in, between, starts with, =, !=, <, <=, > or >=
	Parts  []*Condition // two for and and or, one for not
	Name   string       // for the others: id, label, tag or an attribute
	Values []Value      // for the others except has
}

func joined(op string, parts ...*Condition) *Condition { return &Condition{Op: op, Parts: parts} }

// CheckDeletion returns an error if the filter has no condition: it is what a program sends that builds filters from
// parts and has none, and everything would be deleted.
func (f Filter) CheckDeletion() error {
	if f.Condition == nil {
		return message.New("empty-filter", "an empty filter would delete everything: to do so, use the filter \"has id\"")
	}
	return nil
}

// Depth returns how deep the filter is nested; a chain of parts joined by the same word counts once.
func (f Filter) Depth() int {
	if f.Condition == nil {
		return 0
	}
	return f.Condition.depth()
}

func (n *Condition) depth() int {
	deepest := 0
	for _, part := range n.Parts {
		d := part.depth()
		if part.Op == n.Op && n.Op != "not" {
			d--
		}
		deepest = max(deepest, d)
	}
	return deepest + 1
}

// IDs returns a filter for items by id. Unknown ids are ignored.
func IDs(ids ...ID) Filter {
	return memberOf(idName, ids, func(id ID) Value { return String(id.String()) })
}

// Label returns a filter for items with one of the labels.
func Label(labels ...string) Filter { return memberOf(LabelName, labels, String) }

// Tag returns a filter for items with at least one of the tags.
func Tag(tags ...string) Filter { return memberOf(TagName, tags, String) }

func memberOf[T any](name string, list []T, value func(T) Value) Filter {
	n := &Condition{Op: "in", Name: name}
	for _, x := range list {
		n.Values = append(n.Values, value(x))
	}
	return Filter{n}
}

// And returns a filter for items that pass all filters.
func And(filters ...Filter) Filter {
	var f Filter
	for _, g := range filters {
		switch {
		case f.Condition == nil:
			f = g
		case g.Condition != nil:
			f = Filter{joined("and", f.Condition, g.Condition)}
		}
	}
	return f
}

// String returns the filter as text; the zero Filter is empty.
func (f Filter) String() string {
	if f.Condition == nil {
		return ""
	}
	var b strings.Builder
	f.write(&b)
	return b.String()
}

// allowed returns the live items of the view that match the filter; nil means all of the segment.
func (f Filter) allowed(v view) *roaring.Bitmap {
	if f.Condition == nil {
		return v.live
	}
	set := f.match(v)
	if v.live != nil {
		set.And(v.live)
	}
	return set
}

// Names returns the names that the filter uses, besides the id, in order of appearance.
func (f Filter) Names() []string {
	var names []string
	if f.Condition != nil {
		f.names(func(name string) {
			if name != idName && !slices.Contains(names, name) {
				names = append(names, name)
			}
		})
	}
	return names
}

// names calls yield with every name that the filter uses.
func (n *Condition) names(yield func(name string)) {
	for _, part := range n.Parts {
		part.names(yield)
	}
	if n.Name != "" {
		yield(n.Name)
	}
}

// match returns the items of a view that match the filter, including deleted ones. The caller may modify the result.
func (n *Condition) match(v view) *roaring.Bitmap {
	set := roaring.New()
	switch n.Op {
	case "and":
		if set = n.Parts[0].match(v); !set.IsEmpty() {
			set.And(n.Parts[1].match(v))
		}
	case "or":
		set = n.Parts[0].match(v)
		set.Or(n.Parts[1].match(v))
	case "not":
		set = n.Parts[0].match(v)
		set.Flip(0, uint64(v.len()))
	case "!=":
		set = (&Condition{Op: "has", Name: n.Name}).match(v)
		set.AndNot((&Condition{Op: "=", Name: n.Name, Values: n.Values}).match(v))
	case "has":
		if n.Name == idName {
			set.AddRange(0, uint64(v.len()))
		} else if c := v.columns[n.Name]; c != nil {
			c.addAll(set)
		}
	case "between":
		if c := v.columns[n.Name]; c != nil {
			c.addBetween(set, n.Values[0], n.Values[1])
		} else if n.Name == idName {
			v.ids.addMatches(set, ">=", n.Values[0])
			upTo := roaring.New()
			v.ids.addMatches(upTo, "<=", n.Values[1])
			set.And(upTo)
		}
	case prefixOp:
		if c := v.columns[n.Name]; c != nil {
			c.addPrefixed(set, n.Values[0].text)
		} else if n.Name == idName {
			v.ids.addPrefixed(set, n.Values[0].text)
		}
	default:
		for _, value := range n.Values {
			if n.Name == idName {
				v.ids.addMatches(set, n.Op, value)
			} else if c := v.columns[n.Name]; c != nil {
				c.addMatches(set, n.Op, value)
			}
		}
	}
	return set
}

// addMatches adds the positions of ids that satisfy op. Ids and positions have the same order, so these are a range.
// Integers compare only with numbers, and texts only with texts.
func (t *idTable) addMatches(dst *roaring.Bitmap, op string, v Value) {
	begin, end := 0, t.integers // the ids that compare at all
	first, after := 0, 0        // among these, the equal ones
	switch {
	case v.isNumber:
		// No id equals it, because the parser makes texts of whole numbers; so rounding n never decides.
		first = sort.Search(t.integers, func(i int) bool { return float64(t.get(uint32(i)).number) > v.number })
		after = first
	case v.text == "":
		begin, end = t.integers, t.len()
	default:
		id := Text(v.text) // "17" is 17
		if id.text != "" {
			begin, end = t.integers, t.len()
		}
		pos, there := t.find(id)
		first, after = int(pos)-begin, int(pos)-begin
		if there {
			after++
		}
	}
	lo, hi := interval(op, first, after, end-begin)
	if hi == lo+1 { // a range is slower
		dst.AddInt(begin + lo)
		return
	}
	dst.AddRange(uint64(begin+lo), uint64(begin+hi))
}

// addPrefixed adds the positions of ids that start with a text; integers count as spelled.
func (t *idTable) addPrefixed(dst *roaring.Bitmap, prefix string) {
	var digits []byte
	for i := range t.integers {
		digits = strconv.AppendInt(digits[:0], t.get(uint32(i)).number, 10)
		if bytes.HasPrefix(digits, []byte(prefix)) {
			dst.AddInt(i)
		}
	}
	lo, hi := t.text.prefixed(prefix)
	dst.AddRange(uint64(t.integers+lo), uint64(t.integers+hi))
}
