package server_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// readDocument reads the description of the service.
func readDocument(t *testing.T) document {
	t.Helper()
	b, err := os.ReadFile("openapi.json")
	ok(t, err)
	d := document{}
	ok(t, json.Unmarshal(b, &d.root))
	return d
}

// operation is a path and a method of the document.
type operation struct {
	object
	method, path string
	matches      *regexp.Regexp
}

// operations returns all operations of the document, paths without parameters first.
func (d document) operations() []operation {
	var list []operation
	for path, methods := range d.root["paths"].(object) {
		pattern := regexp.QuoteMeta(path)
		pattern = strings.ReplaceAll(pattern, `\{id\}`, `.+`)
		pattern = regexp.MustCompile(`\\\{\w+\\\}`).ReplaceAllString(pattern, `[^/]+`)
		for method, o := range methods.(object) {
			list = append(list, operation{o.(object), strings.ToUpper(method), path, regexp.MustCompile("^" + pattern + "$")})
		}
	}
	slices.SortFunc(list, func(a, b operation) int {
		return strings.Compare(strings.ReplaceAll(a.path, "{", "~")+a.method, strings.ReplaceAll(b.path, "{", "~")+b.method)
	})
	return list
}

// TestDocumentIsSound checks the document by itself.
func TestDocumentIsSound(t *testing.T) {
	d := readDocument(t)
	seen := map[string]bool{}
	for _, o := range d.operations() {
		id := o.object["operationId"].(string)
		if seen[id] {
			t.Errorf("two operations are called %s", id)
		}
		seen[id] = true
		declared := map[string]bool{}
		for _, p := range o.list("parameters") {
			p, err := d.resolve(p)
			ok(t, err)
			if p["in"] == "path" {
				declared["{"+p["name"].(string)+"}"] = true
			}
		}
		named := map[string]bool{}
		for _, name := range regexp.MustCompile(`\{\w+\}`).FindAllString(o.path, -1) {
			named[name] = true
		}
		if !maps.Equal(declared, named) {
			t.Errorf("%s %s declares the parameters %v", o.method, o.path, declared)
		}
	}
	if len(seen) < 35 {
		t.Errorf("the document has %d operations only", len(seen))
	}
	used := map[string]bool{}
	d.walk(t, d.root, "", used)
	for kind, parts := range d.root["components"].(object) {
		for name := range parts.(object) {
			if to := "#/components/" + kind + "/" + name; !used[to] && kind != "securitySchemes" {
				t.Errorf("nothing uses %s", to)
			}
		}
	}
}

func (o operation) list(name string) []object {
	var list []object
	values, _ := o.object[name].([]any)
	for _, v := range values {
		list = append(list, v.(object))
	}
	return list
}

// walk checks references and schemas below a value, and notes what is referred to.
func (d document) walk(t *testing.T, v any, at string, used map[string]bool) {
	switch v := v.(type) {
	case []any:
		for i, x := range v {
			d.walk(t, x, at+"/"+strconv.Itoa(i), used)
		}
	case object:
		if to, isRef := v["$ref"].(string); isRef {
			used[to] = true
			if _, err := d.resolve(v); err != nil {
				t.Errorf("%s: %v", at, err)
			}
		}
		schema := strings.HasSuffix(at, "/schema") || regexp.MustCompile(`^/components/schemas/\w+$`).MatchString(at)
		if schema {
			d.walkSchema(t, v, at)
		}
		for name, x := range v {
			d.walk(t, x, at+"/"+name, used)
		}
	}
}

// walkSchema checks that a schema uses only words that are checked, and that its objects are closed.
func (d document) walkSchema(t *testing.T, schema object, at string) {
	for word := range schema {
		if _, known := schemaWords[word]; !known {
			t.Errorf("%s: the checks do not know the word %q", at, word)
		}
	}
	properties, _ := schema["properties"].(object)
	if slices.Contains(typesOf(schema), "object") && schema["additionalProperties"] == nil {
		t.Errorf("%s does not say whether it may have other properties", at)
	}
	for _, name := range stringsOf(schema["required"]) {
		if properties[name] == nil {
			t.Errorf("%s requires %q, which it does not describe", at, name)
		}
	}
	for name, p := range properties {
		d.walkSchema(t, p.(object), at+"."+name)
	}
	if items, is := schema["items"].(object); is {
		d.walkSchema(t, items, at+"[]")
	}
	if extra, is := schema["additionalProperties"].(object); is {
		d.walkSchema(t, extra, at+".*")
	}
	choices, _ := schema["oneOf"].([]any)
	for _, c := range choices {
		d.walkSchema(t, c.(object), at+"|")
	}
}

// TestDocumentNamesEveryRoute compares the document with the routes in the source of the service.
func TestDocumentNamesEveryRoute(t *testing.T) {
	var described, served []string
	for _, o := range readDocument(t).operations() {
		described = append(described, o.method+" "+o.path)
	}
	for _, name := range []string{"server.go", "workshop/workshop.go"} {
		text, err := os.ReadFile(name)
		ok(t, err)
		for _, found := range regexp.MustCompile(`"((GET|POST|PUT|PATCH|DELETE) /\S*)"`).FindAllSubmatch(text, -1) {
			served = append(served, strings.NewReplacer("{$}", "", "...}", "}").Replace(string(found[1])))
		}
	}
	slices.Sort(described)
	slices.Sort(served)
	if served = slices.Compact(served); !slices.Equal(described, served) {
		t.Errorf("the document describes\n%q\nand the source serves\n%q", described, served)
	}
}
