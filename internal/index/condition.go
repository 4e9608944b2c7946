package index

import "time"

// Condition is part of a filter in a form that others can translate, for instance into SQL.
type Condition struct {
	Op     string      // and, or, not, has, in, between, starts with, =, !=, <, <=, > or >=
	Parts  []Condition // for and, or and not
	Name   string      // for the others: id, label, tag or an attribute
	Values []Value     // for the others except has
}

// Condition returns the filter's outermost condition, or false if the filter lets everything through.
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

// Kind returns the kind of the value. Filters compare two values of DateKind as moments instead of by their bytes.
func (v Value) Kind() Kind { return kindOf(v) }

// Moment returns the point in time that a date names, and whether the value is a date. Dates without a zone are in UTC;
// digits beyond nanoseconds are dropped.
func (v Value) Moment() (time.Time, bool) {
	if v.isNumber {
		return time.Time{}, false
	}
	m := parseDate(v.text)
	return time.Unix(m.seconds, int64(m.nanos)).UTC(), m != noMoment
}
