package server_test

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

// object is a JSON object of the OpenAPI document.
type object = map[string]any

// document is an OpenAPI document.
type document struct{ root object }

// resolve follows a reference within the document.
func (d document) resolve(o object) (object, error) {
	for {
		to, ok := o["$ref"].(string)
		if !ok {
			return o, nil
		}
		at := any(d.root)
		for part := range strings.SplitSeq(strings.TrimPrefix(to, "#/"), "/") {
			m, ok := at.(object)
			if !ok || m[part] == nil {
				return nil, fmt.Errorf("%s leads nowhere", to)
			}
			at = m[part]
		}
		if o, ok = at.(object); !ok {
			return nil, fmt.Errorf("%s is no object", to)
		}
	}
}

// schemaWords are the words of JSON Schema that check knows; those that only explain are true.
var schemaWords = map[string]bool{
	"$ref": false, "type": false, "properties": false, "required": false, "additionalProperties": false, "items": false,
	"enum": false, "oneOf": false, "minimum": false, "maximum": false, "pattern": false,
	"description": true, "default": true, "format": true,
}

// check compares a value with a schema, in the part of JSON Schema that the document uses.
func (d document) check(schema object, v any, at string) error {
	schema, err := d.resolve(schema)
	if err != nil {
		return err
	}
	if choices, ok := schema["oneOf"].([]any); ok {
		return d.checkOne(choices, v, at)
	}
	if types := typesOf(schema); types != nil && !slices.ContainsFunc(types, func(t string) bool { return hasType(v, t) }) {
		return fmt.Errorf("%s is %s, and should be %v", at, brief(v), types)
	}
	if enum, ok := schema["enum"].([]any); ok && !slices.Contains(enum, v) {
		return fmt.Errorf("%s is %s, and should be one of %v", at, brief(v), enum)
	}
	switch v := v.(type) {
	case float64:
		if least, ok := schema["minimum"].(float64); ok && v < least {
			return fmt.Errorf("%s is %v, less than %v", at, v, least)
		}
		if most, ok := schema["maximum"].(float64); ok && v > most {
			return fmt.Errorf("%s is %v, more than %v", at, v, most)
		}
	case string:
		if p, ok := schema["pattern"].(string); ok && !regexp.MustCompile(p).MatchString(v) {
			return fmt.Errorf("%s is %s, which does not match %s", at, brief(v), p)
		}
	case []any:
		items, ok := schema["items"].(object)
		for i := 0; ok && i < len(v); i++ {
			if err := d.check(items, v[i], fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case object:
		return d.checkObject(schema, v, at)
	}
	return nil
}

func (d document) checkOne(choices []any, v any, at string) error {
	fits := 0
	var last error
	for _, c := range choices {
		if err := d.check(c.(object), v, at); err != nil {
			last = err
		} else {
			fits++
		}
	}
	if fits != 1 {
		return fmt.Errorf("%s fits %d of %d schemas: %w", at, fits, len(choices), last)
	}
	return nil
}

func (d document) checkObject(schema, v object, at string) error {
	for _, name := range stringsOf(schema["required"]) {
		if _, ok := v[name]; !ok {
			return fmt.Errorf("%s has no %q", at, name)
		}
	}
	properties, _ := schema["properties"].(object)
	for name, value := range v {
		to, ok := properties[name].(object)
		if !ok {
			switch extra := schema["additionalProperties"].(type) {
			case object:
				to = extra
			case bool:
				if !extra {
					return fmt.Errorf("%s has %q, which the document does not know", at, name)
				}
				continue
			default:
				continue
			}
		}
		if err := d.check(to, value, at+"."+name); err != nil {
			return err
		}
	}
	return nil
}

func typesOf(schema object) []string {
	if t, ok := schema["type"].(string); ok {
		return []string{t}
	}
	return stringsOf(schema["type"])
}

func stringsOf(v any) []string {
	list, _ := v.([]any)
	var texts []string
	for _, x := range list {
		texts = append(texts, x.(string))
	}
	return texts
}

func hasType(v any, name string) bool {
	switch v := v.(type) {
	case nil:
		return name == "null"
	case bool:
		return name == "boolean"
	case string:
		return name == "string"
	case float64:
		return name == "number" || name == "integer" && v == math.Trunc(v)
	case []any:
		return name == "array"
	}
	return name == "object"
}

func brief(v any) string {
	b, _ := json.Marshal(v)
	return fmt.Sprintf("%.80s", b)
}
