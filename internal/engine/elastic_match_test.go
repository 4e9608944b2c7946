package engine_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
)

// match evaluates a query for a document, or for a nested one whose fields begin with a prefix.
func (x *elasticFakeIndex) match(query, doc map[string]any, prefix string) (bool, error) {
	for name, v := range query {
		body := v.(map[string]any)
		switch name {
		case "match_all":
			return true, nil
		case "match_none":
			return false, nil
		case "bool":
			return x.matchBool(body, doc, prefix)
		case "exists":
			values, _, err := x.values(doc, prefix, body["field"].(string))
			return len(values) > 0, err
		case "nested":
			path := body["path"].(string)
			if prefix != "" || x.fields[path] != "nested" {
				return false, fmt.Errorf("%s is not nested", path)
			}
			list, _ := doc[path].([]any)
			for _, inner := range list {
				if ok, err := x.match(body["query"].(map[string]any), inner.(map[string]any), path+"."); ok || err != nil {
					return ok, err
				}
			}
			_, err := x.match(body["query"].(map[string]any), map[string]any{}, path+".")
			return false, err
		}
		for field, wanted := range body {
			return x.matchField(name, field, wanted, doc, prefix)
		}
	}
	return false, fmt.Errorf("the query %v", query)
}

func (x *elasticFakeIndex) matchBool(body, doc map[string]any, prefix string) (bool, error) {
	result := true
	for _, part := range []string{"filter", "must_not", "should"} {
		queries, there := body[part].([]any)
		hits := 0
		for _, q := range queries {
			ok, err := x.match(q.(map[string]any), doc, prefix)
			if err != nil {
				return false, err
			}
			if ok {
				hits++
			}
		}
		switch {
		case part == "filter":
			result = result && hits == len(queries)
		case part == "must_not":
			result = result && hits == 0
		case there && body["minimum_should_match"] != json.Number("1"):
			return false, fmt.Errorf("should without a minimum")
		case there:
			result = result && hits > 0
		}
	}
	return result, nil
}

// values returns the values of a field and its type.
func (x *elasticFakeIndex) values(doc map[string]any, prefix, field string) ([]any, string, error) {
	kind := x.fields[field]
	name, inside := strings.CutPrefix(field, prefix)
	if kind != "keyword" && kind != "double" || !inside || strings.Contains(name, ".") {
		return nil, "", fmt.Errorf("the field %s cannot be searched here", field)
	}
	switch v := doc[name].(type) {
	case nil:
		return nil, kind, nil
	case []any:
		return v, kind, nil
	default:
		return []any{v}, kind, nil
	}
}

// compareValues compares as the type of a field does.
func compareValues(kind string, a, b any) (int, error) {
	if kind == "keyword" {
		s, isText := b.(string)
		if !isText {
			return 0, fmt.Errorf("%v is no keyword", b)
		}
		return strings.Compare(a.(string), s), nil
	}
	n, isNumber := b.(json.Number)
	if !isNumber {
		return 0, fmt.Errorf("%v is no number", b)
	}
	p, _ := a.(json.Number).Float64()
	q, err := n.Float64()
	return cmp.Compare(p, q), err
}

func (x *elasticFakeIndex) matchField(op, field string, wanted any, doc map[string]any, prefix string) (bool, error) {
	values, kind, err := x.values(doc, prefix, field)
	if err != nil {
		return false, err
	}
	holds := func(v any) (bool, error) {
		switch op {
		case "term":
			c, err := compareValues(kind, v, wanted)
			return c == 0, err
		case "terms":
			for _, w := range wanted.([]any) {
				if c, err := compareValues(kind, v, w); err != nil || c == 0 {
					return err == nil, err
				}
			}
			return false, nil
		case "prefix":
			if kind != "keyword" {
				return false, fmt.Errorf("a prefix of a number")
			}
			return strings.HasPrefix(v.(string), wanted.(string)), nil
		case "range":
			for bound, w := range wanted.(map[string]any) {
				c, err := compareValues(kind, v, w)
				ok := map[string]bool{"lt": c < 0, "lte": c <= 0, "gt": c > 0, "gte": c >= 0}[bound]
				if err != nil || !ok {
					return false, err
				}
			}
			return true, nil
		}
		return false, fmt.Errorf("the query %s", op)
	}
	for _, v := range values {
		if ok, err := holds(v); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}
