package engine

import (
	"fmt"
	"strconv"

	"hashgrove/internal/fault"
	"hashgrove/internal/index"
)

// pgFilter writes conditions for PostgreSQL. Names and texts are parameters, not part of the statement. Texts
// compare bytewise (COLLATE "C"), dates as moments (postgres_date.go), numbers as numeric, which represents every
// float64 in the same order.
type pgFilter struct{ args []any }

// condition translates a filter into SQL.
func (s *pgFilter) condition(f index.Filter) (string, error) { return sqlWriter{s}.filter(f) }

// add adds a typed parameter and returns its placeholder.
func (s *pgFilter) add(v any, kind string) string {
	s.args = append(s.args, v)
	return fmt.Sprintf("$%d::%s", len(s.args), kind)
}

// storable reports whether PostgreSQL can store a text; no item has one that it cannot.
func storable(text string) bool { return checkText("text", text) == nil }

// errUnstorable rejects a comparison with a text that cannot be sent to PostgreSQL.
var errUnstorable = fault.New("unstorable",
	"%w: PostgreSQL compares no text with a zero byte or one that is not UTF-8", ErrFilter)

func (s *pgFilter) has(name string) string {
	switch {
	case name == index.TagName:
		return "(cardinality(tags) > 0)"
	case !storable(name):
		return "false"
	}
	return "(attributes ? " + s.add(name, "text") + ")"
}

func (s *pgFilter) anyTag(tests []sqlTest) (string, error) {
	text, _ := tests[0].value.Text()
	if tests[0].op == "=" && tests[0].value.Kind() != index.DateKind && storable(text) { // the index on tags serves this
		return "(tags && ARRAY[" + s.add(text, "text") + "])", nil
	}
	condition, err := sqlWriter{s}.all("tag", tests)
	return "EXISTS (SELECT 1 FROM unnest(tags) AS tag WHERE " + condition + ")", err
}

func (s *pgFilter) attribute(name string, isText bool, tests []sqlTest) (string, error) {
	if !storable(name) {
		return "false", nil
	}
	key := s.add(name, "text")
	kind, value := "string", "(attributes->>"+key+")"
	if !isText {
		kind, value = "number", value+"::numeric"
	}
	condition, err := sqlWriter{s}.all(value, tests)
	return fmt.Sprintf("(CASE WHEN jsonb_typeof(attributes->%s) = '%s' THEN %s ELSE false END)", key, kind, condition), err
}

func (s *pgFilter) bytes(expression, op, text string) (string, error) {
	switch {
	case !storable(text):
		return "", errUnstorable
	case op == "starts with":
		return fmt.Sprintf("starts_with(%s, %s)", expression, s.add(text, "text")), nil
	}
	return fmt.Sprintf(`%s COLLATE "C" %s %s`, expression, op, s.add(text, "text")), nil
}

func (s *pgFilter) date(expression, op string, v index.Value) (string, error) {
	text, _ := v.Text()
	at, _ := v.Moment()
	return compareDate(expression, op, at, s.add(text, "text")), nil
}

// number passes digits, which numeric parses exactly.
func (s *pgFilter) number(expression, op string, x float64) string {
	return fmt.Sprintf("%s %s %s", expression, op, s.add(strconv.FormatFloat(x, 'g', -1, 64), "text::numeric"))
}

func (s *pgFilter) ids(list []string) string {
	texts := []string{}
	for _, text := range list {
		if storable(text) {
			texts = append(texts, text)
		}
	}
	return "(id = ANY (" + s.add(texts, "text[]") + "))"
}
