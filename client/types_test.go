package client

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"hashgrove/api"
)

// TestTypesMatchTheDocument compares the structs of requests and answers with the description of the service: each field
// has a property, and each property a field.
func TestTypesMatchTheDocument(t *testing.T) {
	b, err := os.ReadFile("../server/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Components struct {
			Schemas map[string]schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	c := &comparison{T: t, schemas: d.Components.Schemas}
	for name, v := range map[string]any{
		"Server": api.Server{}, "Summary": api.Summary{}, "Collection": api.Description{}, "Query": api.Query{}, "SearchRequest": api.Request{},
		"SearchAnswer": api.Answer{}, "ExplainRequest": api.ExplainRequest{}, "Explanation": api.Explanation{}, "EncodeRequest": api.EncodeRequest{},
		"EncodeAnswer": api.EncodeAnswer{}, "Item": api.Item{}, "NewItem": api.NewItem{}, "ItemsPage": api.ItemsPage{}, "PutManyRequest": putManyRequest{},
		"PatchManyRequest": patchManyRequest{}, "DeleteRequest": api.DeleteRequest{}, "DeleteAnswer": api.Deleted{}, "Facets": api.Facets{},
		"CreateRequest": api.CreateRequest{}, "DropAnswer": api.Dropped{},
	} {
		s, there := c.schemas[name]
		if !there {
			t.Errorf("the document has no %s", name)
			continue
		}
		c.compare(name, reflect.TypeOf(v), s)
	}
	c.compare("Error", reflect.TypeFor[Error](), c.schemas["Error"].Properties["error"])
	// The answers to writes are some of what changes has.
	fields := names(reflect.TypeFor[changes]())
	for _, name := range []string{"PutAnswer", "PatchAnswer"} {
		for property := range c.schemas[name].Properties {
			if _, there := fields[property]; !there && property != "collection" && property != "fingerprint" {
				t.Errorf("%s has %s, which changes lacks", name, property)
			}
		}
	}
}

type schema struct {
	Ref        string            `json:"$ref"`
	Type       any               `json:"type"`
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Items      *schema           `json:"items"`
	Additional any               `json:"additionalProperties"`
}

type comparison struct {
	*testing.T
	schemas map[string]schema
}

// names returns the JSON fields of a struct, including those of nested structs.
func names(of reflect.Type) map[string]reflect.StructField {
	all := map[string]reflect.StructField{}
	for _, f := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.Anonymous && name != "-" {
			all[name] = f
		}
	}
	return all
}

func (c *comparison) compare(at string, of reflect.Type, s schema) {
	for s.Ref != "" {
		s = c.schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
	}
	types, _ := s.Type.([]any)
	if name, is := s.Type.(string); is {
		types = append(types, name)
	}
	is := func(name string) bool { return slices.Contains(types, any(name)) }
	good := false
	switch {
	case of == reflect.TypeFor[api.ID]():
		good = is("integer") && is("string")
	case of == reflect.TypeFor[time.Time](), of == reflect.TypeFor[[]byte]():
		good = is("string")
	case of.Kind() == reflect.Pointer:
		c.compare(at, of.Elem(), s)
		return
	case of.Kind() == reflect.Slice:
		if good = is("array") && s.Items != nil; good {
			c.compare(at+"[]", of.Elem(), *s.Items)
		}
	case of.Kind() == reflect.Struct:
		good = is("object")
		c.compareFields(at, of, s)
	case of.Kind() == reflect.Map:
		good = is("object") && s.Additional != false
	case of.Kind() == reflect.Interface:
		good = len(types) > 1
	case of.Kind() == reflect.String:
		good = is("string")
	case of.Kind() == reflect.Bool:
		good = is("boolean")
	case of.Kind() == reflect.Float32, of.Kind() == reflect.Float64:
		good = is("number")
	default:
		good = is("integer")
	}
	if !good {
		c.Errorf("%s is %v here, and %v in the document", at, of, s.Type)
	}
}

func (c *comparison) compareFields(at string, of reflect.Type, s schema) {
	if len(strings.Split(at, ".")) > 8 {
		return // an explanation in an explanation
	}
	fields := names(of)
	for name, f := range fields {
		property, there := s.Properties[name]
		if !there {
			c.Errorf("the document has no %s.%s", at, name)
			continue
		}
		local := at == "SearchAnswer" && name == "collection" // an answer that comes from no service has none
		if slices.Contains(s.Required, name) && strings.Contains(f.Tag.Get("json"), ",omit") && !local {
			c.Errorf("%s.%s is required, and may be left out here", at, name)
		}
		c.compare(at+"."+name, f.Type, property)
	}
	for name := range s.Properties {
		if _, there := fields[name]; !there {
			c.Errorf("%s.%s of the document is not here", at, name)
		}
	}
}
