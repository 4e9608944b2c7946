package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"hashgrove/dataset"
)

// priced writes a table with a price per item of new.csv, the last first, under the given name of the ids. The price of
// new-i is i.
func priced(t *testing.T, name, head string, last int) {
	t.Helper()
	var b strings.Builder
	b.WriteString(head + "\n")
	for i := last; i >= 0; i-- {
		fmt.Fprintf(&b, "new-%d,%d\n", i, i)
	}
	write(t, name, b.String())
}

// attributesOf is the attributes of an item by index get.
func attributesOf(t *testing.T, index, id string) map[string]any {
	t.Helper()
	var list []struct {
		Label      string         `json:"label"`
		Attributes map[string]any `json:"attributes"`
	}
	if err := json.Unmarshal([]byte(succeed(t, "index", "get", index, "--id", id, "--json")), &list); err != nil || len(list) != 1 {
		t.Fatalf("%v, %+v", err, list)
	}
	return list[0].Attributes
}

// TestAttributesAreJoinedByID: a table in another order was given to the items row by row without a word.
func TestAttributesAreJoinedByID(t *testing.T) {
	indexed(t)
	build := "index build new.csv --label category --id-column sku -m m.hgm -o x.hgi --attributes "
	again := func(flags string) (string, *dataset.Join) {
		t.Helper()
		_ = os.Remove("x.hgi")
		o := try(t, shellWords(build+flags+" --json")...)
		var r indexReport
		if err := json.Unmarshal([]byte(o.out), &r); o.code != 0 || err != nil {
			t.Fatalf("%s: exit %d, %v\n%s", flags, o.code, err, o.err)
		}
		return o.err, r.Attributes
	}
	priced(t, "sku.csv", "sku,price", 79)
	priced(t, "code.csv", "code,price", 79)
	priced(t, "id.csv", "id,price", 59)
	priced(t, "more.csv", "id,price", 91)
	write(t, "bare.csv", "price\n"+strings.Repeat("1\n", 80))
	for _, c := range []struct {
		flags, said string
		want        dataset.Join
		price       any
	}{
		{"sku.csv", "attributes joined by id: 80 of 80 items have a record\n", dataset.Join{By: "id", Records: 80, Found: 80}, 3.0},
		{"id.csv", "attributes joined by id: 60 of 80 items have a record\n", dataset.Join{By: "id", Records: 60, Found: 60}, 3.0},
		{"more.csv", "attributes joined by id: 80 of 80 items have a record; 12 records match no item\n", dataset.Join{By: "id", Records: 92, Found: 80, Unmatched: 12}, 3.0},
		{"code.csv --attributes-id code", "attributes joined by id: 80 of 80 ", dataset.Join{By: "id", Records: 80, Found: 80}, 3.0},
		{"bare.csv --attributes-by row", "attributes joined row by row, as asked", dataset.Join{By: "row", Records: 80, Found: 80}, 1.0},
		{"code.csv --attributes-by row", `warning: code.csv was joined row by row, but its column "code" holds ids of the items in another order: row 1 is about "new-79" and was given to "new-0"`,
			dataset.Join{By: "row", Records: 80, Found: 80}, 76.0},
	} {
		said, join := again(c.flags)
		if !strings.Contains(said, c.said) || join == nil || *join != c.want {
			t.Errorf("%s: %+v\n%s", c.flags, join, said)
		}
		if got := attributesOf(t, "x.hgi", "new-3")["price"]; got != c.price {
			t.Errorf("%s: the price is %v, want %v", c.flags, got, c.price)
		}
	}
	_ = os.Remove("x.hgi")
	for flags, want := range map[string]string{
		"code.csv":                     `code.csv: its column "code" holds ids of the items: name it as the column of ids (--attributes-id)`,
		"bare.csv":                     "bare.csv: the items have ids, and it has no column id: name its column of ids, or join it row by row (--attributes-id, --attributes-by row)",
		"code.csv --attributes-id sku": `code.csv: has no column "sku"; it has code, price (--attributes-id)`,
		"bare.csv --attributes-by id":  "bare.csv: it has no column id: name its column of ids (--attributes-id)",
	} {
		if o := try(t, shellWords(build+flags+" --quiet")...); o.code != 1 || o.err != "hashgrove: "+want+"\n" {
			t.Errorf("%s: exit %d, %s, want %s", flags, o.code, o.err, want)
		}
	}
	// Rows without ids go by their numbers, and a table without ids row by row.
	o := try(t, shellWords("index build vectors.npy -m m.hgm -o rows.hgi --attributes rows.csv")...)
	if o.code != 1 {
		t.Fatalf("a missing table: exit %d", o.code)
	}
	write(t, "rows.csv", "price\n"+strings.Repeat("7\n", 400))
	o = try(t, shellWords("index build vectors.npy -m m.hgm -o rows.hgi --attributes rows.csv")...)
	if o.code != 0 || !strings.Contains(o.err, "attributes joined row by row: the items have no ids\n") {
		t.Errorf("exit %d, %s", o.code, o.err)
	}
	for line, want := range map[string]string{
		"index build vectors.npy -m m.hgm -o y.hgi --attributes-by row":                                             "are about a file that --attributes names",
		"index build vectors.npy -m m.hgm -o y.hgi --attributes rows.csv --attributes-by name":                      "--attributes-by name: choose id or row",
		"index build vectors.npy -m m.hgm -o y.hgi --attributes rows.csv --attributes-id price --attributes-by row": "exclude each other",
	} {
		if o := try(t, shellWords(line)...); o.code != 2 || !strings.Contains(o.err, want) {
			t.Errorf("%s: exit %d, %s", line, o.code, o.err)
		}
	}
}

// TestAttributesOfTheData takes attributes from the files of the vectors, of which a bad row is left out.
func TestAttributesOfTheData(t *testing.T) {
	indexed(t)
	lines := strings.Split(strings.TrimSpace(string(read(t, "new.csv"))), "\n")
	var table, objects strings.Builder
	table.WriteString(lines[0] + ",price,added,new\n")
	for i, line := range lines[1:] {
		if i == 2 {
			line = "bad,hats,x"
			table.WriteString(line + "\n")
			objects.WriteString("{broken\n")
			continue
		}
		fmt.Fprintf(&table, "%s,%d,2024-01-%02d,%t\n", line, i, 1+i%28, i%2 == 0)
		fields := strings.Split(line, ",")
		fmt.Fprintf(&objects, `{"sku": %q, "category": %q, "v": [%s], "price": %d, "added": "2024-01-%02d", "new": %t}`+"\n",
			fields[0], fields[1], strings.Join(fields[2:], ","), i, 1+i%28, i%2 == 0)
	}
	write(t, "wide.csv", table.String())
	write(t, "wide.jsonl", objects.String())
	for _, name := range []string{"wide.csv", "wide.jsonl --vector v"} {
		_ = os.Remove("x.hgi")
		o := try(t, shellWords("index build "+name+" --label category --id-column sku -m m.hgm -o x.hgi --attribute-columns price,added,new --skip-bad")...)
		if o.code != 0 || !strings.Contains(o.err, "attributes taken from the data") || !strings.Contains(o.out, "79 items") {
			t.Fatalf("%s: exit %d, %s", name, o.code, o.err)
		}
		if got := attributesOf(t, "x.hgi", "new-17"); got["price"] != 17.0 || got["added"] != "2024-01-18" || got["new"] != "false" || len(got) != 3 {
			t.Errorf("%s: %v", name, got)
		}
		out := succeed(t, shellWords(`index list x.hgi --where 'new = true and added >= 2024-01-20 and price between 10 and 30' --fields id --to csv`)...)
		if out != "id\nnew-20\nnew-22\nnew-24\nnew-26\n" {
			t.Errorf("%s: %q", name, out)
		}
	}
	// An export in Parquet has types, and is data with attributes in turn.
	succeed(t, shellWords("index export x.hgi -o x.parquet")...)
	succeed(t, shellWords("index export x.hgi -o x.hgc")...)
	o := try(t, shellWords("index build x.hgc -m m.hgm -o y.hgi --attributes x.parquet --attribute-columns price,added,new,label,tags")...)
	if o.code != 0 || !strings.Contains(o.err, "joined by id: 79 of 79") {
		t.Fatalf("exit %d, %s", o.code, o.err)
	}
	if a, b := succeed(t, "index", "list", "x.hgi", "--json", "--limit", "0"), succeed(t, "index", "list", "y.hgi", "--json", "--limit", "0"); strings.ReplaceAll(b, "y.hgi", "x.hgi") != a {
		t.Errorf("an index of an export differs:\n%.600s\n%.600s", a, b)
	}
	if o := try(t, shellWords("index build vectors.npy -m m.hgm -o z.hgi --attribute-columns price")...); o.code != 1 || !strings.Contains(o.err, "vectors.npy: attributes are read from CSV, TSV, JSON lines and Parquet, not from npy") {
		t.Errorf("exit %d, %s", o.code, o.err)
	}
}

// TestUpsertKeepsAttributes: an upsert without attributes threw them away, and they could not be changed alone.
func TestUpsertKeepsAttributes(t *testing.T) {
	indexed(t)
	priced(t, "prices.csv", "sku,price", 79)
	write(t, "names.csv", "sku,name,label\nnew-3,Three,gloves\nnew-4,Four,\nnobody,No,\n")
	succeed(t, shellWords("index add items.hgi new.csv --label category --id-column sku --attributes prices.csv")...)
	code := succeed(t, shellWords("index list items.hgi --where 'id = \"new-3\"' --fields code --to csv")...)
	want := func(id string, price, name any) {
		t.Helper()
		if got := attributesOf(t, "items.hgi", id); got["price"] != price || got["name"] != name {
			t.Errorf("%s: %v, want price %v and name %v", id, got, price, name)
		}
	}
	if r := indexReported(t, "index update items.hgi --attributes names.csv --attributes-id sku"); r.Updated != 2 || r.Missing != 1 || r.Items != 480 {
		t.Errorf("%+v", r)
	}
	want("new-3", 3.0, "Three")
	if out := succeed(t, shellWords("index list items.hgi --where 'label = \"gloves\"' --fields id,label --to csv")...); out != "id,label\nnew-3,gloves\n" {
		t.Errorf("%q", out)
	}
	if r := indexReported(t, "index add items.hgi new.csv --label category --id-column sku --upsert"); r.Replaced != 80 {
		t.Errorf("%+v", r)
	}
	want("new-3", 3.0, "Three")
	want("new-5", 5.0, nil)
	if r := indexReported(t, "index update items.hgi --attributes names.csv --attributes-id sku --attribute-columns name --replace"); r.Updated != 2 {
		t.Errorf("%+v", r)
	}
	want("new-3", nil, "Three")
	if after := succeed(t, shellWords("index list items.hgi --where 'id = \"new-3\"' --fields code --to csv")...); after != code {
		t.Errorf("the code has changed: %s, %s", code, after)
	}
	succeed(t, "verify", "items.hgi")
	write(t, "bare.csv", "price\n1\n")
	write(t, "others.csv", "id,price\nx,1\n")
	for line, want := range map[string]string{
		"index update items.hgi --attributes bare.csv":   "bare.csv: it has no column id: name its column of ids (--attributes-id)",
		"index update items.hgi --attributes others.csv": "others.csv: none of its 1 ids is in items.hgi",
		"index update items.hgi --attributes none.csv":   "none.csv: no such file",
		"index update items.hgi":                         "index update needs --attributes",
	} {
		if o := try(t, shellWords(line)...); o.code == 0 || !strings.Contains(o.err, want) {
			t.Errorf("%s: exit %d, %s", line, o.code, o.err)
		}
	}
}

// TestFiltersKnowTheAttributes: a misspelt name or a value of another kind found nothing, or was to delete everything.
func TestFiltersKnowTheAttributes(t *testing.T) {
	indexed(t)
	before := read(t, "items.hgi")
	for filter, want := range map[string]string{
		`tag = "x"`:    "no item has a tag; there is f0 (number) (--where)",
		"prce > 100":   "no item has an attribute prce; there is f0 (number) (--where)",
		"not has prce": "no item has an attribute prce; there is f0 (number) (--where)",
		`f0 < "10"`:    `f0 is a number in every item, and "10" is a text: numbers have no quotes; there is f0 (number) (--where)`,
		"f0 = true":    `f0 is a number in every item, and "true" is a text`,
		"id < 10":      `the ids of the items are texts, such as "items-0", and have no order with the number 10`,
	} {
		for _, args := range [][]string{
			{"search", "items.hgi", "new.csv", "--row", "0"}, {"search", "items.hgi", "--id", "items-7", "--strategy", "scan"},
			{"index", "delete", "items.hgi"}, {"index", "delete", "items.hgi", "--dry-run"}, {"index", "list", "items.hgi"},
			{"index", "export", "items.hgi", "-o", "x.csv"},
		} {
			o := try(t, append(args, "--where", filter, "--quiet")...)
			if o.code != 1 || !strings.Contains(o.err, want) || o.out != "" {
				t.Errorf("%v where %s: exit %d, %s%s", args, filter, o.code, o.err, o.out)
			}
		}
	}
	if string(read(t, "items.hgi")) != string(before) {
		t.Error("the index has changed")
	}
}

// TestFieldsAreAttributes: a misspelt field was an empty column, without a word.
func TestFieldsAreAttributes(t *testing.T) {
	indexed(t)
	for _, line := range []string{
		"index list items.hgi --fields id,prce", "search items.hgi new.csv --row 0 --fields id,label,prce --to csv",
		"search items.hgi --id items-7 --strategy scan --fields prce,f0",
	} {
		o := try(t, shellWords(line)...)
		if o.code != 0 || !strings.Contains(o.err, "warning: --fields prce: no item has this field; there are ") ||
			!strings.Contains(o.err, ", label, tags, f0 (number)") {
			t.Errorf("%s: exit %d, %s%s", line, o.code, o.err, o.out)
		}
	}
	o := try(t, shellWords("index list items.hgi --where 'label = \"boots\"' --limit 1 --fields id,f0 --to csv")...)
	if !strings.HasPrefix(o.out, "id,f0\nitems-") || strings.HasSuffix(o.out, ",\n") || strings.Contains(o.err, "warning") {
		t.Errorf("%q, %s", o.out, o.err)
	}
}

func TestInfoNamesWhatFiltersCompare(t *testing.T) {
	indexed(t)
	if out := succeed(t, "info", "items.hgi"); !strings.Contains(out, "\nfilters can use id, label, f0 (number)\n") {
		t.Error(out)
	}
	out := succeed(t, "info", "items.hgi", "--json")
	var r struct {
		Labels, Tags bool
		Attributes   []struct{ Name, Kind string }
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil || !r.Labels || r.Tags || len(r.Attributes) != 1 ||
		r.Attributes[0].Name != "f0" || r.Attributes[0].Kind != "number" {
		t.Errorf("%v, %+v", err, r)
	}
}

func TestListingAndDryRun(t *testing.T) {
	indexed(t)
	before := read(t, "items.hgi")
	o := try(t, shellWords("index list items.hgi --limit 3")...)
	if o.code != 0 || !strings.Contains(o.out, "items-10 ") || !strings.Contains(o.err, "3 of 400 items; the next ones: --after items-10, all of them: --limit 0") {
		t.Errorf("exit %d\n%s%s", o.code, o.err, o.out)
	}
	if out := succeed(t, shellWords("index list items.hgi --after items-10 --limit 2 --fields id --to csv")...); out != "id\nitems-100\nitems-101\n" {
		t.Errorf("%q", out)
	}
	var list listReport
	if err := json.Unmarshal([]byte(succeed(t, shellWords("index list items.hgi --where 'id starts with \"items-39\"' --json")...)), &list); err != nil || list.Items != 400 || list.Matching != 11 || len(list.Listed) != 11 || len(list.Listed[0].Code) != 4 {
		t.Errorf("%v, %+v", err, list)
	}
	if out := succeed(t, shellWords("index list items.hgi --limit 2 --to jsonl")...); strings.Count(out, "\n") != 2 || !strings.HasPrefix(out, `{"id":"items-0","label":"`) {
		t.Errorf("%s", out)
	}
	if out := succeed(t, shellWords("index list items.hgi --where 'f0 > 1e9'")...); out != "no items\n" {
		t.Errorf("%s", out)
	}
	out := succeed(t, shellWords("index delete items.hgi --where 'id starts with \"items-39\"' --dry-run")...)
	if !strings.Contains(out, "items.hgi: 11 items would be deleted, 389 would be left\n") || !strings.Contains(out, "items-39 ") || !strings.HasSuffix(out, "and 1 more\n") {
		t.Errorf("%s", out)
	}
	r := indexReported(t, "index delete items.hgi --id items-1,nobody --dry-run")
	if r.Deleted != 0 || r.Missing != 1 || r.DryRun == nil || r.DryRun.Deletes != 1 || len(r.DryRun.First) != 1 || r.Items != 400 {
		t.Errorf("%+v", r)
	}
	if string(read(t, "items.hgi")) != string(before) {
		t.Error("the index has changed")
	}
	o = try(t, shellWords("index get items.hgi --id items-1,nobody,items-2,anyone")...)
	if o.code != 1 || !strings.Contains(o.out, "items-1\n") || !strings.Contains(o.out, "items-2\n") || !strings.Contains(o.err, `items.hgi: 2 of 4 ids are not in the index: "nobody", "anyone"`) {
		t.Errorf("exit %d\n%s%s", o.code, o.err, o.out)
	}
}

// TestExport writes an index in every form and makes the same index of it again.
func TestExport(t *testing.T) {
	indexed(t)
	write(t, "about.jsonl", `{"id": "items-3", "name": "a \"b\", c", "tags": ["x, y", "z"], "day": "2024-01-31", "ok": true}`+"\n")
	succeed(t, shellWords("index update items.hgi --attributes about.jsonl")...)
	for _, form := range []string{"jsonl", "csv", "parquet", "hgc"} {
		if out := succeed(t, shellWords("index export items.hgi -o all."+form)...); out != "all."+form+": 400 items of items.hgi\n" {
			t.Errorf("%s", out)
		}
		if out := succeed(t, shellWords("index export items.hgi -o - --to "+form)...); out != string(read(t, "all."+form)) {
			t.Errorf("%s: standard output differs from the file", form)
		}
	}
	succeed(t, shellWords("index build all.hgc --attributes all.jsonl -m m.hgm -o again.hgi")...)
	succeed(t, shellWords("index export again.hgi -o again.jsonl")...)
	if string(read(t, "again.jsonl")) != string(read(t, "all.jsonl")) {
		t.Error("an index of an export differs")
	}
	if line := strings.SplitN(string(read(t, "all.csv")), "\n", 2)[0]; line != "id,code,label,tags,day,f0,name,ok" {
		t.Errorf("columns %s", line)
	}
	if !strings.Contains(string(read(t, "all.csv")), `,"x, y;z",2024-01-31,`) {
		t.Error("the tags are missing")
	}
	if out := succeed(t, shellWords("index export items.hgi -o - --to csv --where 'has day'")...); strings.Count(out, "\n") != 2 {
		t.Errorf("%s", out)
	}
	for line, want := range map[string]string{
		"index export items.hgi":                         "index export needs -o FILE",
		"index export items.hgi -o -":                    "items on standard output need --to",
		"index export items.hgi -o all.txt":              "all.txt: the name does not tell the form",
		"index export items.hgi -o all.csv --to xml":     "--to xml: choose",
		"index list items.hgi --to xml":                  "--to xml: choose",
		"index list items.hgi --limit -1":                "--limit -1",
		"index list items.hgi --where 'f0 >'":            "--where: filter, column 5",
		"index export items.hgi -o a.csv --where 'f0 >'": "--where: filter, column 5",
	} {
		if o := try(t, shellWords(line)...); o.code != 2 || !strings.Contains(o.err, want) {
			t.Errorf("%s: exit %d, %s", line, o.code, o.err)
		}
	}
}
