package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"hashgrove/api"
	"hashgrove/internal/cli"
	"hashgrove/internal/dataset"
	"hashgrove/internal/hamming"
	"hashgrove/internal/search"
	"hashgrove/internal/store"
	"hashgrove/server"
)

// indexed makes the shop, a model m.hgm of 16 bits, and the index items.hgi of items.csv with the attribute f0. The
// model is a poor one, so that codes differ.
func indexed(t *testing.T) {
	t.Helper()
	shop(t)
	succeed(t, "train", "items.csv", "--label", "category", "--id-column", "sku", "--bits", "16", "--effort", "paper",
		"--rounds", "2", "--depth", "1", "-o", "m.hgm")
	succeed(t, shellWords("index build -o items.hgi items.csv --label category --id-column sku --model m.hgm --attributes items.csv --attribute-columns f0")...)
}

// hit is one of search --json.
type hit struct {
	ID         string             `json:"id"`
	Distance   int                `json:"distance"`
	Label      string             `json:"label"`
	Attributes map[string]float64 `json:"attributes"`
	Score      *float64           `json:"score"`

	MarginDistance *int `json:"margin_distance"`
}

// found is what search --json says.
type found struct {
	Index       string  `json:"index"`
	Items       int     `json:"items"`
	Bits        int     `json:"bits"`
	Fingerprint string  `json:"fingerprint"`
	Seconds     float64 `json:"seconds"`
	Rank        string  `json:"rank"`
	Results     []struct {
		Query string `json:"query"`
		Label string `json:"label"`
		Code  string `json:"code"`
		Hits  []hit  `json:"hits"`

		Tied     int `json:"tied"`
		TiedHits int `json:"tied_hits"`
		Compared int `json:"compared"`

		Why *struct {
			ID            string `json:"id"`
			Distance      int    `json:"distance"`
			Agree, Differ []int
			Bits          []any
		} `json:"why"`
	} `json:"results"`
}

func searched(t *testing.T, line string) found {
	t.Helper()
	out := succeed(t, append(shellWords("search "+line), "--json")...)
	var f found
	if err := json.Unmarshal([]byte(out), &f); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return f
}

// item is a row of a shop's table as the test knows it.
type item struct {
	id, label string
	code      []byte
	vector    []float64
}

// tableItems reads a table of the shop and its codes in the plainest way.
func tableItems(t *testing.T, table string) []item {
	t.Helper()
	codes := strings.Fields(succeed(t, "encode", "-m", "m.hgm", table, "--label", "category", "--id-column", "sku", "--to", "hex", "-o", "-"))
	var list []item
	for i, line := range strings.Split(strings.TrimSpace(string(read(t, table))), "\n")[1:] {
		fields := strings.Split(line, ",")
		it := item{id: fields[0], label: fields[1]}
		it.code, _ = hex.DecodeString(codes[i])
		for _, f := range fields[2:] {
			x, err := strconv.ParseFloat(f, 32)
			if err != nil {
				t.Fatal(err)
			}
			it.vector = append(it.vector, float64(float32(x)))
		}
		list = append(list, it)
	}
	return list
}

// TestManyQueriesAreOneByOne: from some number on queries are answered by an index in memory, like one on disk.
func TestManyQueriesAreOneByOne(t *testing.T) {
	indexed(t)
	succeed(t, shellWords("encode -m m.hgm new.csv --label category --id-column sku -o new.hgc")...)
	const manyQueries = 1 << 10 // of package hashgrove
	once := searched(t, `items.hgi new.hgc -k 5 --where 'label != "boots"'`).Results
	files := strings.Repeat(" new.hgc", manyQueries/len(once)+1)
	many := searched(t, `items.hgi`+files+` -k 5 --where 'label != "boots"'`).Results
	if len(once) >= manyQueries || len(many) < manyQueries {
		t.Fatalf("%d and %d queries", len(once), len(many))
	}
	for i, r := range many {
		if !reflect.DeepEqual(r.Hits, once[i%len(once)].Hits) {
			t.Fatalf("query %d: %v, alone %v", i, r.Hits, once[i%len(once)].Hits)
		}
	}
}

func TestExplain(t *testing.T) {
	indexed(t)
	const line = "items.hgi new.csv --row 2 --explain --rerank items.csv --id-column sku"
	r := searched(t, line).Results[0]
	w := r.Why
	if w == nil || w.ID != r.Hits[0].ID || len(w.Differ) != w.Distance || len(w.Bits) != 16 {
		t.Fatalf("the first hit is explained by %+v", w)
	}
	out := succeed(t, shellWords("search "+line)...)
	for _, want := range []string{cli.Ranges(w.Agree),
		cli.Ranges(w.Differ), "│ agrees", "threshold"} {
		if !strings.Contains(out, want) {
			t.Errorf("search --explain does not say %q:\n%s", want, out)
		}
	}
}

func TestSearchPrintsTablesAndCSV(t *testing.T) {
	indexed(t)
	out := succeed(t, shellWords("search items.hgi new.csv --label category --id-column sku --row 0 -k 3")...)
	for _, want := range []string{"new-0 (", "│ id", "│ distance │ margin_distance │ label", "│ f0", "items-"} {
		if !strings.Contains(out, want) {
			t.Errorf("search does not print %q:\n%s", want, out)
		}
	}
	out = succeed(t, shellWords("search items.hgi --id items-3 -k 2 --to csv")...)
	if lines := strings.Split(strings.TrimSpace(out), "\n"); len(lines) != 3 || lines[0] != "query,rank,id,distance,margin_distance,label,f0" || !strings.HasPrefix(lines[1], "items-3,1,items-") {
		t.Errorf("the table is\n%s", out)
	}
	out = succeed(t, shellWords("search items.hgi --id items-3 -k 1 --to csv --fields label,rank,nothing")...)
	if lines := strings.Split(strings.TrimSpace(out), "\n"); len(lines) != 2 || lines[0] != "label,rank,nothing" || !strings.HasSuffix(lines[1], ",1,") {
		t.Errorf("the table is\n%s", out)
	}
	out = succeed(t, shellWords(`search items.hgi --id items-3 --where 'label = "socks"'`)...)
	if !strings.Contains(out, "items-3 (") || !strings.Contains(out, "nothing found") {
		t.Errorf("nothing is %s", out)
	}

	// A stored text cannot command the terminal.
	write(t, "evil.csv", "id,label,a,b\nx,\"\x1b[31mred\",1,2\ny,ok,3,4\nz,ok,3,5\n")
	succeed(t, shellWords("train evil.csv --bits 2 --rounds 2 -o evil.hgm")...)
	succeed(t, shellWords("index build -o evil.hgi evil.csv --model evil.hgm")...)
	if out := succeed(t, shellWords("search evil.hgi --id x")...); strings.Contains(out, "\x1b[31mred") || !strings.Contains(out, `\x1b[31mred`) {
		t.Errorf("the terminal gets %q", out)
	}
}

// TestSearchMistakes checks how mistakes are reported.
func TestSearchMistakes(t *testing.T) {
	indexed(t)
	succeed(t, shellWords("train items.csv --label category --id-column sku --bits 16 --rounds 3 -o other.hgm")...)
	succeed(t, shellWords("encode -m other.hgm new.csv --label category --id-column sku -o other.hgc")...)
	succeed(t, shellWords("encode -m m.hgm new.csv --label category --id-column sku -o new.hgc")...)
	succeed(t, shellWords("encode -m m.hgm new.csv --label category --id-column sku --prefix 8 -o short.hgc")...)
	succeed(t, shellWords("index build -o codes.hgi new.hgc")...)
	write(t, "narrow.csv", "1,2,3\n4,5,6\n")
	write(t, "named.csv", "a,b,c\n1,2,3\n")
	write(t, "nan.csv", strings.Join(strings.Split(string(read(t, "new.csv")), "\n")[:2], "\n")+"\nz,hats,1,NaN,1,1,1,1,1,1,1,1,1,1\n")
	write(t, "damaged.hgi", string(damage(read(t, "items.hgi"))))
	write(t, "cut.hgi", string(read(t, "items.hgi")[:5000]))
	write(t, "empty.hgi", "")
	models := fingerprint(t, "m.hgm") + " " + fingerprint(t, "other.hgm")
	for _, c := range []struct {
		args, want string // what follows search, and what unlike takes
		is         error
	}{
		{"", "2 wrong-arguments search", nil},
		{"items.hgi", "2 missing-query --id --code", nil},
		{"items.hgi new.csv --id items-3", "2 conflicting-flags --id --code", nil},
		{"nowhere.hgi --id x", "1 - nowhere.hgi", fs.ErrNotExist},
		{"items.hgi nowhere.csv", "1 - nowhere.csv", nil},
		{"items.csv --id x", "1 - items.csv", hamming.ErrKind},
		{"empty.hgi --id x", "1 - empty.hgi", hamming.ErrKind},
		{"m.hgm --id x", "1 - m.hgm", hamming.ErrKind},
		{"items.hgi new.csv -k 0", "2 bad-flag-value -k 0", nil},
		{"items.hgi new.csv -k -1", "2 bad-flag-value -k -1", nil},
		{"items.hgi new.csv --radius -1", "2 bad-flag-value --radius -1", nil},
		{"items.hgi new.csv --prefix 17", "2 bad-flag-value --prefix 17 16", nil},
		{"items.hgi new.csv --row 80", "1 - new.csv 80 79", nil},
		{"items.hgi new.hgc --row 80", "1 - new.hgc 80 79", nil},
		{"items.hgi new.csv --row -1", "2 bad-flag-value --row", nil},
		{"items.hgi --id items-3 --row 1", "2 bad-flag-value --row", nil},
		{"items.hgi --id items-400", `1 - items.hgi "items-400"`, nil},
		{"items.hgi --code 12", "2 bad-flag-value --code 12 16 4", nil},
		{"items.hgi --code wxyz", "2 bad-flag-value --code wxyz 16 4", nil},
		{"items.hgi --id items-3 --where 'label == '", "2 bad-filter --where 10", nil},
		{"items.hgi --id items-3 --where 'label boots'", `2 bad-filter --where 7 "boots"`, nil},
		{"items.hgi --id items-3 --to xml", "2 bad-flag-value --to xml table csv json jsonl", nil},
		{"items.hgi --id items-3 --to csv --explain", "2 conflicting-flags --explain --json csv", nil},
		{"items.hgi narrow.csv", "1 wrong-dimensions narrow.csv 3 12", nil},
		{"items.hgi named.csv", "1 - named.csv f0..f11", nil},
		{"items.hgi other.hgc", "1 - other.hgc " + models, nil},
		{"items.hgi short.hgc", "1 - short.hgc 8 16", nil},
		{"items.hgi new.hgc new.csv", "2 -", dataset.ErrMixed},
		{"items.hgi new.hgc other.hgc", "1 - other.hgc new.hgc " + models, nil},
		{"items.hgi new.hgc --rank margins", "2 needs-vectors --rank margins", nil},
		{"items.hgi --id items-3 --rank margins", "2 needs-vectors --rank margins", nil},
		{"items.hgi --code ffff --rank margins", "2 needs-vectors --rank margins", nil},
		{"items.hgi new.csv --rank certainty", "2 bad-flag-value --rank certainty hamming margins", nil},
		{"items.hgi --code ffff --rerank items.csv", "2 needs-vectors --rerank", nil},
		{"items.hgi new.hgc --rerank items.csv --id-column sku", "2 needs-vectors --rerank", nil},
		{"items.hgi new.csv --rerank items.csv", `1 - --rerank: --id-column`,
			search.ErrNoVectors},
		{"items.hgi new.csv --rerank new.csv --id-column sku", `1 - --rerank: "items-`, search.ErrNoVectors},
		{"items.hgi new.csv --rerank narrow.csv", "1 - --rerank: 3 12", nil},
		{"items.hgi new.csv --rerank cosine", "2 missing-flag --rerank cosine", nil},
		{"codes.hgi new.csv", "1 needs-model codes.hgi new.csv --id --code --model", nil},
		{"damaged.hgi --id items-3", "1 - damaged.hgi", store.ErrDamaged},
		{"cut.hgi --id items-3", "1 - cut.hgi", store.ErrDamaged},
	} {
		o := try(t, append([]string{"search"}, shellWords(c.args)...)...)
		if d := o.unlike(c.want, c.is); d != "" || strings.Contains(o.err, "goroutine") ||
			strings.Count(o.err, "\n") != 1 || o.out != "" {
			t.Errorf("hashgrove search %s: %s\n%s%s", c.args, d, o.err, o.out)
		}
	}
	if o := try(t, "search", "items.hgi", "nan.csv"); !o.badRow("nan.csv", 1, "f1") || strings.Count(o.err, "\n") != 1 ||
		o.out != "" {
		t.Errorf("a value that is none: exit %d, %s%s", o.code, o.err, o.out)
	}
}

// fingerprint is what info says of a file.
func fingerprint(t *testing.T, path string) string {
	t.Helper()
	return informed(t, path).Fingerprint
}

// damage changes one bit of every kilobyte.
func damage(b []byte) []byte {
	for i := 600; i < len(b); i += 1024 {
		b[i] ^= 4
	}
	return b
}

// TestRankIsShown looks at the table and the CSV of a search by margins.
func TestRankIsShown(t *testing.T) {
	indexed(t)
	line := "items.hgi new.csv --label category --id-column sku --row 0 -k 4 --rank margins"
	r := searched(t, line).Results[0]
	last := r.Hits[len(r.Hits)-1]
	out := succeed(t, shellWords("search "+line+" --explain")...)
	if lack := lacks(out, "margin_distance", fmt.Sprint(*last.MarginDistance)); lack != "" {
		t.Error(lack)
	}
	csv := succeed(t, shellWords("search "+line+" --to csv --fields id,margin_distance")...)
	if want := fmt.Sprintf("id,margin_distance\n%s,%d\n", r.Hits[0].ID, *r.Hits[0].MarginDistance); !strings.HasPrefix(csv, want) {
		t.Errorf("%q, want %q first", csv, want)
	}
}

// TestSearchInAService: the same line gives the same answer from the file and from a service that serves it.
func TestSearchInAService(t *testing.T) {
	indexed(t)
	succeed(t, shellWords("encode -m m.hgm new.csv --label category --id-column sku -o new.hgc")...)
	address := serveItems(t, "items.hgi")
	for _, line := range []string{
		"items.hgi new.csv --label category --id-column sku --row 0,3,4 -k 5",
		"items.hgi new.csv --vector f* --row 1 --rank margins --where 'label = \"hats\"'",
		"items.hgi --id items-7,items-8 --radius 2",
		"items.hgi --code ffff --explain -k 3",
		"items.hgi new.hgc --row 3 --prefix 8",
		"items.hgi new.csv --label category --id-column sku --row 2 --rank margins -k 20",
	} {
		want, got := searched(t, line), searched(t, line+" --server "+address)
		want.Seconds, got.Seconds = 0, 0
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", line, got, want)
		}
	}
	for _, c := range []struct {
		line, want string
	}{
		{"search items.hgi --id nobody --server " + address, "1 - nobody"},
		{"search nowhere --id items-7 --server " + address, "1 - nowhere"},
		{"search items.hgi --id items-7 -k 0 --server " + address, "2 bad-flag-value -k 0"},
		{"search items.hgi --id items-7 --rerank items.csv --server " + address, "2 conflicting-flags --rerank"},
		{"search items.hgi --id items-7 --token-file x", "2 missing-flag --server"},
		{"search items.hgi --id items-7 --server http://127.0.0.1:1", "1 - 127.0.0.1:1"},
	} {
		o := try(t, shellWords(c.line)...)
		if d := o.unlike(c.want); d != "" {
			t.Errorf("%s: %s", c.line, d)
		}
	}
}

// serveItems serves a copy of items.hgi under a name, so that the file itself stays free, and returns the address.
func serveItems(t *testing.T, name string) string {
	t.Helper()
	write(t, "served.hgi", string(read(t, "items.hgi")))
	s, err := server.New(t.Context(), server.Options{
		Collections: []server.CollectionOptions{{Name: name, Path: "served.hgi"}}, ReadOnly: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		h.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return h.URL
}

// TestIDQueries: a text with commas is one id if there is such an item, else a list.
func TestIDQueries(t *testing.T) {
	has := func(id api.ID) error {
		if id == "a,b" || id == "c" || id == "7" {
			return nil
		}
		return api.ErrNotFound
	}
	var ids []string
	for _, text := range []string{"a,b", "c,7", `"a,b",c`} {
		list, err := idQueries(has, text)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range list {
			ids = append(ids, string(q.ID))
		}
	}
	if strings.Join(ids, " ") != "a,b c 7 a,b c" {
		t.Errorf("%q", ids)
	}
	for _, text := range []string{"d", "c,d", `a"b`, ""} {
		if _, err := idQueries(has, text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
