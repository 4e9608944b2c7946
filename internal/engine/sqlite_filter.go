package engine

import (
	"fmt"
	"math"
	"strings"

	"hashgrove/internal/index"
)

// sqliteFilter writes conditions for SQLite on the item i. Numbers compare by integers that sort the same, because
// SQLite may parse the digits of a number as a different one nearby.
//
// Dates compare as moments in our filters, but SQLite supports only some of our notations, so they are refused.
type sqliteFilter struct{ *sqlite }

func (s sqliteFilter) condition(f index.Filter) (string, error) { return sqlWriter{s}.filter(f) }

func (s sqliteFilter) ids(list []string) string {
	texts := make([]string, len(list))
	for i, text := range list {
		texts[i] = sqlText(text)
	}
	return "(id IN (" + strings.Join(texts, ", ") + "))"
}

func (s sqliteFilter) has(name string) string {
	if name == index.TagName {
		return s.tagged("true")
	}
	return s.attributed(name, "true")
}

func (s sqliteFilter) anyTag(tests []sqlTest) (string, error) {
	condition, err := sqlWriter{s}.all("t.tag", tests)
	return s.tagged(condition), err
}

func (s sqliteFilter) attribute(name string, isText bool, tests []sqlTest) (string, error) {
	value := "a.number_key"
	if isText {
		value = "a.text"
	}
	condition, err := sqlWriter{s}.all(value, tests)
	return s.attributed(name, condition), err
}

// tagged is the condition that one of the tags meets another condition.
func (s sqliteFilter) tagged(condition string) string {
	return fmt.Sprintf("EXISTS (SELECT 1 FROM %s AS t WHERE t.item = i.item AND %s)", s.name("_tags"), condition)
}

// attributed is the condition that an attribute exists and meets another condition.
func (s sqliteFilter) attributed(name, condition string) string {
	return fmt.Sprintf("EXISTS (SELECT 1 FROM %s AS a WHERE a.item = i.item AND a.name = %s AND %s)",
		s.name("_attributes"), sqlText(name), condition)
}

func (s sqliteFilter) bytes(expression, op, text string) (string, error) {
	if op == "starts with" {
		return fmt.Sprintf("substr(CAST(%s AS BLOB), 1, %d) = x'%x'", expression, len(text), text), nil
	}
	return fmt.Sprintf("%s %s CAST(x'%x' AS TEXT)", expression, op, text), nil
}

func (s sqliteFilter) date(_, op string, v index.Value) (string, error) {
	return "", refuseDate("SQLite", op, v)
}

func (s sqliteFilter) number(expression, op string, x float64) string {
	return fmt.Sprintf("%s %s %d", expression, op, numberKey(x))
}

// numberKey maps numbers to integers that sort the same.
func numberKey(x float64) int64 {
	b := int64(math.Float64bits(x))
	if b < 0 {
		return -(b & math.MaxInt64)
	}
	return b
}

// keyNumber is the inverse of numberKey.
func keyNumber(key int64) float64 {
	if key < 0 {
		return -math.Float64frombits(uint64(-key))
	}
	return math.Float64frombits(uint64(key))
}
