package index

import "time"

// Condition is a part of a filter as others see it who translate it, for instance into SQL.
type Condition struct {
	Op     string      // and, or, not, has, in, between, starts with, =, !=, <, <=, > or >=
	Parts  []Condition // of and, or and not
	Name   string      // of the others: id, label, tag or an attribute
	Values []Value     // of the others but has
}

// Condition returns the filter's outermost condition; false means that the filter lets everything through.
func (f Filter) Condition() (Condition, bool) {
	if f.node == nil {
		return Condition{}, false
	}
	return f.node.condition(), true
}

func (n *node) condition() Condition {
	c := Condition{Op: n.op, Name: n.name, Values: n.values}
	for _, part := range []*node{n.a, n.b} {
		if part != nil {
			c.Parts = append(c.Parts, part.condition())
		}
	}
	return c
}

// Kind tells what the value is. Filters compare two values of DateKind as moments, and not by their bytes.
func (v Value) Kind() Kind { return kindOf(v) }

// Moment returns the point in time that a date names, and whether the value is a date. One without a zone is in UTC,
// and digits beyond nanoseconds are left out.
func (v Value) Moment() (time.Time, bool) {
	if v.isNumber {
		return time.Time{}, false
	}
	m := parseDate(v.text)
	return time.Unix(m.seconds, int64(m.nanos)).UTC(), m != noMoment
}
