package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hashgrove/index"
)

// described writes records in one line each.
func described(a *attributes) string {
	var b strings.Builder
	for _, r := range a.records {
		fmt.Fprintf(&b, "%s %s %v %v\n", r.id, r.label, r.tags, r.values)
	}
	return strings.TrimSpace(b.String())
}

func TestReadAttributes(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		name, text, id string
		keep           []string
		want           string
	}{
		{"a.csv", "id,price,zip,size\nx,1,012,\ny,2.5,123,L\n", "", nil, "x  [] map[price:1 zip:\"012\"]\ny  [] map[price:2.5 size:\"L\" zip:\"123\"]"},
		{"a.csv", "\xef\xbb\xbfid;label;tags\nx;boots;\"red | sale\"\n", "", nil, "x boots [red sale] map[]"},
		{"a.tsv", "sku\tid\tprice\nx\t7\t1e3\n", "sku", nil, "x  [] map[price:1000]"},
		{"a.csv", "sku,price,size\nx,1,2\n", "sku", []string{"size"}, "x  [] map[size:2]"},
		{"a.csv", "id,price\nx,1\n", "sku", nil, "x  [] map[price:1]"}, // the column of the data is not here
		{"a.csv", "price\n1\n\n2\n", "", nil, "[] map[price:1]\n  [] map[price:2]"},
		{"a.csv", "id,n\nx,NaN\ny,0x10\nz,Inf\n", "", nil, "x  [] map[n:\"NaN\"]\ny  [] map[n:\"0x10\"]\nz  [] map[n:\"Inf\"]"},
		{"a.jsonl", `{"id": 7, "price": 1.5, "new": true, "gone": null, "tags": ["a", "b"], "label": "hats"}` + "\n\n", "", nil, `7 hats [a b] map[new:"true" price:1.5]`},
		{"a.jsonl", `{"sku": "x", "v": [1, 2], "price": 3}`, "sku", []string{"price"}, "x  [] map[price:3]"},
	} {
		write(t, c.name, c.text)
		a, err := readAttributes(c.name, c.id, c.keep)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
		} else if got := described(a); got != c.want {
			t.Errorf("%q: got\n%s\nwant\n%s", c.text, got, c.want)
		}
	}
	for _, c := range []struct{ name, text, want string }{
		{"a.csv", "", "the file is empty"},
		{"a.csv", "id,id\n", `two columns are called "id"`},
		{"a.csv", "id,a\nx,1\ny\n", "line 3: wrong number of fields"},
		{"a.csv", "id,a\nx,1\ny,1\nx,2\n", `line 4 has the id "x" of line 2`},
		{"a.csv", "id,a\n,1\n", "line 2: an id is empty"},
		{"a.jsonl", "{\"id\": 1}\n[1]\n", "line 2: it is no JSON object"},
		{"a.jsonl", "{\"id\": 1, \"a\": {}}", `line 1: key "a": an attribute is a number or a text`},
		{"a.jsonl", "{\"id\": 1, \"a\": 1e999}", `key "a": the number 1e999 is too large`},
		{"a.jsonl", "{\"id\": 1, \"tags\": [1]}", `key "tags": tags are a list of texts`},
		{"a.jsonl", "{\"id\": 1}\n{\"a\": 1}", "line 2: either all lines have an id or none"},
	} {
		write(t, c.name, c.text)
		if _, err := readAttributes(c.name, "", nil); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.name) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
	write(t, "a.csv", "id,a\nx,1\n")
	if _, err := readAttributes("a.csv", "", []string{"b"}); err == nil || !strings.Contains(err.Error(), `no column or key "b"`) {
		t.Errorf("a missing column: %v", err)
	}
}

// FuzzReadAttributes: any bytes give an error, or records that an index can take.
func FuzzReadAttributes(f *testing.F) {
	f.Add("id,price\nx,1\n", false)
	f.Add("id;label;tags\nx;a;\"b|c\"\n", false)
	f.Add(`{"id": 7, "price": 1.5, "tags": ["a"]}`, true)
	f.Fuzz(func(t *testing.T, text string, lines bool) {
		path := filepath.Join(t.TempDir(), "a.csv")
		if lines {
			path = strings.TrimSuffix(path, "csv") + "jsonl"
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		a, err := readAttributes(path, "", nil)
		if err != nil {
			return
		}
		for i, r := range a.records {
			if a.byID != nil {
				if id, err := index.ParseID(r.id); err != nil || a.byID[id] != i {
					t.Fatalf("record %d has the id %q: %v", i, r.id, err)
				}
			}
			for name, v := range r.values {
				if x, ok := v.Number(); ok && (x != x || x-x != 0) {
					t.Fatalf("%q is %v", name, x)
				}
			}
		}
	})
}
