package engine_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/engine"
	"hashgrove/internal/fault"
	"hashgrove/internal/index"
	"hashgrove/internal/testkit/needs"
)

// bash runs a command line as a user would.
func bash(t *testing.T, line string) (string, error) {
	t.Helper()
	out, err := exec.Command("bash", "-c", line).CombinedOutput()
	return string(out), err
}

// startOf starts a fake and opens a table there.
var startOf = map[string]func(t *testing.T) (*fake, engine.Engine){
	"opensearch": func(t *testing.T) (*fake, engine.Engine) {
		s := newElasticFake(t, true)
		return s.fake, openTable(t, s.address("opensearch"), "it$ems")
	},
	"elasticsearch": func(t *testing.T) (*fake, engine.Engine) {
		s := newElasticFake(t, false)
		return s.fake, openTable(t, s.address("elasticsearch"), "items")
	},
	"qdrant": func(t *testing.T) (*fake, engine.Engine) {
		s := newQdrantFake(t)
		return s.fake, openTable(t, s.address("qdrant"), "it's $HOME")
	},
	"milvus": func(t *testing.T) (*fake, engine.Engine) {
		m, e := startMilvus(t)
		return m.fake, e
	},
	"weaviate": func(t *testing.T) (*fake, engine.Engine) {
		w, e := startWeaviate(t)
		return w.fake, e
	},
}

// TestBulkLines sends the files of every engine as they say that they are sent: what comes is what a push sends.
func TestBulkLines(t *testing.T) {
	for _, program := range []string{"bash", "split", "curl"} {
		needs.Program(t, needs.Shell, program)
	}
	home := t.TempDir()
	t.Setenv("CURL_HOME", home)
	header := "header = \"Api-Key: hunter2hunter2\"\nheader = \"Authorization: Bearer hunter2hunter2\"\n"
	if err := os.WriteFile(filepath.Join(home, ".curlrc"), []byte(header), 0o600); err != nil {
		t.Fatal(err)
	}
	for scheme, start := range startOf {
		for _, detail := range []int{0, 20} {
			t.Run(fmt.Sprint(scheme, " ", detail), func(t *testing.T) { checkBulkLines(t, start, detail) })
		}
	}
}

func checkBulkLines(t *testing.T, start func(t *testing.T) (*fake, engine.Engine), detail int) {
	b, source := oddItems(t, 64, detail)
	f, pushed := start(t)
	if _, err := engine.Push(t.Context(), pushed, b, engine.PushOptions{Batch: 500, InFlight: 1}); err != nil {
		t.Fatal(err)
	}
	want := f.log()
	f, e := start(t)
	path, load := writeBulk(t, e, source, "jsonl")
	if _, err := e.Prepare(t.Context(), source.Space); err != nil {
		t.Fatal(err)
	}
	f.log()
	_, command, _ := strings.Cut(load, "then: ")
	command, _, _ = strings.Cut(command, path)
	if out, err := bash(t, command+path); err != nil {
		t.Fatalf("%s: %v: %s", command, err, out)
	}
	got := f.log()
	first, _, _ := strings.Cut(got[len(got)-1], "\n")
	written := func(q string) bool { return strings.HasPrefix(q, first) }
	got, want = filter(got, written), filter(want, written)
	if len(got) < 3 || !slices.Equal(got, want) {
		t.Errorf("%d requests, where a push sends %d: %.1000s\n%.1000s", len(got), len(want), got[0], want[0])
	}
	checkHeld(t, e, b)
}

func filter(list []string, keep func(string) bool) (kept []string) {
	for _, s := range list {
		if keep(s) {
			kept = append(kept, strings.TrimSuffix(s, "\n")) // split keeps the ends of lines
		}
	}
	return kept
}

// bulkObjects returns the objects in the lines of a bulk file.
func bulkObjects(t *testing.T, scheme string, text []byte) (objects []map[string]any) {
	t.Helper()
	for i, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		var body map[string]any
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		if err := d.Decode(&body); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		switch list := []any{body}; scheme {
		case "opensearch", "elasticsearch":
			if i%2 == 1 {
				objects = append(objects, body)
			}
		default:
			for _, name := range []string{"points", "objects", "data"} {
				if l, ok := body[name].([]any); ok {
					list = l
				}
			}
			for _, o := range list {
				object := o.(map[string]any)
				properties, _ := object["properties"].(map[string]any)
				for name, v := range properties {
					object[name] = v
				}
				objects = append(objects, object)
			}
		}
	}
	return objects
}

// isSame reports whether a value of a table is that of a document.
func isSame(value, document any) bool {
	switch v := value.(type) {
	case nil:
		return document == nil
	case string:
		var parsed any
		d := json.NewDecoder(strings.NewReader(v))
		d.UseNumber()
		return fmt.Sprint(document) == v || d.Decode(&parsed) == nil && reflect.DeepEqual(parsed, document)
	case []byte:
		code, err := base64.StdEncoding.DecodeString(document.(string))
		return err == nil && bytes.Equal(code, v)
	case []string:
		return len(v) == 0 && document == nil || slices.Equal(v, texts(document))
	}
	return fmt.Sprint(value) == fmt.Sprint(document) // numbers
}

// TestBulkTables: a table has the values of the lines, in columns of the types that it tells.
func TestBulkTables(t *testing.T) {
	_, source := oddItems(t, 64, 20)
	for scheme, start := range startOf {
		t.Run(scheme, func(t *testing.T) {
			_, e := start(t)
			var lines bytes.Buffer
			if _, err := layoutOf(t, e, source.Space, "jsonl").WriteText(t.Context(), &lines, source, nil); err != nil {
				t.Fatal(err)
			}
			objects, l, at := bulkObjects(t, scheme, lines.Bytes()), layoutOf(t, e, source.Space, "parquet"), 0
			n, err := l.WriteRows(t.Context(), source, nil, func(row []any) error {
				for j, name := range l.Columns {
					if row[j] != nil && reflect.TypeOf(row[j]) != reflect.TypeOf(l.Samples[j]) || !isSame(row[j], objects[at][name]) {
						return fmt.Errorf("%s is %#v, and in the lines %v", name, row[j], objects[at][name])
					}
				}
				at++
				return nil
			})
			if n != source.Items || err != nil || len(objects) != n {
				t.Errorf("%d rows of %d, %v", n, len(objects), err)
			}
		})
	}
}

// TestMilvusImport: the list of objects has what an upsert has, with the bytes of codes as numbers.
func TestMilvusImport(t *testing.T) {
	_, e := startMilvus(t)
	_, source := oddItems(t, 13, 0)
	var lines, list bytes.Buffer
	if _, err := layoutOf(t, e, source.Space, "jsonl").WriteText(t.Context(), &lines, source, nil); err != nil {
		t.Fatal(err)
	}
	l := layoutOf(t, e, source.Space, "json")
	if _, err := l.WriteText(t.Context(), &list, source, nil); err != nil {
		t.Fatal(err)
	}
	var rows []map[string]any
	d := json.NewDecoder(&list)
	d.UseNumber()
	if err := d.Decode(&rows); err != nil || len(rows) != source.Items {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i, o := range bulkObjects(t, "milvus", lines.Bytes()) {
		code, err := base64.StdEncoding.DecodeString(o["code"].(string))
		if err != nil || len(code) != 2 || fmt.Sprint(rows[i]["code"]) != fmt.Sprint(code) {
			t.Fatalf("%v is not %v, %v", rows[i]["code"], code, err)
		}
		delete(o, "code")
		delete(rows[i], "code")
		if !reflect.DeepEqual(o, rows[i]) {
			t.Fatalf("%v, want %v", rows[i], o)
		}
	}
	if !strings.Contains(l.Load, `POST /v2/vectordb/jobs/import/create`) || !strings.Contains(l.Load, `"files":[["FILE"]]`) {
		t.Errorf("it says %s", l.Load)
	}
}

// TestBulkOfNothing: a source without items gives a file that is whole.
func TestBulkOfNothing(t *testing.T) {
	_, source := oddItems(t, 64, 0)
	_, e := startMilvus(t)
	source.Items = 0
	source.Each = func(context.Context, func(*index.Batch) error) error { return nil }
	for form, want := range map[string]string{"json": "[\n\n]\n", "jsonl": ""} {
		var out bytes.Buffer
		if n, err := layoutOf(t, e, source.Space, form).WriteText(t.Context(), &out, source, nil); n != 0 || err != nil || out.String() != want {
			t.Errorf("%s: %q, %v", form, out.String(), err)
		}
	}
}

// TestBulkRefusesTexts: an item with a text that an engine cannot hold ends each of its files with the id.
func TestBulkRefusesTexts(t *testing.T) {
	b, _ := oddItems(t, 64, 0)
	b.Labels[3], b.IDs[3] = "no \xff text", index.Text("culprit")
	source, err := engine.FromBatch(b)
	if err != nil {
		t.Fatal(err)
	}
	engines := map[string]engine.Engine{"redis": openTarget(t, engine.Target{URL: "redis://localhost"})}
	for scheme, start := range startOf {
		_, engines[scheme] = start(t)
	}
	for scheme, e := range engines {
		layouts := e.(engine.Loader).Layouts(source.Space)
		for _, l := range layouts {
			var err error
			if l.IsTable() {
				_, err = l.WriteRows(t.Context(), source, nil, func([]any) error { return nil })
			} else {
				_, err = l.WriteText(t.Context(), &bytes.Buffer{}, source, nil)
			}
			if d := fault.Differs(err, "not-utf8", `"culprit"`); d != "" {
				t.Errorf("%s, %s: %s", scheme, l.Name, d)
			}
		}
		if len(layouts) < 2 {
			t.Errorf("%s has %d forms", scheme, len(layouts))
		}
	}
}
