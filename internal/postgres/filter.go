package postgres

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"hashgrove/api"
	"hashgrove/internal/index"
	"hashgrove/internal/message"
)

// filter translates filters into SQL conditions on the columns id, id_number, label, tags and attributes. Every
// comparison is true or false, never null, so that NOT means the same as in our filters. Names and texts are
// parameters, not part of the statement. Texts compare bytewise (COLLATE "C"), dates as moments (date.go), integer ids
// by value, numbers as numeric, which represents every float64 in the same order.
type filter struct{ args []any }

// idName is the name of the id in filters.
const idName = "id"

// maxDigits is how many decimal digits behind the first one a float64 can have.
const maxDigits = 766

// test is a comparison with a value.
type test struct {
	op    string
	value index.Value
}

// add adds a typed parameter and returns its placeholder.
func (w *filter) add(v any, kind string) string {
	w.args = append(w.args, v)
	return fmt.Sprintf("$%d::%s", len(w.args), kind)
}

// storable reports whether PostgreSQL can store a text; no item has one that it cannot.
func storable(text string) bool { return checkText("text", text) == nil }

// errUnstorable rejects a comparison with a text that cannot be sent to PostgreSQL.
var errUnstorable = message.New("unstorable",
	"%w: PostgreSQL compares no text with a zero byte or one that is not UTF-8", ErrFilter)

// sql translates a filter into SQL.
func (w *filter) sql(f index.Filter) (string, error) {
	if f.Condition == nil {
		return "true", nil
	}
	return w.condition(f.Condition)
}

func (w *filter) condition(c *index.Condition) (string, error) {
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
		equal, err := w.comparison(c.Name, test{"=", c.Values[0]})
		return "(" + w.named(c.Name) + " AND NOT " + equal + ")", err
	case "between":
		return w.comparison(c.Name, test{">=", c.Values[0]}, test{"<=", c.Values[1]})
	case "in":
		if c.Name == idName {
			return w.ids(idTexts(c.Values)), nil
		}
		list, err := translated(c.Values, func(v index.Value) (string, error) {
			return w.comparison(c.Name, test{"=", v})
		})
		return "(" + strings.Join(append(list, "false"), " OR ") + ")", err
	}
	return w.comparison(c.Name, test{c.Op, c.Values[0]})
}

// idTexts returns the ids among the values.
func idTexts(values []index.Value) []string {
	list := []string{}
	for _, v := range values {
		text, isText := v.Text()
		if x, isNumber := v.Number(); isNumber {
			isText = x == math.Trunc(x) && x >= -1<<63 && x < 1<<63
			text = strconv.FormatInt(int64(x), 10)
		}
		if isText {
			list = append(list, text)
		}
	}
	return list
}

// named is the condition that an item has a name.
func (w *filter) named(name string) string {
	switch name {
	case idName:
		return "true"
	case index.LabelName:
		return "(label IS NOT NULL)"
	}
	return w.has(name)
}

// comparison is the condition that one value of an item passes all tests.
func (w *filter) comparison(name string, tests ...test) (string, error) {
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
func (w *filter) all(expression string, tests []test) (string, error) {
	list, err := translated(tests, func(t test) (string, error) {
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
func (w *filter) id(t test) (string, error) {
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
	exact := strconv.FormatFloat(x, 'e', maxDigits, 64)
	return fmt.Sprintf("coalesce(id_number %s %s, false)", t.op, w.add(exact, "text::numeric")), nil
}

// has is the condition that an item has tags, or an attribute.
func (w *filter) has(name string) string {
	switch {
	case name == index.TagName:
		return "(cardinality(tags) > 0)"
	case !storable(name):
		return "false"
	}
	return "(attributes ? " + w.add(name, "text") + ")"
}

// anyTag is the condition that one tag passes all tests.
func (w *filter) anyTag(tests []test) (string, error) {
	text, _ := tests[0].value.Text()
	if tests[0].op == "=" && tests[0].value.Kind() != index.DateKind && storable(text) { // the index on tags serves this
		return "(tags && ARRAY[" + w.add(text, "text") + "])", nil
	}
	condition, err := w.all("tag", tests)
	return "EXISTS (SELECT 1 FROM unnest(tags) AS tag WHERE " + condition + ")", err
}

// attribute is the condition that an attribute is a text, or a number, and passes all tests.
func (w *filter) attribute(name string, isText bool, tests []test) (string, error) {
	if !storable(name) {
		return "false", nil
	}
	key := w.add(name, "text")
	kind, value := "string", "(attributes->>"+key+")"
	if !isText {
		kind, value = "number", value+"::numeric"
	}
	condition, err := w.all(value, tests)
	return fmt.Sprintf("(CASE WHEN jsonb_typeof(attributes->%s) = '%s' THEN %s ELSE false END)", key, kind, condition), err
}

// bytes compares an expression with a text bytewise; op may be "starts with".
func (w *filter) bytes(expression, op, text string) (string, error) {
	switch {
	case !storable(text):
		return "", errUnstorable
	case op == "starts with":
		return fmt.Sprintf("starts_with(%s, %s)", expression, w.add(text, "text")), nil
	}
	return fmt.Sprintf(`%s COLLATE "C" %s %s`, expression, op, w.add(text, "text")), nil
}

// date compares an expression with a date: as moments if it is also a date, else bytewise.
func (w *filter) date(expression, op string, v index.Value) (string, error) {
	text, _ := v.Text()
	at, _ := v.Moment()
	return compareDate(expression, op, at, w.add(text, "text")), nil
}

// number passes digits, which numeric parses exactly.
func (w *filter) number(expression, op string, x float64) string {
	return fmt.Sprintf("%s %s %s", expression, op, w.add(strconv.FormatFloat(x, 'g', -1, 64), "text::numeric"))
}

// ids is the condition that an item has one of the ids.
func (w *filter) ids(list []string) string {
	texts := []string{}
	for _, text := range list {
		if storable(text) {
			texts = append(texts, text)
		}
	}
	return "(id = ANY (" + w.add(texts, "text[]") + "))"
}

// translated translates a list of conditions or comparisons into SQL.
func translated[S, T any](list []S, write func(S) (T, error)) ([]T, error) {
	var done []T
	for _, c := range list {
		x, err := write(c)
		if err != nil {
			return nil, err
		}
		done = append(done, x)
	}
	return done, nil
}
