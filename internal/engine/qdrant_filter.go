package engine

import (
	"fmt"
	"strings"
	"unicode"

	"hashgrove/internal/index"
)

// qdrantFilter translates filters into Qdrant conditions, which compare texts only for equality and numbers as
// float64. It refuses filters that need the order or prefix of texts, and comparisons of ids with an integer that
// float64 cannot represent.
type qdrantFilter struct{}

// condition translates a filter; empty for all items.
func (f qdrantFilter) condition(filter index.Filter) (dsl, error) {
	c, ok := filter.Condition()
	if !ok {
		return nil, nil
	}
	return f.write(c)
}

func must(q ...dsl) dsl { return dsl{"must": q} }

func mustNot(q dsl) dsl { return dsl{"must_not": []dsl{q}} }

func should(q ...dsl) dsl { return dsl{"should": q} }

// noPoint is a condition that no point meets.
var noPoint = must(dsl{"has_id": []any{}})

func (f qdrantFilter) write(c index.Condition) (dsl, error) {
	parts, err := translated(c.Parts, f.write)
	if err != nil {
		return nil, err
	}
	switch c.Op {
	case "and":
		return must(parts...), nil
	case "or":
		return should(parts...), nil
	case "not":
		return mustNot(parts[0]), nil
	}
	for _, v := range c.Values {
		if err := refuseDate("Qdrant", c.Op, v); err != nil && c.Name != "id" {
			return nil, err
		}
	}
	key, err := f.key(c.Name)
	if err != nil {
		return nil, err
	}
	switch c.Op {
	case "has":
		if c.Name == "id" {
			return mustNot(noPoint), nil
		}
		return mustNot(dsl{"is_empty": dsl{"key": key}}), nil
	case "=", "in":
		return f.member(c.Name, key, c.Values)
	case "!=":
		equal, err := f.member(c.Name, key, c.Values)
		if c.Name == "id" {
			return mustNot(equal), err
		}
		return must(mustNot(dsl{"is_empty": dsl{"key": key}}), mustNot(equal)), err
	case "between":
		low, err := f.compare(c.Name, key, ">=", c.Values[0])
		if err != nil {
			return nil, err
		}
		high, err := f.compare(c.Name, key, "<=", c.Values[1])
		return must(low, high), err
	}
	return f.compare(c.Name, key, c.Op, c.Values[0])
}

// key returns the path of a name in the payload.
func (f qdrantFilter) key(name string) (string, error) {
	switch {
	case name == "id", name == "label":
		return name, nil
	case name == "tag":
		return "tags", nil
	case strings.ContainsAny(name, `"\`):
		return "", fmt.Errorf("%w: Qdrant has no way to write the name %s", ErrFilter, name)
	case strings.ContainsFunc(name, func(c rune) bool {
		return c != '_' && c != '-' && (c > unicode.MaxASCII || !unicode.IsLetter(c) && !unicode.IsDigit(c))
	}):
		return `attributes."` + name + `"`, nil
	}
	return "attributes." + name, nil
}

// member translates name in (values) and name = value.
func (f qdrantFilter) member(name, key string, values []index.Value) (dsl, error) {
	texts, numbers, points := []string{}, []dsl{}, []any{}
	known := map[any]bool{}
	for _, v := range values {
		text, isText := v.Text()
		number, _ := v.Number()
		if n, _, whole := integers("=", number); !isText && whole {
			text = index.Int(n).String()
		}
		if name == "id" {
			if text != "" && !known[text] {
				known[text] = true
				points = append(points, pointID(index.Text(text)))
			}
			continue
		}
		if isText {
			texts = append(texts, text)
			continue
		}
		numbers = append(numbers, dsl{"key": key, "range": dsl{"gte": number, "lte": number}})
	}
	switch {
	case name == "id":
		return must(dsl{"has_id": points}), nil
	case len(texts) == 0 && (name == "label" || name == "tag" || len(numbers) == 0):
		return noPoint, nil
	case name == "label" || name == "tag" || len(numbers) == 0:
		return must(dsl{"key": key, "match": dsl{"any": texts}}), nil
	case len(texts) == 0:
		return should(numbers...), nil
	}
	return should(append(numbers, dsl{"key": key, "match": dsl{"any": texts}})...), nil
}

// compare translates name op value for ordering operators.
func (f qdrantFilter) compare(name, key, op string, v index.Value) (dsl, error) {
	text, isText := v.Text()
	number, _ := v.Number()
	isInteger := false
	var low, high int64
	if name == "id" && isText && text != "" {
		if low, isInteger = index.Text(text).Integer(); isInteger {
			number = float64(low) // refused below if inexact
		}
	}
	switch {
	case op == "starts with" && !isText:
		return noPoint, nil
	case op == "starts with", isText && !isInteger:
		return nil, fmt.Errorf("%w: Qdrant compares texts only for equality, and %q %s %v needs their order; "+
			"store numbers to compare", ErrFilter, name, op, v)
	case name == "label" || name == "tag":
		return noPoint, nil // numbers and texts never compare
	case name != "id":
		return must(dsl{"key": key, "range": dsl{bounds[op]: number}}), nil
	}
	low, high, some := integers(op, number)
	if !some {
		return noPoint, nil
	}
	const exact = 1 << 53 // float64 represents every integer up to this
	limits := dsl{}
	for word, n := range map[string]int64{"gte": low, "lte": high} {
		switch {
		case n > -exact && n < exact:
			limits[word] = n
		case n != -1<<63 && n != 1<<63-1:
			return nil, fmt.Errorf("%w: Qdrant compares numbers as floating-point, which cannot hold %d", ErrFilter, n)
		}
	}
	if len(limits) == 0 { // all integers
		return mustNot(dsl{"is_empty": dsl{"key": "id_number"}}), nil
	}
	return must(dsl{"key": "id_number", "range": limits}), nil
}
