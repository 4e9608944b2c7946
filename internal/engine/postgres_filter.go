package engine

import (
	"fmt"
	"strconv"
	"strings"

	"hashgrove/internal/fault"
	"hashgrove/internal/index"
)

// sqlFilter translates a filter into a condition of PostgreSQL. Names and values are parameters, not part of the text.
// Every comparison is true or false, never null, so that not means what it means in our filters. Texts compare by their
// bytes (COLLATE "C"), dates as moments (postgres_date.go), numbers as numeric, which holds every float64 in the same
// order.
type sqlFilter struct{ args []any }

// condition is the filter in SQL.
func (s *sqlFilter) condition(f index.Filter) (string, error) {
	c, ok := f.Condition()
	if !ok {
		return "true", nil
	}
	return s.write(c)
}

// add makes a value a parameter of a type and returns how the text refers to it.
func (s *sqlFilter) add(v any, kind string) string {
	s.args = append(s.args, v)
	return fmt.Sprintf("$%d::%s", len(s.args), kind)
}

// addNumber is add for a number, which travels in digits.
func (s *sqlFilter) addNumber(x float64) string {
	return s.add(strconv.FormatFloat(x, 'g', -1, 64), "text::numeric")
}

func (s *sqlFilter) write(c index.Condition) (string, error) {
	parts, err := translated(c.Parts, s.write)
	if err != nil {
		return "", err
	}
	switch c.Op {
	case "and", "or":
		return "(" + strings.Join(parts, " "+strings.ToUpper(c.Op)+" ") + ")", nil
	case "not":
		return "(NOT " + parts[0] + ")", nil
	case "has":
		return s.has(c.Name), nil
	case "!=":
		equal, err := s.comparison(c.Name, "=", c.Values[0])
		return "(" + s.has(c.Name) + " AND NOT " + equal + ")", err
	case "between":
		if c.Name == "tag" { // one tag has to be on both sides
			return s.tagsBetween(c.Values[0], c.Values[1])
		}
		low, err := s.comparison(c.Name, ">=", c.Values[0])
		if err != nil {
			return "", err
		}
		high, err := s.comparison(c.Name, "<=", c.Values[1])
		return "(" + low + " AND " + high + ")", err
	case "in":
		return s.member(c)
	}
	return s.comparison(c.Name, c.Op, c.Values[0])
}

// member is name in (values).
func (s *sqlFilter) member(c index.Condition) (string, error) {
	if c.Name == "id" && len(c.Values) > 0 {
		texts := make([]string, 0, len(c.Values))
		for _, v := range c.Values {
			if text, ok := v.Text(); ok && storable(text) { // numbers that are ids come as texts
				texts = append(texts, text)
			}
		}
		return "(id = ANY (" + s.add(texts, "text[]") + "))", nil
	}
	list := []string{"false"}
	for _, v := range c.Values {
		text, err := s.comparison(c.Name, "=", v)
		if err != nil {
			return "", err
		}
		list = append(list, text)
	}
	return "(" + strings.Join(list, " OR ") + ")", nil
}

// has is the condition that an item has a name.
func (s *sqlFilter) has(name string) string {
	switch name {
	case "id":
		return "true"
	case "label":
		return "(label IS NOT NULL)"
	case "tag":
		return "(cardinality(tags) > 0)"
	}
	if !storable(name) {
		return "false"
	}
	return "(attributes ? " + s.add(name, "text") + ")"
}

// storable tells whether PostgreSQL can hold a text at all; what it cannot hold no item has.
func storable(text string) bool { return checkText(index.Item{Label: text}) == nil }

// errUnstorable refuses a comparison with a text that PostgreSQL cannot even be sent.
var errUnstorable = fault.New("unstorable",
	"%w: PostgreSQL compares no text with a zero byte or one that is not UTF-8", ErrFilter)

// comparison is name op value; starts with is one of the operators.
func (s *sqlFilter) comparison(name, op string, v index.Value) (string, error) {
	text, isText := v.Text()
	number, _ := v.Number()
	switch {
	case isText && !storable(text):
		return "", errUnstorable
	case name == "id":
		return s.compareID(op, v), nil
	case name == "label" && isText:
		return "coalesce(" + s.compareValue("label", op, v) + ", false)", nil
	case name == "tag" && isText && op == "=" && v.Kind() != index.DateKind:
		return "(tags && ARRAY[" + s.add(text, "text") + "])", nil
	case name == "tag" && isText:
		return "EXISTS (SELECT 1 FROM unnest(tags) AS tag WHERE " + s.compareValue("tag", op, v) + ")", nil
	case name == "label" || name == "tag" || !storable(name):
		return "false", nil // numbers and texts never compare
	}
	key := s.add(name, "text")
	if isText {
		return fmt.Sprintf("(CASE WHEN jsonb_typeof(attributes->%s) = 'string' THEN %s ELSE false END)",
			key, s.compareValue("(attributes->>"+key+")", op, v)), nil
	}
	if op == "starts with" {
		return "false", nil
	}
	return fmt.Sprintf("(CASE WHEN jsonb_typeof(attributes->%s) = 'number' THEN (attributes->>%s)::numeric %s %s "+
		"ELSE false END)", key, key, op, s.addNumber(number)), nil
}

// compareValue compares a text with the text of a value: as moments where both are dates, else by their bytes.
func (s *sqlFilter) compareValue(expression, op string, v index.Value) string {
	text, _ := v.Text()
	if at, isDate := v.Moment(); isDate && op != "starts with" {
		return compareDate(expression, op, at, s.add(text, "text"))
	}
	return s.compareText(expression, op, text)
}

// compareText compares a text with another by their bytes.
func (s *sqlFilter) compareText(expression, op, text string) string {
	if op == "starts with" {
		return fmt.Sprintf("starts_with(%s, %s)", expression, s.add(text, "text"))
	}
	return fmt.Sprintf(`%s COLLATE "C" %s %s`, expression, op, s.add(text, "text"))
}

// tagsBetween is the condition that a tag lies between two texts.
func (s *sqlFilter) tagsBetween(low, high index.Value) (string, error) {
	a, ok := low.Text()
	b, both := high.Text()
	switch {
	case !ok || !both:
		return "false", nil
	case !storable(a) || !storable(b):
		return "", errUnstorable
	}
	return fmt.Sprintf("EXISTS (SELECT 1 FROM unnest(tags) AS tag WHERE %s AND %s)",
		s.compareValue("tag", ">=", low), s.compareValue("tag", "<=", high)), nil
}

// compareID compares ids: integers with integers, texts with texts.
func (s *sqlFilter) compareID(op string, v index.Value) string {
	text, isText := v.Text()
	if op == "starts with" {
		return s.compareText("id", op, text)
	}
	if !isText {
		number, _ := v.Number()
		return "coalesce(id_number::numeric " + op + " " + s.addNumber(number) + ", false)"
	}
	if text != "" {
		if n, ok := index.Text(text).Integer(); ok {
			return "coalesce(id_number " + op + " " + s.add(n, "bigint") + ", false)"
		}
	}
	return "(id_number IS NULL AND " + s.compareText("id", op, text) + ")"
}
