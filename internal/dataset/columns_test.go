package dataset

import (
	"context"
	"fmt"
	"testing"

	"github.com/parquet-go/parquet-go"

	"hashgrove/internal/vectors"
)

// wideTable is a file with more columns than those of the vector: two texts, a price and numbered ones.
const wideTable = "sku,name,price,e0,e1,e2,kind\nk1,hat,9.5,1,2,3,a\nk2,cap,8.5,4,5,6,b\n"

// TestChosenColumns: names, numbered ranges, ranges in the order of the file, patterns and lists of these.
func TestChosenColumns(t *testing.T) {
	const rows = "csv -1x%d; names %s; "
	for _, c := range []struct{ vector, want string }{
		{"e*", fmt.Sprintf(rows, 3, "e0,e1,e2") + "1 2 3; 4 5 6"},
		{"e0..e2", fmt.Sprintf(rows, 3, "e0,e1,e2") + "1 2 3; 4 5 6"},
		{"e2, price,e0..e1", fmt.Sprintf(rows, 4, "e2,price,e0,e1") + "3 9.5 1 2; 6 8.5 4 5"},
		{"price..e1", fmt.Sprintf(rows, 3, "price,e0,e1") + "9.5 1 2; 8.5 4 5"},
		{"e?,e1", fmt.Sprintf(rows, 3, "e0,e1,e2") + "1 2 3; 4 5 6"},
		{"*", fmt.Sprintf(rows, 4, "price,e0,e1,e2") + "9.5 1 2 3; 8.5 4 5 6"},
		{"4..5,3", fmt.Sprintf(rows, 3, "e0,e1,price") + "1 2 9.5; 4 5 8.5"},
		{"e0..e3", `error: no-such-column a.csv "e3" sku name price e0 e1 e2 kind`},
		{"e1..price", "error: wrong-order a.csv e1 price..e1"},
		{"x*", `error: no-such-column a.csv "x*" sku name price e0..e2 kind`},
		{"e[", `error: bad-pattern a.csv "e["`},
	} {
		path := fileOf(t, t.TempDir(), "a.csv", wideTable)
		checkDump(t, path, "", Spec{Vector: c.vector}, c.want)
	}
	runCases(t, []formatCase{
		{"range without head", "a.csv", "1,2,3\n4,5,6\n", Spec{Vector: "2..3"}, "csv -1x2; 2 3; 5 6"},
		{"pattern without head", "a.csv", "1,2,3\n4,5,6\n", Spec{Vector: "e*"}, `error: no-header a.csv "e*" 1 3`},
		{"padded", "a.csv", "e08,e09,e10\n1,2,3\n", Spec{Vector: "e08..e10"}, "csv -1x3; names e08,e09,e10; 1 2 3"},
	})
}

// TestSingleNumbersInJSONLines: keys of single numbers make a vector too, in the order asked for.
func TestSingleNumbersInJSONLines(t *testing.T) {
	const lines = `{"sku":"k1","e0":1,"e1":2,"m":{"w":-3.5}}` + "\n" + `{"m":{"w":6},"e1":5,"e0":4,"sku":"k2"}` + "\n"
	runCases(t, []formatCase{
		{"pattern", "a.jsonl", lines, Spec{Vector: "e*"}, "jsonl -1x2; names e0,e1; 1 2; 4 5"},
		{"list", "a.jsonl", lines, Spec{Vector: "m.w,e0", ID: "sku"}, "jsonl -1x2; names m.w,e0; -3.5 1 id k1; 6 4 id k2"},
		{"one", "a.jsonl", lines, Spec{Vector: "e1"}, "jsonl -1x1; names e1; 2; 5"},
		{"label too", "a.jsonl", lines, Spec{Vector: "e0,e1", Label: "e1"}, "jsonl -1x2; names e0,e1; 1 2 label 2; 4 5 label 5"},
		{"missing", "a.jsonl", lines + `{"e0":1}` + "\n", Spec{Vector: "e*"}, "jsonl -1x2; names e0,e1; 1 2; 4 5; bad: no-value at:a.jsonl:3:e1:3"},
		{"null", "a.jsonl", lines + `{"e0":null,"e1":1}` + "\n", Spec{Vector: "e*"}, "jsonl -1x2; names e0,e1; 1 2; 4 5; bad: no-value at:a.jsonl:3:e0:3"},
		{"twice", "a.jsonl", lines + `{"e0":1,"e0":2,"e1":1}` + "\n", Spec{Vector: "e*"}, "jsonl -1x2; names e0,e1; 1 2; 4 5; bad: duplicate-key at:a.jsonl:3:e0:3"},
		{"bare list", "a.jsonl", lines + "[7,8]\n[9]\n", Spec{Vector: "e*"}, "jsonl -1x2; names e0,e1; 1 2; 4 5; 7 8; bad: wrong-dim at:a.jsonl:4::4 1 2"},
		{"list among numbers", "a.jsonl", `{"a":1,"b":[1]}` + "\n", Spec{Vector: "a,b"}, "jsonl -1x-1; 1 1"},
		{"list by pattern", "a.jsonl", `{"a":1,"bee":[1,2]}` + "\n", Spec{Vector: "b*"}, "jsonl -1x-1; 1 2"},
		{"none", "a.jsonl", lines, Spec{}, "jsonl -1x3; names e0,e1,m.w; 1 2 -3.5; 4 5 6"},
	})
}

// TestColumnsAreSaid: what a table's columns are taken for.
func TestColumnsAreSaid(t *testing.T) {
	dir := t.TempDir()
	type row struct {
		SKU   string    `parquet:"sku"`
		Price float64   `parquet:"price"`
		V     []float32 `parquet:"v"`
		Kind  string    `parquet:"kind"`
	}
	if err := parquet.WriteFile(dir+"/a.parquet", []row{{"k1", 9.5, []float32{1, 2}, "a"}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		spec Spec
		want string
	}{
		{fileOf(t, dir, "a.csv", wideTable), Spec{Label: "kind", ID: "sku"}, "{[price e0 e1 e2] false kind  sku [name]}"},
		{fileOf(t, dir, "b.csv", wideTable), Spec{Vector: "e*", Tags: "kind", TagsAlone: true}, "{[e0 e1 e2] false  kind  [sku name price]}"},
		{fileOf(t, dir, "d.csv", "label,tags,e0\na,x,1\nb,y,2\n"), Spec{Tags: "tags", TagsAlone: true}, "{[e0] false  tags  [label]}"},
		{fileOf(t, dir, "c.csv", "1,2,x\n3,4,y\n"), Spec{Label: "3"}, "{[1 2] false 3   []}"},
		{fileOf(t, dir, "a.jsonl", `{"id":1,"v":[1,2],"m":{"w":1},"kind":"a"}`+"\n"), Spec{Vector: "v", Label: "kind"}, "{[v] true kind  id [m.w]}"},
		{dir + "/a.parquet", Spec{Label: "kind"}, "{[v] true kind   [sku price]}"},
		{dir + "/a.parquet", Spec{Vector: "pr*", Label: "kind"}, "{[price] false kind   [sku v]}"},
	} {
		c.spec.Paths = []string{c.path}
		s, err := Open(c.spec)
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
		} else if got := fmt.Sprint(s.Columns()); got != c.want {
			t.Errorf("%s: columns %s, want %s", c.path, got, c.want)
		}
	}
}

// readAll reads all rows, as texts.
func readAll(t *testing.T, spec Spec) (string, error) {
	t.Helper()
	s, err := Open(spec)
	if err != nil {
		return "", err
	}
	all, err := vectors.Read(context.Background(), s)
	return fmt.Sprint(all.X.Data, all.Labels, all.Tags), err
}

// TestKnownColumns: a table is read as the one that a model was learned from, whatever else is in it.
func TestKnownColumns(t *testing.T) {
	dir := t.TempDir()
	known := &Columns{Vector: []string{"a", "b"}, Label: "kind"}
	type row struct {
		B    float64 `parquet:"b"`
		Kind string  `parquet:"kind"`
		A    float64 `parquet:"a"`
		N    float64 `parquet:"n"`
	}
	if err := parquet.WriteFile(dir+"/a.parquet", []row{{2, "x", 1, 7}, {4, "y", 3, 7}}); err != nil {
		t.Fatal(err)
	}
	got, err := readAll(t, Spec{Paths: []string{dir + "/a.parquet"}, Known: known})
	if want := "[1 2 3 4] [x y] []"; err != nil || got != want {
		t.Errorf("Parquet: %s, %v, want %s", got, err, want)
	}
	_, err = Open(Spec{Paths: []string{dir + "/a.parquet"}, Vector: "e*"})
	setWant(t, dir, err, `no-such-column a.parquet "e*" b kind a n`)
	for name, c := range map[string]struct{ content, want string }{
		"f.csv":   {"a,b,a\n1,2,9\n3,4,9\n", "[1 2 9 3 4 9] [] []"}, // two columns of one name: all of them
		"a.csv":   {"kind,n,b,a\nx,7,2,1\ny,7,4,3\n", "[1 2 3 4] [x y] []"},
		"b.csv":   {"b,a\n2,1\n4,3\n", "[1 2 3 4] [] []"},
		"c.jsonl": {`{"b":2,"a":1,"n":7}` + "\n" + `{"a":3,"b":4}` + "\n", "[1 2 3 4] [] []"},
		"d.csv":   {"1,2\n3,4\n", "[1 2 3 4] [] []"},
		"e.csv":   {"c,d\n1,2\n3,4\n", "[1 2 3 4] [] []"}, // the caller compares the names
	} {
		got, err := readAll(t, Spec{Paths: []string{fileOf(t, dir, name, c.content)}, Known: known})
		if err != nil || got != c.want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, c.want)
		}
	}
}

// TestFilesWithOtherOrder: the columns of all files are those of the first, whatever their order.
func TestFilesWithOtherOrder(t *testing.T) {
	dir := t.TempDir()
	a := fileOf(t, dir, "a.csv", "a,b,kind\n1,2,x\n")
	b := fileOf(t, dir, "b.csv", "n,kind,b,a\n7,y,4,3\n")
	got, err := readAll(t, Spec{Paths: []string{a, b}, Label: "kind"})
	if want := "[1 2 3 4] [x y] []"; err != nil || got != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	got, err = readAll(t, Spec{Paths: []string{a, b}, Vector: "?", Label: "kind"})
	if want := "[1 2 3 4] [x y] []"; err != nil || got != want {
		t.Errorf("by a pattern %s, %v, want %s", got, err, want)
	}
	c := fileOf(t, dir, "c.csv", "a,d,kind\n5,6,z\n")
	_, err = Open(Spec{Paths: []string{a, c}, Label: "kind"})
	setWant(t, dir, err, "no-such-column c.csv b a.csv")
}

// TestTagsAlone: classes that come with a file do not hide the tags asked for.
func TestTagsAlone(t *testing.T) {
	dir := t.TempDir()
	tags := fileOf(t, dir, "tags.txt", "u,v\nw\n")
	path := fileOf(t, dir, "a.csv", "label,a,b\nx,1,2\ny,3,4\n")
	got, err := readAll(t, Spec{Paths: []string{path}, Tags: tags, TagsAlone: true})
	if want := "[1 2 3 4] [] [[u v] [w]]"; err != nil || got != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	if _, err := Open(Spec{Paths: []string{dir + "/a.csv"}, Label: "label", Tags: tags, TagsAlone: true}); err == nil {
		t.Error("labels were named, and only tags were to count")
	}
}
