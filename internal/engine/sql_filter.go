package engine

import (
	"fmt"
	"strconv"
	"strings"

	"hashgrove/api"
	"hashgrove/internal/index"
)

// PostgreSQL gets filters as SQL conditions on the columns id, id_number and label, and on tags and attributes. Every
// comparison is true or false, never null, so that NOT means the
// same as in our filters. Texts compare bytewise, integer ids by value.

// sqlDialect is what differs between databases.
type sqlDialect interface {
	// has is the condition that an item has tags, or an attribute.
	has(name string) string

	// anyTag is the condition that one tag passes all tests.
	anyTag(tests []sqlTest) (string, error)

	// attribute is the condition that an attribute is a text, or a number, and passes all tests.
	attribute(name string, isText bool, tests []sqlTest) (string, error)

	// bytes compares an expression with a text bytewise; op may be "starts with".
	bytes(expression, op, text string) (string, error)

	// date compares an expression with a date: as moments if it is also a date, else bytewise.
	date(expression, op string, v index.Value) (string, error)

	// number compares an expression with a number.
	number(expression, op string, x float64) string

	// ids is the condition that an item has one of the ids.
	ids(list []string) string
}

// idName is the name of the id in filters.
const idName = "id"

// sqlTest is a comparison with a value.
type sqlTest struct {
	op    string
	value index.Value
}

// sqlWriter writes filters in a dialect.
type sqlWriter struct{ sqlDialect }

// filter translates a filter into SQL.
func (w sqlWriter) filter(f index.Filter) (string, error) {
	c, ok := f.Condition()
	if !ok {
		return "true", nil
	}
	return w.condition(c)
}

func (w sqlWriter) condition(c index.Condition) (string, error) {
	parts, err := translated(c.Parts, w.condition)
	if err != nil {
		return "", err
	}
	switch c.Op {
	case "and", "or":
		return "(" + strings.Join(parts, " "+strings.ToUpper(c.Op)+" ") + ")", nil
	case "not":
		return "(NOT " + parts[0] + ")", nil
	case "has":
		return w.named(c.Name), nil
	case "!=":
		equal, err := w.comparison(c.Name, sqlTest{"=", c.Values[0]})
		return "(" + w.named(c.Name) + " AND NOT " + equal + ")", err
	case "between":
		return w.comparison(c.Name, sqlTest{">=", c.Values[0]}, sqlTest{"<=", c.Values[1]})
	case "in":
		if c.Name == idName {
			return w.ids(idTexts(c.Values)), nil
		}
		list, err := translated(c.Values, func(v index.Value) (string, error) {
			return w.comparison(c.Name, sqlTest{"=", v})
		})
		return "(" + strings.Join(append(list, "false"), " OR ") + ")", err
	}
	return w.comparison(c.Name, sqlTest{c.Op, c.Values[0]})
}

// idTexts returns the ids among the values.
func idTexts(values []index.Value) []string {
	list := []string{}
	for _, v := range values {
		text, isText := v.Text()
		if x, isNumber := v.Number(); isNumber {
			var n int64
			n, _, isText = integers("=", x)
			text = strconv.FormatInt(n, 10)
		}
		if isText {
			list = append(list, text)
		}
	}
	return list
}

// named is the condition that an item has a name.
func (w sqlWriter) named(name string) string {
	switch name {
	case idName:
		return "true"
	case index.LabelName:
		return "(label IS NOT NULL)"
	}
	return w.has(name)
}

// comparison is the condition that one value of an item passes all tests.
func (w sqlWriter) comparison(name string, tests ...sqlTest) (string, error) {
	if name == idName {
		list, err := translated(tests, w.id)
		return "(" + strings.Join(list, " AND ") + ")", err
	}
	texts := 0
	for _, t := range tests {
		_, isText := t.value.Text()
		if isText {
			texts++
		} else if t.op == "starts with" {
			return "false", nil
		}
	}
	switch {
	case texts > 0 && texts < len(tests): // nothing is a number and a text
		return "false", nil
	case (name == index.LabelName || name == index.TagName) && texts == 0: // numbers and texts never compare
		return "false", nil
	case name == index.TagName:
		return w.anyTag(tests)
	case name == index.LabelName:
		condition, err := w.all("label", tests)
		return "coalesce(" + condition + ", false)", err
	}
	return w.attribute(name, texts > 0, tests)
}

// all is the condition that an expression passes all tests.
func (w sqlWriter) all(expression string, tests []sqlTest) (string, error) {
	list, err := translated(tests, func(t sqlTest) (string, error) {
		text, isText := t.value.Text()
		switch {
		case !isText:
			x, _ := t.value.Number()
			return w.number(expression, t.op, x), nil
		case t.value.Kind() == index.DateKind && t.op != "starts with":
			return w.date(expression, t.op, t.value)
		}
		return w.bytes(expression, t.op, text)
	})
	return strings.Join(list, " AND "), err
}

// id compares ids: integers with integers, texts with texts.
func (w sqlWriter) id(t sqlTest) (string, error) {
	text, isText := t.value.Text()
	if isText && t.op == "starts with" {
		return w.bytes("id", t.op, text)
	}
	if isText {
		if n, isInteger := api.ID(text).Integer(); isInteger {
			return fmt.Sprintf("coalesce(id_number %s %d, false)", t.op, n), nil
		}
		condition, err := w.bytes("id", t.op, text)
		return "(id_number IS NULL AND " + condition + ")", err
	}
	x, _ := t.value.Number()
	low, high, some := integers(t.op, x)
	if !some {
		return "false", nil
	}
	return fmt.Sprintf("coalesce(id_number BETWEEN %d AND %d, false)", low, high), nil
}
