package engine

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"hashgrove/internal/fault"
	"hashgrove/internal/index"
)

// sqliteFilter translates a filter into a condition of SQLite about the item i. Every comparison is true or false,
// never null, so that not means what it means in our filters. Texts compare by their bytes, and numbers by integers in
// the same order, because SQLite may read the digits of a number as another one nearby.
//
// Dates compare as moments in our filters, and SQLite has only some of our ways to write them: they are refused.
type sqliteFilter struct{ *sqlite }

func (s sqliteFilter) condition(f index.Filter) (string, error) {
	c, ok := f.Condition()
	if !ok {
		return "true", nil
	}
	return s.write(c)
}

func (s sqliteFilter) write(c index.Condition) (string, error) {
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
		equal, err := s.comparison(c.Name, []string{"="}, c.Values)
		return "(" + s.has(c.Name) + " AND NOT " + equal + ")", err
	case "between":
		return s.comparison(c.Name, []string{">=", "<="}, c.Values)
	case "in":
		if c.Name == idName {
			return s.ids(c.Values), nil
		}
		list := []string{"false"}
		for _, v := range c.Values {
			text, err := s.comparison(c.Name, []string{"="}, []index.Value{v})
			if err != nil {
				return "", err
			}
			list = append(list, text)
		}
		return "(" + strings.Join(list, " OR ") + ")", nil
	}
	return s.comparison(c.Name, []string{c.Op}, c.Values)
}

// ids is the condition that an item has one of some ids.
func (s sqliteFilter) ids(values []index.Value) string {
	var list []string
	for _, v := range values {
		text, isText := v.Text()
		if x, _ := v.Number(); !isText {
			if x != math.Trunc(x) || math.Abs(x) >= 1<<63 {
				continue
			}
			text = strconv.FormatInt(int64(x), 10)
		}
		list = append(list, sqlText(text))
	}
	return "(i.id IN (" + strings.Join(list, ", ") + "))"
}

// has is the condition that an item has a name.
func (s sqliteFilter) has(name string) string {
	switch name {
	case idName:
		return "true"
	case index.LabelName:
		return "(i.label IS NOT NULL)"
	case index.TagName:
		return s.anyTag("true")
	}
	return s.attribute(name, "true")
}

// anyTag is the condition that one of the tags fulfils another.
func (s sqliteFilter) anyTag(condition string) string {
	return fmt.Sprintf("EXISTS (SELECT 1 FROM %s AS t WHERE t.item = i.item AND %s)", s.name("_tags"), condition)
}

// attribute is the condition that an attribute is there and fulfils another.
func (s sqliteFilter) attribute(name, condition string) string {
	return fmt.Sprintf("EXISTS (SELECT 1 FROM %s AS a WHERE a.item = i.item AND a.name = %s AND %s)",
		s.name("_attributes"), sqlText(name), condition)
}

// comparison is name op value, or two of them that have to hold for the same value of the item.
func (s sqliteFilter) comparison(name string, ops []string, values []index.Value) (string, error) {
	var ofTexts, ofKeys, ofIDs []string
	for i, op := range ops {
		v := values[i]
		text, isText := v.Text()
		if isText && name != idName && op != "starts with" && v.Kind() == index.DateKind {
			return "", fault.New("no-dates", "%w: %v is a date, and SQLite does not compare texts as dates; "+
				"store dates as numbers to filter by them there", ErrFilter, v)
		}
		number, _ := v.Number()
		ofIDs = append(ofIDs, compareSQLiteID(op, v))
		switch {
		case isText:
			ofTexts = append(ofTexts, compareBytes("#", op, text))
		case op != "starts with":
			ofKeys = append(ofKeys, fmt.Sprintf("a.number_key %s %d", op, numberKey(number)))
		}
	}
	texts := strings.Join(ofTexts, " AND ")
	mixed := len(ofTexts) > 0 && len(ofKeys) > 0 // nothing is a number and a text
	switch {
	case name == idName:
		return "(" + strings.Join(ofIDs, " AND ") + ")", nil
	case mixed || len(ofTexts)+len(ofKeys) == 0:
		return "false", nil
	case name == index.LabelName && texts != "":
		return "ifnull(" + strings.ReplaceAll(texts, "#", "i.label") + ", false)", nil
	case name == index.TagName && texts != "":
		return s.anyTag(strings.ReplaceAll(texts, "#", "t.tag")), nil
	case name == index.LabelName || name == index.TagName:
		return "false", nil
	case texts != "":
		return s.attribute(name, strings.ReplaceAll(texts, "#", "a.text")), nil
	}
	return s.attribute(name, strings.Join(ofKeys, " AND ")), nil
}

// compareBytes compares a column with a text by their bytes.
func compareBytes(column, op, text string) string {
	if op == "starts with" {
		return fmt.Sprintf("substr(CAST(%s AS BLOB), 1, %d) = x'%x'", column, len(text), text)
	}
	return fmt.Sprintf("%s %s CAST(x'%x' AS TEXT)", column, op, text)
}

// compareSQLiteID compares ids: integers with integers, texts with texts.
func compareSQLiteID(op string, v index.Value) string {
	text, isText := v.Text()
	if op == "starts with" {
		return compareBytes("i.id", op, text)
	}
	x, _ := v.Number()
	if isText && text != "" {
		if n, ok := index.Text(text).Integer(); ok {
			return fmt.Sprintf("ifnull(i.id_number %s %d, false)", op, n)
		}
	}
	switch {
	case isText:
		return "(i.id_number IS NULL AND " + compareBytes("i.id", op, text) + ")"
	case math.Abs(x) >= 1<<63:
		if op[0] == '<' && x > 0 || op[0] == '>' && x < 0 {
			return "(i.id_number IS NOT NULL)"
		}
		return "false"
	case x != math.Trunc(x): // between two integers
		switch op[0] {
		case '<':
			return fmt.Sprintf("ifnull(i.id_number <= %d, false)", int64(math.Floor(x)))
		case '>':
			return fmt.Sprintf("ifnull(i.id_number >= %d, false)", int64(math.Ceil(x)))
		}
		return "false"
	}
	return fmt.Sprintf("ifnull(i.id_number %s %d, false)", op, int64(x))
}

// numberKey is an integer for every number, in the order of the numbers.
func numberKey(x float64) int64 {
	b := int64(math.Float64bits(x))
	if b < 0 {
		return -(b & math.MaxInt64)
	}
	return b
}

// keyNumber is the number of a key.
func keyNumber(key int64) float64 {
	if key < 0 {
		return -math.Float64frombits(uint64(-key))
	}
	return math.Float64frombits(uint64(key))
}
