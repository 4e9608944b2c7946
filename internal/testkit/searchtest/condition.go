package searchtest

import (
	"cmp"
	"slices"
	"strings"

	"hashgrove/api"
	"hashgrove/internal/index"
)

// Matching returns the items that match a filter, by checking each of them. It returns ErrFilter if the filter names
// something that no item has, or compares it with values of another kind.
func Matching(items []index.Item, f index.Filter) ([]index.Item, error) {
	if f.Condition == nil {
		return items, nil
	}
	if refuses(items, f.Condition) {
		return nil, api.Errorf(api.ErrFilter, "no item can match %v", f)
	}
	var list []index.Item
	for _, it := range items {
		if holds(f.Condition, it) {
			list = append(list, it)
		}
	}
	return list, nil
}

// valuesOf returns the values of an item under a name other than id.
func valuesOf(it index.Item, name string) []index.Value {
	var list []index.Value
	switch name {
	case index.LabelName:
		if it.Label != "" {
			list = append(list, index.String(it.Label))
		}
	case index.TagName:
		for _, tag := range it.Tags {
			list = append(list, index.String(tag))
		}
	default:
		if v, there := it.Attributes[name]; there {
			list = append(list, v)
		}
	}
	return list
}

// holds reports whether an item matches a condition.
func holds(c *index.Condition, it index.Item) bool {
	switch c.Op {
	case "and":
		return holds(c.Parts[0], it) && holds(c.Parts[1], it)
	case "or":
		return holds(c.Parts[0], it) || holds(c.Parts[1], it)
	case "not":
		return !holds(c.Parts[0], it)
	}
	if c.Name == "id" {
		return holdsOf(c, func(v index.Value) (int, bool) { return compareID(it.ID, v) }, it.ID.String())
	}
	list := valuesOf(it, c.Name)
	if c.Op == "!=" {
		for _, have := range list {
			if order, comparable := compareValues(have, c.Values[0]); comparable && order == 0 {
				return false
			}
		}
		return len(list) > 0
	}
	for _, have := range list {
		text, isText := have.Text()
		if c.Op == "starts with" && !isText {
			continue
		}
		if holdsOf(c, func(v index.Value) (int, bool) { return compareValues(have, v) }, text) {
			return true
		}
	}
	return false
}

// holdsOf reports whether a condition holds for one value, given its comparison function and its spelling.
func holdsOf(c *index.Condition, compare func(index.Value) (int, bool), text string) bool {
	within := func(i, low, high int) bool {
		order, comparable := compare(c.Values[i])
		return comparable && order >= low && order <= high
	}
	switch c.Op {
	case "has":
		return true
	case "starts with":
		prefix, _ := c.Values[0].Text()
		return strings.HasPrefix(text, prefix)
	case "between":
		return within(0, 0, 1) && within(1, -1, 0)
	case "!=":
		return !within(0, 0, 0)
	case "<":
		return within(0, -1, -1)
	case "<=":
		return within(0, -1, 0)
	case ">":
		return within(0, 1, 1)
	case ">=":
		return within(0, 0, 1)
	}
	for i := range c.Values { // = and in
		if within(i, 0, 0) {
			return true
		}
	}
	return false
}

// compareValues compares numbers by value, dates as moments, and other texts by their bytes.
func compareValues(a, b index.Value) (int, bool) {
	x, isNumber := a.Number()
	y, areNumbers := b.Number()
	if isNumber || areNumbers {
		return cmp.Compare(x, y), isNumber && areNumbers
	}
	s, isDate := a.Moment()
	t, areDates := b.Moment()
	if isDate && areDates {
		return s.Compare(t), true
	}
	v, _ := a.Text()
	w, _ := b.Text()
	return cmp.Compare(v, w), true
}

// compareID compares integers with integers and texts with texts.
func compareID(id index.ID, v index.Value) (int, bool) {
	n, isInteger := id.Integer()
	if x, ok := v.Number(); ok {
		return cmp.Compare(float64(n), x), isInteger
	}
	text, _ := v.Text()
	other, err := index.ParseID(text)
	_, both := other.Integer()
	return id.Compare(other), err == nil && isInteger == both
}

// refuses reports whether a filter cannot mean what it says: no item has one of its names, or a comparable kind of
// value. Without items, nothing is refused.
func refuses(items []index.Item, c *index.Condition) bool {
	if len(items) == 0 {
		return false
	}
	for _, part := range c.Parts {
		if refuses(items, part) {
			return true
		}
	}
	switch {
	case len(c.Parts) > 0:
		return false
	case c.Name == "id":
		return refusesOrder(items, c)
	}
	kinds := index.Kind(0)
	for _, it := range items {
		for _, v := range valuesOf(it, c.Name) {
			kinds |= v.Kind()
		}
	}
	if kinds == 0 || c.Name == index.LabelName || c.Name == index.TagName {
		return kinds == 0
	}
	for _, v := range c.Values {
		if !fits(c.Op, kinds, v) {
			return true
		}
	}
	return false
}

// fits reports whether a value can be compared with values of some kinds.
func fits(op string, kinds index.Kind, v index.Value) bool {
	texts := kinds &^ index.NumberKind
	_, isNumber := v.Number()
	switch {
	case op == "starts with":
		return texts != 0
	case isNumber:
		return kinds&index.NumberKind != 0
	case kinds == index.DateKind:
		text, _ := v.Text() // years and months sort before their days
		return v.Kind() == kinds || index.String(text+"-01-01").Kind() == kinds || index.String(text+"-01").Kind() == kinds
	case kinds == index.BooleanKind:
		return v.Kind() == kinds
	}
	return texts != 0
}

// refusesOrder reports whether a condition orders ids of one kind by a value of the other.
func refusesOrder(items []index.Item, c *index.Condition) bool {
	if !slices.Contains([]string{"<", "<=", ">", ">=", "between"}, c.Op) {
		return false
	}
	integers := 0
	for _, it := range items {
		if _, ok := it.ID.Integer(); ok {
			integers++
		}
	}
	for _, v := range c.Values {
		_, asInteger := v.Number()
		if text, ok := v.Text(); ok {
			id, err := index.ParseID(text)
			_, isInteger := id.Integer()
			asInteger = err == nil && isInteger
		}
		if asInteger && integers == 0 || !asInteger && integers == len(items) {
			return true
		}
	}
	return false
}
