package searchtest

import (
	"cmp"
	"context"
	"strings"

	"hashgrove/api"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// Matching returns the items that match a filter, by checking each of them. Filters that cannot mean what they say are
// refused as an index refuses them.
func Matching(items []index.Item, f index.Filter) ([]index.Item, error) {
	if f.Condition == nil {
		return items, nil
	}
	b := &index.Batch{Codes: hamming.NewCodes(len(items), 8)}
	for _, it := range items {
		b.IDs, b.Labels = append(b.IDs, it.ID), append(b.Labels, it.Label)
		b.Tags, b.Attributes = append(b.Tags, it.Tags), append(b.Attributes, it.Attributes)
	}
	x := index.New(8, hamming.Fingerprint{}, index.Config{})
	if err := cmp.Or(x.Add(context.Background(), b), x.Snapshot().CheckFilter(f)); err != nil {
		return nil, api.Errorf(api.ErrFilter, "%v", err)
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
