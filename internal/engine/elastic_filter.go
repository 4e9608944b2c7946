package engine

import (
	"fmt"

	"hashgrove/internal/index"
)

// elasticFilter translates filters into OpenSearch and Elasticsearch queries. Keywords compare bytewise and doubles
// by value, as in our filters; a comparison of tags holds if it holds for one of them. Dates are refused.
type elasticFilter struct{ engine string }

var matchNone = dsl{"match_none": dsl{}}

// condition translates a filter into a query.
func (f elasticFilter) condition(filter index.Filter) (dsl, error) {
	c, ok := filter.Condition()
	if !ok {
		return dsl{"match_all": dsl{}}, nil
	}
	return f.write(c)
}

func not(q dsl) dsl { return dsl{"bool": dsl{"must_not": []dsl{q}}} }

func all(q ...dsl) dsl { return dsl{"bool": dsl{"filter": q}} }

func anyOf(q ...dsl) dsl { return dsl{"bool": dsl{"should": q, "minimum_should_match": 1}} }

func (f elasticFilter) write(c index.Condition) (dsl, error) {
	parts, err := translated(c.Parts, f.write)
	if err != nil {
		return nil, err
	}
	switch c.Op {
	case "and":
		return all(parts...), nil
	case "or":
		return anyOf(parts...), nil
	case "not":
		return not(parts[0]), nil
	case "has":
		return f.has(c.Name), nil
	}
	for _, v := range c.Values {
		if err := refuseDate(f.engine, c.Op, v); err != nil && c.Name != "id" {
			return nil, err
		}
	}
	switch c.Op {
	case "in":
		return f.member(c)
	case "!=":
		equal, err := f.compare(c.Name, "=", c.Values[0])
		return all(f.has(c.Name), not(equal)), err
	case "between":
		return f.between(c)
	}
	return f.compare(c.Name, c.Op, c.Values[0])
}

// has matches items that have a name.
func (f elasticFilter) has(name string) dsl {
	switch name {
	case "id":
		return dsl{"match_all": dsl{}}
	case "label":
		return dsl{"exists": dsl{"field": "label"}}
	case "tag":
		return dsl{"exists": dsl{"field": "tags"}}
	}
	return nested(dsl{"term": dsl{"attributes.name": name}})
}

// nested matches items with an attribute for which all given queries hold.
func nested(q ...dsl) dsl {
	return dsl{"nested": dsl{"path": "attributes", "query": all(q...)}}
}

// mostTerms limits the values listed in a query.
const mostTerms = 1 << 16

// member translates name in (values).
func (f elasticFilter) member(c index.Condition) (dsl, error) {
	if len(c.Values) > mostTerms {
		return nil, fmt.Errorf("%w: a list of %d values, and %s takes %d", ErrFilter, len(c.Values), f.engine, mostTerms)
	}
	texts, numbers := []string{}, []float64{}
	for _, v := range c.Values {
		if text, isText := v.Text(); isText {
			texts = append(texts, text)
			continue
		}
		number, _ := v.Number()
		if n, _, whole := integers("=", number); c.Name == "id" && whole {
			texts = append(texts, index.Int(n).String())
		}
		numbers = append(numbers, unsigned(number))
	}
	switch c.Name {
	case "id":
		return dsl{"terms": dsl{"id": texts}}, nil
	case "label":
		return dsl{"terms": dsl{"label": texts}}, nil
	case "tag":
		return dsl{"terms": dsl{"tags": texts}}, nil
	}
	return nested(dsl{"term": dsl{"attributes.name": c.Name}}, anyOf(
		dsl{"terms": dsl{"attributes.text": texts}}, dsl{"terms": dsl{"attributes.number": numbers}})), nil
}

// bounds are the range operators of a comparison.
var bounds = map[string]string{"<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}

// compareField compares a field with a value of its type.
func compareField(field, op string, value any) dsl {
	switch op {
	case "=":
		return dsl{"term": dsl{field: value}}
	case "starts with":
		if value == "" {
			return dsl{"exists": dsl{"field": field}}
		}
		return dsl{"prefix": dsl{field: value}}
	}
	return dsl{"range": dsl{field: dsl{bounds[op]: value}}}
}

// compare translates name op value, where op may be "starts with".
func (f elasticFilter) compare(name, op string, v index.Value) (dsl, error) {
	text, isText := v.Text()
	number, _ := v.Number()
	switch {
	case name == "id":
		return compareID(op, v), nil
	case name == "label" && isText:
		return compareField("label", op, text), nil
	case name == "tag" && isText:
		return compareField("tags", op, text), nil
	case name == "label" || name == "tag" || !isText && op == "starts with":
		return matchNone, nil // numbers and texts never compare
	case isText:
		return nested(dsl{"term": dsl{"attributes.name": name}}, compareField("attributes.text", op, text)), nil
	}
	return nested(dsl{"term": dsl{"attributes.name": name}}, compareField("attributes.number", op, unsigned(number))), nil
}

// between uses one range for tags, because a single tag must be within both bounds.
func (f elasticFilter) between(c index.Condition) (dsl, error) {
	low, err := f.compare(c.Name, ">=", c.Values[0])
	if err != nil {
		return nil, err
	}
	high, err := f.compare(c.Name, "<=", c.Values[1])
	if err != nil || c.Name != "tag" {
		return all(low, high), err
	}
	a, isText := c.Values[0].Text()
	b, both := c.Values[1].Text()
	if !isText || !both {
		return matchNone, nil
	}
	return dsl{"range": dsl{"tags": dsl{"gte": a, "lte": b}}}, nil
}

// orderKey returns a text that sorts bytewise like the ids.
func orderKey(id index.ID) string {
	if n, ok := id.Integer(); ok {
		return fmt.Sprintf("0%016x", uint64(n)^1<<63)
	}
	return "1" + id.String()
}

// compareID compares ids by their keys: integers with integers, texts with texts.
func compareID(op string, v index.Value) dsl {
	text, isText := v.Text()
	if op == "starts with" {
		return compareField("id", op, text)
	}
	if isText && text != "" {
		if n, ok := index.Text(text).Integer(); ok {
			key := orderKey(index.Int(n))
			return all(dsl{"range": dsl{"id_order": dsl{"lt": "1"}}}, compareField("id_order", op, key))
		}
	}
	if isText {
		return all(dsl{"range": dsl{"id_order": dsl{"gte": "1"}}}, compareField("id_order", op, "1"+text))
	}
	number, _ := v.Number()
	low, high, some := integers(op, number)
	if !some {
		return matchNone
	}
	return dsl{"range": dsl{"id_order": dsl{"gte": orderKey(index.Int(low)), "lte": orderKey(index.Int(high))}}}
}
