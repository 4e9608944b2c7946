package index

import (
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
)

// The names that every item has, and no attribute may take.
const (
	idName    = "id"
	labelName = "label"
	tagName   = "tag"
)

var reserved = []string{idName, labelName, tagName}

// Filter tells which items a search may return. It is a tree of comparisons, evaluated per segment as bitmaps, so that
// an answer is exact: a search returns k items whenever as many match. The zero Filter lets everything through.
//
// A comparison holds when one of the item's values does: a tag is one of several. Texts and numbers never compare, and
// nothing compares with what an item does not have; name != value means that the item has the name and no value of it
// is equal. Parse reads filters, and String writes them so that Parse gives the same filter back.
type Filter struct{ node }

// node is a filter, evaluated on a view.
type node interface {
	// match returns the items of a view, deleted ones among them, that match the filter. The caller may change
	// it.
	match(v view) *roaring.Bitmap
	// names calls yield with every name that the filter looks at.
	names(yield func(name string))
	// write appends the filter as the language has it.
	write(b *strings.Builder)
}

// IDs is the filter for some items by id. Ids that are not there are ignored.
func IDs(ids ...ID) Filter {
	ids = slices.Clone(ids)
	slices.SortFunc(ids, ID.Compare)
	return Filter{idSet(slices.Compact(ids))}
}

// Label is the filter for items with one of the labels.
func Label(labels ...string) Filter { return Filter{memberOf(labelName, labels)} }

// Tag is the filter for items with at least one of the tags.
func Tag(tags ...string) Filter { return Filter{memberOf(tagName, tags)} }

func memberOf(name string, texts []string) node {
	m := member{name: name}
	for _, s := range texts {
		m.values = append(m.values, String(s))
	}
	return m
}

// And is the filter for what all filters let through.
func And(filters ...Filter) Filter {
	var f Filter
	for _, g := range filters {
		switch {
		case f.node == nil:
			f = g
		case g.node != nil:
			f = Filter{both{f.node, g.node}}
		}
	}
	return f
}

// String writes the filter; the zero Filter is empty.
func (f Filter) String() string {
	if f.node == nil {
		return ""
	}
	var b strings.Builder
	f.write(&b)
	return b.String()
}

// allowed returns the items of the view that are left and match the filter; nil means all of the segment.
func (f Filter) allowed(v view) *roaring.Bitmap {
	if f.node == nil {
		return v.live
	}
	set := f.match(v)
	if v.live != nil {
		set.And(v.live)
	}
	return set
}

// columns are the names that the filter looks at besides the id, each once.
func (f Filter) columns() []string {
	var names []string
	if f.node != nil {
		f.names(func(name string) {
			if name != idName && !slices.Contains(names, name) {
				names = append(names, name)
			}
		})
	}
	return names
}

func (n both) names(yield func(string))     { n.a.names(yield); n.b.names(yield) }
func (n either) names(yield func(string))   { n.a.names(yield); n.b.names(yield) }
func (n not) names(yield func(string))      { n.a.names(yield) }
func (n compares) names(yield func(string)) { yield(n.name) }
func (n differs) names(yield func(string))  { yield(n.name) }
func (n has) names(yield func(string))      { yield(n.name) }
func (n member) names(yield func(string))   { yield(n.name) }
func (n idSet) names(func(string))          {}

type both struct{ a, b node }

func (n both) match(v view) *roaring.Bitmap {
	set := n.a.match(v)
	if !set.IsEmpty() {
		set.And(n.b.match(v))
	}
	return set
}

type either struct{ a, b node }

func (n either) match(v view) *roaring.Bitmap {
	set := n.a.match(v)
	set.Or(n.b.match(v))
	return set
}

type not struct{ a node }

func (n not) match(v view) *roaring.Bitmap {
	set := n.a.match(v)
	set.Flip(0, uint64(v.len()))
	return set
}

// compares is name op value; notEqual is written as a not with has.
type compares struct {
	name  string
	op    comparison
	value Value
}

func (n compares) match(v view) *roaring.Bitmap {
	set := roaring.New()
	if n.name == idName {
		v.ids.addMatches(set, n.op, n.value)
	} else if c := v.columns[n.name]; c != nil {
		c.addMatches(set, n.op, n.value)
	}
	return set
}

// differs is name != value.
type differs struct {
	name  string
	value Value
}

func (n differs) match(v view) *roaring.Bitmap {
	set := has{n.name}.match(v)
	set.AndNot(compares{n.name, equal, n.value}.match(v))
	return set
}

// has is the items with any value under the name.
type has struct{ name string }

func (n has) match(v view) *roaring.Bitmap {
	set := roaring.New()
	if n.name == idName {
		set.AddRange(0, uint64(v.len()))
	} else if c := v.columns[n.name]; c != nil {
		c.addAll(set)
	}
	return set
}

// member is name in (values).
type member struct {
	name   string
	values []Value
}

func (n member) match(v view) *roaring.Bitmap {
	set := roaring.New()
	for _, value := range n.values {
		set.Or(compares{n.name, equal, value}.match(v))
	}
	return set
}

// idSet is id in (ids), ascending.
type idSet []ID

func (n idSet) match(v view) *roaring.Bitmap {
	var at []uint32
	for _, id := range n {
		if pos, ok := v.ids.find(id); ok {
			at = append(at, pos)
		}
	}
	return roaring.BitmapOf(at...)
}

// addMatches adds the positions of ids that compare as asked. The order of ids is that of positions, so they are a
// range; only integers compare with numbers, and only texts with texts.
func (t *idTable) addMatches(dst *roaring.Bitmap, op comparison, v Value) {
	if v.isNumber {
		first := t.searchNumber(v.number, false)
		lo, hi := op.interval(first, t.searchNumber(v.number, true), t.integers)
		dst.AddRange(uint64(lo), uint64(hi))
		return
	}
	if v.text == "" {
		if op == greater || op == atLeast {
			dst.AddRange(uint64(t.integers), uint64(t.len()))
		}
		return
	}
	id := Text(v.text)
	if n, ok := id.Integer(); ok { // "17" is 17
		pos, there := t.find(Int(n))
		after := int(pos)
		if there {
			after++
		}
		lo, hi := op.interval(int(pos), after, t.integers)
		dst.AddRange(uint64(lo), uint64(hi))
		return
	}
	lo, hi := op.interval(t.text.search(v.text, false), t.text.search(v.text, true), t.text.len())
	dst.AddRange(uint64(t.integers+lo), uint64(t.integers+hi))
}

// searchNumber returns the first integer that is at least x, or over it.
func (t *idTable) searchNumber(x float64, over bool) int {
	lo, hi := 0, t.integers
	for lo < hi {
		middle := int(uint(lo+hi) >> 1)
		if c := compareInteger(t.get(uint32(middle)).number, x); c > 0 || !over && c == 0 {
			hi = middle
		} else {
			lo = middle + 1
		}
	}
	return lo
}

// compareInteger compares n with x exactly, also where a float64 cannot hold n.
func compareInteger(n int64, x float64) int {
	switch {
	case x >= 1<<63:
		return -1
	case x < -1<<63:
		return 1
	}
	whole := int64(x) // towards zero
	switch rest := x - float64(whole); {
	case n < whole:
		return -1
	case n > whole:
		return 1
	case rest > 0:
		return -1
	case rest < 0:
		return 1
	}
	return 0
}
