package dataset

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go/deprecated"
)

// described writes records in one line each.
func described(a *Attributes) string {
	var b strings.Builder
	for _, d := range a.records {
		values := map[string]string{}
		for _, v := range d.Attributes {
			if values[v.Name] = strconv.Quote(v.Text); v.IsNumber {
				values[v.Name] = strconv.FormatFloat(v.Number, 'g', -1, 64)
			}
		}
		fmt.Fprintf(&b, "%s %s %v %v\n", d.ID, d.Label, d.Tags, values)
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
		fileOf(t, ".", c.name, c.text)
		a, err := ReadAttributes(c.name, c.id, c.keep)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
		} else if got := described(a); got != c.want {
			t.Errorf("%q: got\n%s\nwant\n%s", c.text, got, c.want)
		}
	}
	for _, c := range []struct{ name, text, want string }{
		{"a.csv", "", "a.csv: is empty"},
		{"a.csv", "id,id\n", `two columns are called "id"`},
		{"a.csv", "id,a\nx,1\ny\n", "line 3: 1 field instead of 2"},
		{"a.csv", "id,a\nx,1\ny,1\nx,2\n", `line 4 has the id "x" of line 2`},
		{"a.csv", "id,a\n,1\n", "line 2: the id is empty"},
		{"a.jsonl", "{\"id\": 1}\n[1]\n", `line 2: "[1]" is not a JSON object`},
		{"a.jsonl", "{\"id\": 1, \"a\": {}}", `line 1: key "a": an attribute is a number or a text`},
		{"a.jsonl", "{\"id\": 1, \"a\": 1e999}", `key "a": the number 1e999 is too large`},
		{"a.jsonl", "{\"id\": 1, \"tags\": [1]}", `key "tags": tags are a list of texts`},
		{"a.jsonl", "{\"id\": 1}\n{\"a\": 1}", "line 2: either all lines have an id or none"},
	} {
		fileOf(t, ".", c.name, c.text)
		if _, err := ReadAttributes(c.name, "", nil); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.name) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
	fileOf(t, ".", "a.csv", "id,a\nx,1\n")
	if _, err := ReadAttributes("a.csv", "", []string{"b"}); err == nil || !strings.Contains(err.Error(), `no column or key "b"`) {
		t.Errorf("a missing column: %v", err)
	}
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
		a, err := ReadAttributes("a.parquet", "", c.columns)
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
	fileOf(t, ".", "d.parquet", parquetOf([]struct {
		V []float32 `parquet:"v,list"`
	}{{[]float32{1}}}))
	for _, c := range []struct {
		file, want string
		columns    []string
	}{
		{"b.parquet", "b.parquet: row 2, column price: +Inf is not a finite number", nil},
		{"c.parquet", `c.parquet: column "v": an attribute is a number or a text`, nil},
		{"c.parquet", `there is no column or key "price"`, []string{"id", "price"}},
		{"d.parquet", "d.parquet: has no column of attributes; it has v", []string{}},
	} {
		if _, err := ReadAttributes(c.file, "none", c.columns); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: %v, want %q", c.file, c.columns, err, c.want)
		}
	}
}

// TestParquetInt96 reads the timestamps of older programs.
func TestParquetInt96(t *testing.T) {
	type event struct {
		At deprecated.Int96 `parquet:"at"`
	}
	const second = 1_000_000_000
	path := fileOf(t, t.TempDir(), "a.parquet", parquetOf([]event{{deprecated.Int96{90 * second % (1 << 32), 90 * second >> 32, 2440589}}}))
	a, err := ReadAttributes(path, "", nil)
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
		"a.csv": table, "a.csv.gz": gzipped(table), "b.csv": gzipped(table), "a.csv.zst": zstded(table),
		"a.tsv.gz": gzipped(strings.ReplaceAll(table, ",", "\t")), "a.txt": table, "tabs": strings.ReplaceAll(table, ",", "\t"),
		"a.jsonl.zst": zstded(lines), "a.ndjson.gz": gzipped(lines), "lines": lines, "packed": gzipped(lines),
		"quoted.csv": "\"id\" , price,\"size\"\n\n x , 1 ,\"L\"\n",
	} {
		fileOf(t, ".", name, content)
		a, err := ReadAttributes(name, "", nil)
		if err != nil {
			t.Error(err)
		} else if got, want := described(a), `x  [] map[price:1 size:"L"]`; got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	for name, c := range map[string]struct{ content, want string }{
		"a.csv.xz":      {"\xfd7zXZ\x00\x00\x04", "is compressed with xz, which is not read"},
		"a.bin":         {"\x00\x01\x02", "attributes are read from CSV, TSV, JSON lines and Parquet"},
		"a.parquet.gz":  {gzipped(parquetOf([]soldItem{{}})), "is a Parquet file inside gzip"},
		"cut.csv.gz":    {gzipped(table)[:20], "is cut off"},
		"missing.jsonl": {"", "missing.jsonl: no such file"},
	} {
		if c.content != "" {
			fileOf(t, ".", name, c.content)
		}
		if _, err := ReadAttributes(name, "", nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestAttributesFindTheirItems: by id where the file has ids, else by row; and mistakes are told.
func TestAttributesFindTheirItems(t *testing.T) {
	t.Chdir(t.TempDir())
	fileOf(t, ".", "ids.csv", "id,n\nx,1\ny,2\n")
	fileOf(t, ".", "rows.csv", "n\n1\n2\n")
	fileOf(t, ".", "pandas.csv", ",n\n1,5\n0,6\n")
	for _, c := range []struct {
		file string
		ids  string
		want string // numbers found, then what Check says
	}{
		{"ids.csv", "y x z", "2 1 -"},
		{"ids.csv", "a b", "- - ids.csv: none of its 2 ids is in the data"},
		{"rows.csv", "a b", "1 2"},
		{"rows.csv", "a b c", "1 2 - rows.csv: 2 records for 3 rows"},
		{"rows.csv", "a", "1 rows.csv: 2 records for 1 rows"},
		{"pandas.csv", "0 1", "6 5"},
	} {
		a, err := ReadAttributes(c.file, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		ids := strings.Fields(c.ids)
		for row, id := range ids {
			text := "-"
			if d := a.Find(id, row); len(d.Attributes) > 0 {
				text = d.Attributes[0].Text
			}
			got = append(got, text)
		}
		if err := a.Check(len(ids)); err != nil {
			got = append(got, err.Error())
		}
		if text := strings.Join(got, " "); !strings.HasPrefix(text, c.want) {
			t.Errorf("%s %s: got %s, want %s", c.file, c.ids, text, c.want)
		}
	}
}

// TestNestedAttributes: inside of objects that are not asked for, keys are written with dots.
func TestNestedAttributes(t *testing.T) {
	path := fileOf(t, t.TempDir(), "a.jsonl", `{"meta": {"id": "x", "size": {"w": 2}}, "v": [1]}`)
	a, err := ReadAttributes(path, "meta.id", []string{"meta.size.w"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := described(a), "x  [] map[meta.size.w:2]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := ReadAttributes(path, "", nil); err == nil || !strings.Contains(err.Error(), "choose the columns to take") {
		t.Errorf("an object as an attribute: %v", err)
	}
}

// FuzzReadAttributes: any bytes give an error, or records with distinct ids and finite numbers.
func FuzzReadAttributes(f *testing.F) {
	f.Add("id,price\nx,1\n", uint8(0))
	f.Add("id;label;tags\nx;a;\"b|c\"\n", uint8(0))
	f.Add("id\tprice\nx\t1\n", uint8(1))
	f.Add(`{"id": 7, "price": 1.5, "tags": ["a"]}`, uint8(2))
	f.Add(parquetOf([]soldItem{{ID: 7, Price: 1.5}}), uint8(3))
	f.Add(gzipped("id,price\nx,1\n"), uint8(4))
	f.Fuzz(func(t *testing.T, text string, kind uint8) {
		name := []string{"a.csv", "a.tsv", "a.jsonl", "a.parquet", "a"}[kind%5]
		path := fileOf(t, t.TempDir(), name, text)
		for _, columns := range [][]string{nil, {"price"}} {
			a, err := ReadAttributes(path, "", columns)
			if err != nil {
				continue
			}
			for i, d := range a.records {
				if a.byID != nil && (d.ID == "" || a.byID[d.ID] != i) {
					t.Fatalf("record %d has the id %q", i, d.ID)
				}
				for _, v := range d.Attributes {
					if v.IsNumber && v.Number-v.Number != 0 {
						t.Fatalf("%q is %v", v.Name, v.Number)
					}
				}
			}
		}
	})
}
