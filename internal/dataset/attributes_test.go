package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go/deprecated"

	"hashgrove/internal/dataset/columnfile"
	"hashgrove/internal/index"
)

// described writes records in one line each.
func described(a *Attributes) string {
	var b strings.Builder
	for _, it := range a.items {
		values, id := map[string]string{}, ""
		for name, v := range it.Attributes {
			values[name] = v.String()
		}
		if a.byID != nil {
			id = it.ID.String()
		}
		fmt.Fprintf(&b, "%s %s %v %v\n", id, it.Label, it.Tags, values)
	}
	return strings.TrimSpace(b.String())
}

func readAttributes(path, id string, columns []string) (*Attributes, error) {
	return OpenAttributes(AttributeSpec{Path: path, ItemID: id, Columns: columns})
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
		{"a.csv", "id,n\nx,9007199254740993\ny,1\n", "", nil, "x  [] map[n:\"9007199254740993\"]\ny  [] map[n:\"1\"]"}, // it would be rounded
		{"a.csv", "id,n\nx,NaN\ny,0x10\nz,Inf\n", "", nil, "x  [] map[n:\"NaN\"]\ny  [] map[n:\"0x10\"]\nz  [] map[n:\"Inf\"]"},
		{"a.jsonl", `{"id": 7, "price": 1.5, "new": true, "gone": null, "tags": ["a", "b"], "label": "hats"}` + "\n\n", "", nil, `7 hats [a b] map[new:"true" price:1.5]`},
		{"a.jsonl", `{"sku": "x", "v": [1, 2], "price": 3}`, "sku", []string{"price"}, "x  [] map[price:3]"},
	} {
		fileOf(t, ".", c.name, c.text)
		a, err := readAttributes(c.name, c.id, c.keep)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
		} else if got := described(a); got != c.want {
			t.Errorf("%q: got\n%s\nwant\n%s", c.text, got, c.want)
		}
	}
	for _, c := range []struct{ name, text, want string }{
		{"a.csv", "", "empty-file a.csv"},
		{"a.csv", "id,id\nx,y\n", `duplicate-column a.csv "id"`},
		{"a.jsonl", `{"id":1,"a":1,"a":2}`, `duplicate-key a.jsonl 1 "a"`},
		{"a.csv", "id,a\nx,1\ny\n", "wrong-count a.csv 3 1 2"},
		{"a.csv", "id,a\nx,1\ny,1\nx,2\n", `duplicate-id a.csv 4 "x"`},
		{"a.csv", "id,a\n,1\n", "no-id a.csv 2"},
		{"a.jsonl", "{\"id\": 1}\n[1]\n", `not-an-object a.jsonl 2 "[1]"`},
		{"a.jsonl", "{\"id\": 1, \"a\": {}}", `not-an-attribute set:Columns a.jsonl 1 "a"`},
		{"a.jsonl", "{\"id\": 1, \"a\": 1e999}", `out-of-range a.jsonl 1 "a" 1e999`},
		{"a.jsonl", "{\"id\": 1, \"a\": 9007199254740993}", `out-of-range a.jsonl 1 "a" 9007199254740993`},
		{"a.jsonl", "{\"id\": 1, \"tags\": {}}", `bad-tags a.jsonl 1 "tags"`},
		{"a.jsonl", "{\"id\": 1}\n{\"a\": 1}", "no-id a.jsonl 2"},
	} {
		fileOf(t, ".", c.name, c.text)
		_, err := readAttributes(c.name, "", nil)
		setWant(t, "", err, c.want)
	}
	fileOf(t, ".", "a.csv", "id,a\nx,1\n")
	_, err := readAttributes("a.csv", "", []string{"b"})
	setWant(t, "", err, `no-such-column set:Columns a.csv "b"`)
}

// soldItem is a row of a Parquet file with attributes of every kind.
type soldItem struct {
	ID     int64     `parquet:"id"`
	Price  float64   `parquet:"price"`
	Weight float32   `parquet:"weight"`
	New    bool      `parquet:"new"`
	Zip    string    `parquet:"zip"`
	Added  int32     `parquet:"added,date"`
	Sold   time.Time `parquet:"sold,timestamp(microsecond)"`
	Cost   int64     `parquet:"cost,decimal(2:12)"`
	Opens  int32     `parquet:"opens,time(millisecond)"`
	Key    [16]byte  `parquet:"key,uuid"`
	Stock  *int32    `parquet:"stock,optional"`
	Label  string    `parquet:"label"`
	Tags   []string  `parquet:"tags,list"`
}

func TestParquetAttributes(t *testing.T) {
	t.Chdir(t.TempDir())
	sold := time.Date(2024, 2, 29, 12, 30, 15, 250_000_000, time.UTC)
	three := int32(3)
	items := []soldItem{
		{7, 1.5, 0.1, true, "012", 19782, sold, -1250, 36_000_000, [16]byte{0xab, 15: 1}, &three, "hats", []string{"a", "b c"}},
		{8, math.NaN(), 2, false, "", -1, time.Unix(0, 0), 5, 0, [16]byte{}, nil, "", nil},
	}
	fileOf(t, ".", "a.parquet", parquetOf(items))
	for _, c := range []struct {
		columns []string
		want    string
	}{
		{nil, `7 hats [a b c] map[added:"2024-02-29" cost:-12.5 key:"ab000000-0000-0000-0000-000000000001" new:"true" ` +
			`opens:"10:00:00" price:1.5 sold:"2024-02-29T12:30:15.25Z" stock:3 weight:0.1 zip:"012"]` + "\n" +
			`8  [] map[added:"1969-12-31" cost:0.05 key:"00000000-0000-0000-0000-000000000000" new:"false" ` +
			`opens:"00:00:00" sold:"1970-01-01T00:00:00Z" weight:2]`},
		{[]string{"price", "label"}, "7 hats [] map[price:1.5]\n8  [] map[]"},
	} {
		a, err := readAttributes("a.parquet", "", c.columns)
		if err != nil {
			t.Fatal(err)
		}
		if got := described(a); got != c.want {
			t.Errorf("columns %v: got\n%s\nwant\n%s", c.columns, got, c.want)
		}
	}
	items[1].Price = math.Inf(1)
	fileOf(t, ".", "b.parquet", parquetOf(items))
	type listed struct {
		ID int64     `parquet:"id"`
		V  []float32 `parquet:"v,list"`
	}
	fileOf(t, ".", "c.parquet", parquetOf([]listed{{1, []float32{1}}}))
	for _, c := range []struct {
		file, want string
		columns    []string
	}{
		{"b.parquet", "out-of-range b.parquet 2 price +Inf", nil},
		{"c.parquet", `not-an-attribute set:Columns c.parquet "v"`, nil},
		{"c.parquet", `no-such-column set:Columns c.parquet "price"`, []string{"id", "price"}},
	} {
		_, err := readAttributes(c.file, "none", c.columns)
		setWant(t, "", err, c.want)
	}
}

// TestParquetInt96 reads the timestamps of older programs.
func TestParquetInt96(t *testing.T) {
	type event struct {
		At deprecated.Int96 `parquet:"at"`
	}
	const second = 1_000_000_000
	path := fileOf(t, t.TempDir(), "a.parquet", parquetOf([]event{{deprecated.Int96{90 * second % (1 << 32), 90 * second >> 32, 2440589}}}))
	a, err := readAttributes(path, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := described(a), `[] map[at:"1970-01-02T00:01:30"]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestAttributesAreRecognised: compressed or not, and whatever the name, the same records are read.
func TestAttributesAreRecognised(t *testing.T) {
	t.Chdir(t.TempDir())
	table, lines := "id,price,size\nx,1,L\n", `{"id": "x", "price": 1, "size": "L"}`+"\n"
	for name, content := range map[string]string{
		"a.csv.gz": gzipped(table), "b.csv": gzipped(table), "tabs": strings.ReplaceAll(table, ",", "\t"), "lines": zstded(lines),
		"quoted.csv": "\"id\" , price,\"size\"\n\n x , 1 ,\"L\"\n",
	} {
		a, err := readAttributes(fileOf(t, ".", name, content), "", nil)
		if err != nil {
			t.Error(err)
		} else if got, want := described(a), `x  [] map[price:1 size:"L"]`; got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	_, err := readAttributes(fileOf(t, ".", "a.bin", "\x00\x01\x02"), "", nil)
	setWant(t, "", err, "wrong-format a.bin CSV TSV JSON Parquet")
	if _, err := readAttributes("missing.jsonl", "", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// TestAttributesFindTheirItems: by id where the file has ids, else by row if the rows have none either; and mistakes are
// reported.
func TestAttributesFindTheirItems(t *testing.T) {
	t.Chdir(t.TempDir())
	fileOf(t, ".", "ids.csv", "id,n\nx,1\ny,2\n")
	fileOf(t, ".", "rows.csv", "n\n1\n2\n")
	fileOf(t, ".", "pandas.csv", ",n\n1,5\n0,6\n")
	fileOf(t, ".", "sku.csv", "sku,n\ny,1\nx,2\n")
	for _, c := range []struct {
		spec  AttributeSpec
		named bool
		ids   string
		want  string // numbers found, or the refusal
		join  Join
	}{
		{AttributeSpec{Path: "ids.csv"}, true, "y x z", "2 1 -", Join{"id", 2, 2, 0}},
		{AttributeSpec{Path: "ids.csv"}, true, "a b", "no-id-matches ids.csv 2", Join{}},
		{AttributeSpec{Path: "rows.csv"}, false, "a b", "1 2", Join{"row", 2, 2, 0}},
		{AttributeSpec{Path: "rows.csv"}, false, "a b c", "wrong-count rows.csv 2 3", Join{}},
		{AttributeSpec{Path: "rows.csv"}, false, "a", "wrong-count rows.csv 2 1", Join{}},
		{AttributeSpec{Path: "rows.csv"}, true, "x y", "no-id-column set:AttributesID rows.csv id", Join{}},
		{AttributeSpec{Path: "pandas.csv"}, false, "0 1", "6 5", Join{"id", 2, 2, 0}},
		{AttributeSpec{Path: "sku.csv"}, true, "x y", "no-id-column set:AttributesID sku.csv id", Join{}},
		{AttributeSpec{Path: "sku.csv", ID: "sku"}, true, "x y", "2 1", Join{"id", 2, 2, 0}},
		{AttributeSpec{Path: "sku.csv", ItemID: "sku"}, true, "x z", "2 -", Join{"id", 2, 1, 1}},
		{AttributeSpec{Path: "rows.csv", ID: "sku"}, true, "x", `no-such-column set:AttributesID rows.csv "sku"`, Join{}},
	} {
		ids, join, got := strings.Fields(c.ids), Join{}, []string(nil)
		a, err := OpenAttributes(c.spec)
		if err == nil && c.named {
			err = a.Match(ids)
		}
		if err == nil {
			for row, id := range ids {
				it, text := index.Item{ID: index.Text(id)}, "-"
				if a.describe(&it, row); it.Attributes != nil {
					text = it.Attributes["n"].String()
				}
				got = append(got, text)
			}
			join, err = a.Join(len(ids))
		}
		if err != nil {
			setWant(t, "", err, c.want)
		} else if text := strings.Join(got, " "); text != c.want || join != c.join {
			t.Errorf("%+v, %s: got %s, %+v, want %s, %+v", c.spec, c.ids, text, join, c.want, c.join)
		}
	}
}

// TestNestedAttributes: inside of objects that are not asked for, keys are written with dots.
func TestNestedAttributes(t *testing.T) {
	path := fileOf(t, t.TempDir(), "a.jsonl", `{"meta": {"id": "x", "size": {"w": 2}}, "v": [1]}`)
	a, err := readAttributes(path, "meta.id", []string{"meta.size.w"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := described(a), "x  [] map[meta.size.w:2]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	_, err = readAttributes(path, "", nil)
	setWant(t, filepath.Dir(path), err, `not-an-attribute set:Columns a.jsonl 1 "meta"`)
}

// FuzzReadAttributes: any bytes give an error, or records with distinct ids and finite numbers.
func FuzzReadAttributes(f *testing.F) {
	f.Add("id,price\nx,1\n", uint8(0))
	f.Add("id;label;tags\nx;a;\"b|c\"\n", uint8(0))
	f.Add("id\tprice\nx\t1\n", uint8(1))
	f.Add(`{"id": 7, "price": 1.5, "tags": ["a"]}`, uint8(2))
	f.Add(parquetOf([]soldItem{{ID: 7, Price: 1.5}}), uint8(3))
	f.Add(gzipped("id,price\nx,1\n"), uint8(4))
	f.Add(`{"id": 7, "code": "ff", "attributes": {"price": 2, "tags": "x"}}`, uint8(2))
	f.Fuzz(func(t *testing.T, text string, kind uint8) {
		name := []string{"a.csv", "a.tsv", "a.jsonl", "a.parquet", "a"}[kind%5]
		path := fileOf(t, t.TempDir(), name, text)
		for _, columns := range [][]string{nil, {"price"}} {
			a, err := readAttributes(path, "", columns)
			if err != nil {
				continue
			}
			for i, it := range a.items {
				if a.byID != nil && a.byID[it.ID] != i {
					t.Fatalf("record %d has the id %q", i, it.ID)
				}
				for name, v := range it.Attributes {
					if number, _ := v.Number(); number-number != 0 {
						t.Fatalf("%q is %v", name, number)
					}
				}
			}
		}
	})
}

// TestAttributesOfRows reads attributes from the files of vectors; columns are of one kind over all files.
func TestAttributesOfRows(t *testing.T) {
	t.Chdir(t.TempDir())
	fileOf(t, ".", "a.csv", "id,x,y,size,new\na,1,2,7,true\nb,3,4,,false\n")
	fileOf(t, ".", "b.csv", "id,x,y,size,new\nc,1,2\nd,3,4,L,true\n")
	fileOf(t, ".", "c.csv", "id,x,y\ne,1,2\n")
	set, err := Open(Spec{Paths: []string{"a.csv", "b.csv"}, Vector: "x,y", SkipBad: true})
	if err != nil {
		t.Fatal(err)
	}
	a, err := set.Attributes([]string{"size", "new"})
	if err != nil {
		t.Fatal(err)
	}
	want := "[] map[new:\"true\" size:\"7\"]\n  [] map[new:\"false\"]\n  [] map[]\n  [] map[new:\"true\" size:\"L\"]"
	if got := described(a); got != want || !a.own {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if set, err = Open(Spec{Paths: []string{"a.csv", "c.csv"}, Vector: "x,y"}); err != nil {
		t.Fatal(err)
	}
	_, err = set.Attributes([]string{"size"})
	setWant(t, "", err, `no-such-column set:Columns c.csv "size"`)
}

// TestExportedAttributes reads the lines that an index exports, in which an attribute may have any name.
func TestExportedAttributes(t *testing.T) {
	line := `{"id": "x", "code": "ff", "label": "hats", "tags": ["a"], "attributes": {"code": 7, "tags": "t", "meta.w": 2}}`
	path := fileOf(t, t.TempDir(), "a.jsonl", line+"\n"+`{"id": "y", "code": "00", "attributes": {}}`)
	for _, c := range []struct {
		columns []string
		want    string
	}{
		{nil, "x hats [a] map[code:7 meta.w:2 tags:\"t\"]\ny  [] map[]"},
		{[]string{"meta.w"}, "x  [] map[meta.w:2]\ny  [] map[]"},
		{[]string{"attributes.code"}, "x  [] map[attributes.code:7]\ny  [] map[]"},
	} {
		a, err := readAttributes(path, "", c.columns)
		if err != nil {
			t.Fatal(err)
		}
		if got := described(a); got != c.want {
			t.Errorf("%v: got\n%s\nwant\n%s", c.columns, got, c.want)
		}
	}
}

// TestParquetWriter writes tables that read as they were.
func TestParquetWriter(t *testing.T) {
	var b, coded strings.Builder
	w, err := columnfile.Create(&b, []string{"id", "price", "tags", "name", "age"}, []any{"", 0.0, []string(nil), "", int64(0)})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range [][]any{{"x", 1.5, []string{"a", "b c"}, "n", int64(7)}, {"y", nil, []string{}, nil, nil}, {"z", -2.0, []string{"d"}, "", int64(-1)}} {
		if err := w.Write(row); err != nil {
			t.Fatal(err)
		}
	}
	table := CodeTable{Bits: 8, Attributes: []index.Attribute{{Name: "size", Kind: index.TextKind}}}
	items := []index.Item{
		{ID: index.Text("x"), Code: []uint64{1}, Attributes: map[string]index.Value{"size": index.String(`a "b"`)}},
		{ID: index.Text("y"), Code: []uint64{2}, Attributes: map[string]index.Value{"size": index.Number(2)}},
	}
	if err := errors.Join(w.Close(), table.Begin(&coded), table.Write(items[0]), table.Write(items[1]), table.Close()); err != nil {
		t.Fatal(err)
	}
	for content, want := range map[string]string{
		b.String():     "x  [a b c] map[age:7 name:\"n\" price:1.5]\ny  [] map[]\nz  [d] map[age:-1 price:-2]",
		coded.String(): "x  [] map[code:1 size:\"a \\\"b\\\"\"]\ny  [] map[code:2 size:\"2\"]",
	} {
		a, err := readAttributes(fileOf(t, t.TempDir(), "a.parquet", content), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := described(a); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	for _, names := range [][]string{{"a", "a"}, {"", "b"}} {
		if _, err := columnfile.Create(&b, names, []any{"", ""}); err == nil {
			t.Errorf("columns %q are accepted", names)
		}
	}
	if _, err := columnfile.Create(&b, []string{"a"}, []any{true}); err == nil {
		t.Error("a column of another kind is accepted")
	}
}
