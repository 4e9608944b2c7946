package engine_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// fakeWeaviate answers as Weaviate 1.35 does: openapi-specs/schema.json of its repository for REST, and the arguments of
// Get for GraphQL, to the extent the engine needs them.
type fakeWeaviate struct {
	*fake
	class   map[string]any // nil means none
	bits    int            // of the vectors, once there is one
	items   fakeItems      // by UUID
	ids     map[string]string
	made    int
	refused []string
}

var weaviateShapes = map[string]any{
	"POST /v1/schema": object{
		"class": text, "description?": text, "vectorizer?": one{"none"}, "vectorIndexType?": one{"flat", "hnsw"},
		"vectorIndexConfig?": object{"distance?": one{"cosine", "dot", "l2-squared", "hamming", "manhattan"}},
		"properties?": list{object{
			"name": text, "dataType": list{one{"text", "text[]"}}, "indexFilterable?": boolean, "indexSearchable?": boolean,
			"tokenization?": one{"word", "lowercase", "whitespace", "field"},
		}},
	},
	"POST /v1/batch/objects": object{
		"objects": list{object{
			"class": text, "id?": text, "vector?": list{number},
			"properties?": object{
				"key": text, "label?": text, "tags?": list{text}, "attributes?": text, "terms?": list{text},
			},
		}},
	},
	"POST /v1/graphql": object{"query": text, "operationName?": text, "variables?": named{text}},
}

func newFakeWeaviate(t *testing.T) *fakeWeaviate {
	w := &fakeWeaviate{items: fakeItems{}, ids: map[string]string{}}
	w.fake = newFake(t, w.answer)
	return w
}

var objectID = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func (w *fakeWeaviate) answer(q asked) (int, any) {
	what := q.method + " " + q.path
	var body map[string]any
	if shape := weaviateShapes[what]; shape != nil {
		value, err := parse(q.body)
		if err == nil {
			err = fits(value, shape)
		}
		if err != nil || q.header.Get("Content-Type") != "application/json" {
			return w.wrong(q, "the body does not fit: %v", err)
		}
		body = value.(map[string]any)
	} else if len(q.body) > 0 || q.method != "GET" {
		return w.wrong(q, "no such operation")
	}
	if len(q.query) > 0 {
		return w.wrong(q, "unexpected parameters")
	}
	name, there := "", w.class != nil
	if there {
		name = w.class["class"].(string)
	}
	switch {
	case what == "GET /v1/meta":
		return 200, map[string]any{"hostname": "http://[::]:8080", "version": "1.35.2", "modules": map[string]any{}}
	case what == "POST /v1/schema":
		return w.create(q, body)
	case what == "POST /v1/batch/objects":
		return w.batch(q, body["objects"].([]any))
	case what == "POST /v1/graphql":
		return w.graphql(q, body["query"].(string))
	case there && what == "GET /v1/schema/"+name:
		return 200, w.class
	case there && what == "GET /v1/schema/"+name+"/shards":
		return 200, []any{map[string]any{"name": fmt.Sprintf("shard%d", w.made), "status": "READY"}}
	case regexp.MustCompile(`^GET /v1/schema/[A-Z]\w*$`).MatchString(what):
		return 404, nil
	}
	return w.wrong(q, "no such operation")
}

func (w *fakeWeaviate) create(q asked, body map[string]any) (int, any) {
	if !regexp.MustCompile(`^[A-Z][_0-9A-Za-z]*$`).MatchString(body["class"].(string)) {
		return w.wrong(q, "no name of a class")
	}
	if w.class != nil {
		return 422, map[string]any{"error": []any{map[string]any{"message": "class name already exists"}}}
	}
	for _, p := range body["properties"].([]any) {
		name := p.(map[string]any)["name"].(string)
		if !regexp.MustCompile(`^[_A-Za-z][_0-9A-Za-z]{0,230}$`).MatchString(name) || name == "id" || name == "vector" {
			return w.wrong(q, "%q is no name of a property", name)
		}
	}
	w.class, w.bits = maps.Clone(body), 0
	w.made++
	return 200, w.class
}

func (w *fakeWeaviate) batch(q asked, objects []any) (int, any) {
	if len(objects) == 0 || w.class == nil {
		return w.wrong(q, "a batch without objects or class")
	}
	var results []any
	for _, o := range objects {
		object := o.(map[string]any)
		id, properties := object["id"].(string), object["properties"].(map[string]any)
		if !objectID.MatchString(id) || object["class"] != w.class["class"] {
			return w.wrong(q, "%v is no UUID of version 5, or the class is wrong", id)
		}
		it := fakeItem{key: properties["key"].(string), tags: texts(properties["tags"]), terms: texts(properties["terms"])}
		it.label, _ = properties["label"].(string)
		it.attributes, _ = properties["attributes"].(string)
		vector := object["vector"].([]any)
		if w.bits == 0 {
			w.bits = len(vector)
		}
		for _, x := range vector {
			if x := x.(json.Number); x != "0" && x != "1" {
				return w.wrong(q, "%v in a vector", x)
			}
			it.code = append(it.code, x.(json.Number)[0]-'0')
		}
		result := map[string]any{"status": "SUCCESS"}
		if slices.Contains(w.refused, it.key) || len(vector) != w.bits {
			result = map[string]any{"status": "FAILED", "errors": map[string]any{
				"error": []any{map[string]any{"message": "the object is not wanted"}},
			}}
		} else {
			w.items[id], w.ids[it.key] = it, id
		}
		results = append(results, map[string]any{"class": object["class"], "id": id, "result": result})
	}
	return 200, results
}

// texts returns a list of texts in JSON; nil is none.
func texts(value any) []string {
	var list []string
	elements, _ := value.([]any)
	for _, e := range elements {
		list = append(list, e.(string))
	}
	return list
}

// properties returns the properties of an item.
func (w *fakeWeaviate) properties(it fakeItem) map[string]any {
	p := map[string]any{"key": it.key, "terms": it.terms}
	if it.label != "" {
		p["label"] = it.label
	}
	if it.tags != nil {
		p["tags"] = it.tags
	}
	if it.attributes != "" {
		p["attributes"] = it.attributes
	}
	return p
}

// vector returns the code as numbers.
func (it fakeItem) vector() json.RawMessage {
	text := []byte("[")
	for i, b := range it.code {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, '0'+b)
	}
	return append(text, ']')
}

// graphql answers a query with one Get or Aggregate.
func (w *fakeWeaviate) graphql(q asked, query string) (int, any) {
	p := &graphqlParser{rest: query}
	root := p.selection()
	if p.failed != nil || strings.TrimSpace(p.rest) != "" || len(root) != 1 || len(root[0].fields) == 0 {
		return w.wrong(q, "the query cannot be read: %v before %q", p.failed, p.rest)
	}
	answers := map[string]any{}
	for _, class := range root[0].fields {
		if w.class == nil || class.name != w.class["class"] || answers[class.alias] != nil {
			return w.wrong(q, "there is no class %s, or the name %s is there twice", class.name, class.alias)
		}
		var err error
		switch root[0].name {
		case "Aggregate":
			answers[class.alias] = []any{map[string]any{"meta": map[string]any{"count": len(w.items)}}}
		case "Get":
			answers[class.alias], err = w.get(class)
		default:
			err = fmt.Errorf("no such field")
		}
		if err != nil {
			return w.wrong(q, "%s: %v", root[0].name, err)
		}
	}
	return 200, map[string]any{"data": map[string]any{root[0].name: answers}}
}

// get answers the arguments and fields of Get.
func (w *fakeWeaviate) get(class graphqlField) ([]any, error) {
	err := fits(class.args, object{
		"limit": integer, "where?": weaviateWhere(), "nearVector?": object{"vector": list{number}}, "after?": text,
	})
	if err != nil {
		return nil, err
	}
	limit, _ := strconv.Atoi(string(class.args["limit"].(json.Number)))
	if limit < 1 || limit > 10000 {
		return nil, fmt.Errorf("query maximum results exceeded: %d", limit)
	}
	match := func(it fakeItem) bool { return class.args["where"] == nil || w.matches(class.args["where"], it) }
	found := w.items.ordered(match)
	if after, cursor := class.args["after"].(string); cursor {
		if len(class.args) != 2 {
			return nil, fmt.Errorf("after goes with limit alone")
		}
		found = found[:0]
		for _, id := range slices.Sorted(maps.Keys(w.items)) {
			if id > after && len(found) < limit {
				found = append(found, w.items[id])
			}
		}
	}
	var code []byte
	if near, ok := class.args["nearVector"].(map[string]any); ok {
		for _, x := range near["vector"].([]any) {
			code = append(code, x.(json.Number)[0]-'0')
		}
		if w.bits > 0 && len(code) != w.bits {
			return nil, fmt.Errorf("vector lengths don't match: %d and %d", len(code), w.bits)
		}
		found = w.items.nearest(code, limit, match)
	}
	rows := []any{}
	for _, it := range found[:min(limit, len(found))] {
		row := map[string]any{}
		for _, f := range class.fields {
			if f.name == "key" {
				row[f.name] = it.key
				continue
			}
			if f.name != "_additional" {
				row[f.name] = w.properties(it)[f.name]
				continue
			}
			more := map[string]any{}
			for _, a := range f.fields {
				switch a.name {
				case "distance":
					more["distance"] = fakeDistance(it.code, code)
				case "id":
					more["id"] = w.ids[it.key]
				case "vector":
					more["vector"] = it.vector()
				default:
					return nil, fmt.Errorf("there is no %s", a.name)
				}
			}
			row[f.name] = more
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// weaviateWhere returns the shape of a filter.
func weaviateWhere() any {
	return either{
		object{"operator": one{"And", "Or"}, "operands": list{func() any { return weaviateWhere() }}},
		object{"path": list{one{"terms", "id"}}, "operator": one{"Equal", "NotEqual"}, "valueText": text},
		object{"path": list{one{"terms", "id"}}, "operator": one{"ContainsAny"}, "valueText": list{text}},
	}
}

// matches evaluates a filter.
func (w *fakeWeaviate) matches(value any, it fakeItem) bool {
	where := value.(map[string]any)
	operands, _ := where["operands"].([]any)
	one := func(o any) bool { return w.matches(o, it) }
	switch where["operator"] {
	case "And":
		return !slices.ContainsFunc(operands, func(o any) bool { return !one(o) })
	case "Or":
		return slices.ContainsFunc(operands, one)
	}
	wanted := texts(where["valueText"])
	if text, ok := where["valueText"].(string); ok {
		wanted = []string{text}
	}
	found := it.hasAny(wanted...)
	if where["path"].([]any)[0] == "id" {
		found = slices.Contains(wanted, w.ids[it.key])
	}
	return found != (where["operator"] == "NotEqual")
}
