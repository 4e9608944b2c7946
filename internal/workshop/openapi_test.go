package workshop

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// schema is as much of a schema of openapi.json as answers are checked by here.
type schema struct {
	Ref        string `json:"$ref"`
	Type       any
	Properties map[string]schema
	Required   []string
	Items      *schema
	OneOf      []schema `json:"oneOf"`
	Enum       []any
}

// conform lists what an answer has that the schema does not say, and the other way around.
func (s schema) conform(all map[string]schema, at string, v any) (wrong []string) {
	if s.Ref != "" {
		return all[s.Ref[strings.LastIndex(s.Ref, "/")+1:]].conform(all, at, v)
	}
	switch v := v.(type) {
	case map[string]any:
		if s.OneOf != nil {
			return s.OneOf[0].conform(all, at, v)
		}
		for name, value := range v {
			property, known := s.Properties[name]
			if !known {
				wrong = append(wrong, at+"."+name+" is not described")
				continue
			}
			wrong = append(wrong, property.conform(all, at+"."+name, value)...)
		}
		for _, name := range s.Required {
			if _, there := v[name]; !there {
				wrong = append(wrong, at+"."+name+" is missing")
			}
		}
	case []any:
		for i, value := range v {
			if s.Items == nil {
				return []string{at + " is a list"}
			}
			wrong = append(wrong, s.Items.conform(all, fmt.Sprintf("%s[%d]", at, i), value)...)
		}
	default:
		kind := map[bool]string{true: "null", false: strings.TrimSuffix(fmt.Sprintf("%T", v), "64")}[v == nil]
		kind = strings.NewReplacer("float", "number", "bool", "boolean").Replace(kind)
		allowed := strings.ReplaceAll(fmt.Sprint(s.Type), "integer", "number")
		if !strings.Contains(allowed, kind) || s.Enum != nil && !slices.Contains(s.Enum, v) {
			wrong = append(wrong, fmt.Sprintf("%s is %v, not %s %v", at, v, allowed, s.Enum))
		}
	}
	return wrong
}

// TestAnswersAreAsDescribed compares jobs in all their states with openapi.json.
func TestAnswersAreAsDescribed(t *testing.T) {
	file, err := os.ReadFile("../../server/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Components struct{ Schemas map[string]schema }
		Paths      map[string]map[string]any
	}
	if err := json.Unmarshal(file, &document); err != nil {
		t.Fatal(err)
	}
	all := document.Components.Schemas
	b := newBench(t, Options{})
	check := func(name, method, path, body string) {
		t.Helper()
		status, text := b.ask(method, path, strings.NewReader(body))
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatalf("%d %s: %v", status, text, err)
		}
		for _, wrong := range all[name].conform(all, name, v) {
			t.Errorf("%s %s: %s", method, path, wrong)
		}
	}
	check("Job", "POST", "/v1/try?name=a.csv", flowers(90))
	check("Job", "POST", "/v1/try/1/train", `{"bits":4}`)
	check("Job", "GET", "/v1/try/1", "")
	b.wait("1", stateDone)
	check("Job", "GET", "/v1/try/1", "")
	check("Job", "POST", "/v1/try?name=a.npy", npy(60, 2, func(i, j int) float32 { return float32(i * j) }))
	check("Job", "POST", "/v1/try/2/labels", strings.Repeat("a\nb\n", 30))
	check("Job", "POST", "/v1/try?name=a.zip", pets(t, func(map[string][]byte) {}))
	check("Jobs", "GET", "/v1/try", "")
	check("Error", "GET", "/v1/try/9", "")
	check("Job", "DELETE", "/v1/try/1", "")
	for _, path := range []string{"", "/{job}", "/{job}/labels", "/{job}/train", "/{job}/cancel", "/samples/{name}"} {
		if document.Paths["/v1/try"+path] == nil {
			t.Errorf("/v1/try%s is not described", path)
		}
	}
	for _, bad := range []any{map[string]any{"id": 1.0}, map[string]any{"more": "x"}} { // the check itself can fail
		if len(all["Job"].conform(all, "Job", bad)) == 0 {
			t.Errorf("%v passes", bad)
		}
	}
}

// TestManySmallClasses checks data whose classes have few rows each.
func TestManySmallClasses(t *testing.T) {
	b := newBench(t, Options{})
	for each := 2; each <= 5; each++ {
		var s strings.Builder
		s.WriteString("x,y,kind\n")
		for i := range 20 * each {
			fmt.Fprintf(&s, "%d,%d,k%d\n", i%20, i%20*i%7, i%20)
		}
		j := b.must("POST", "/v1/try?name=small.csv&bits=4&train=true", s.String())
		j = b.wait(j.ID, stateDone)
		if few := !strings.Contains(j.Result.Summary, "%"); j.Result.Summary == "" || len(j.Result.Rows) < 3 || few != (each < 4) {
			t.Errorf("%d rows of %d in a class: %s", len(j.Result.Rows), each, j.Result.Summary)
		}
	}
}
