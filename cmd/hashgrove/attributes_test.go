package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"hashgrove/internal/dataset"
	"hashgrove/internal/index"
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

// attributesOf returns the attributes of an item as index get prints them.
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
		flags, said string // facts
		want        dataset.Join
		price       any
	}{
		{"sku.csv", "attributes id: 80", dataset.Join{By: "id", Records: 80, Found: 80}, 3.0},
		{"id.csv", "attributes id: 60 80", dataset.Join{By: "id", Records: 60, Found: 60}, 3.0},
		{"more.csv", "attributes id: 80 12", dataset.Join{By: "id", Records: 92, Found: 80, Unmatched: 12}, 3.0},
		{"code.csv --attributes-id code", "attributes id: 80", dataset.Join{By: "id", Records: 80, Found: 80}, 3.0},
		{"bare.csv --attributes-by row", "attributes row", dataset.Join{By: "row", Records: 80, Found: 80}, 1.0},
		{"code.csv --attributes-by row", `warning: code.csv "code" 1 "new-79" "new-0"`,
			dataset.Join{By: "row", Records: 80, Found: 80}, 76.0},
	} {
		said, join := again(c.flags)
		if d := lacks(said, c.said); d != "" || join == nil || *join != c.want {
			t.Errorf("%s: %+v, %s", c.flags, join, d)
		}
		if got := attributesOf(t, "x.hgi", "new-3")["price"]; got != c.price {
			t.Errorf("%s: the price is %v, want %v", c.flags, got, c.price)
		}
	}
	_ = os.Remove("x.hgi")
	for _, r := range []refusal{
		{"code.csv", 1, setting("AttributesID"), `code.csv "code" (--attributes-id)`},
		{"bare.csv", 1, setting("AttributesByRow"), "bare.csv id (--attributes-id, --attributes-by"},
		{"code.csv --attributes-id sku", 1, setting("AttributesID"), `code.csv "sku" code price (--attributes-id)`},
		{"bare.csv --attributes-by id", 1, setting("AttributesID"), "bare.csv id (--attributes-id)"},
	} {
		r.line = build + r.line
		if o := r.try(t, "--quiet"); strings.Count(o.err, "\n") != 1 {
			t.Errorf("%s: %s", r.line, o.err)
		}
	}
	// Rows without ids go by their numbers, and a table without ids row by row.
	const rows = "index build vectors.npy -m m.hgm "
	refusal{rows + "-o rows.hgi --attributes rows.csv", 1, fs.ErrNotExist, "rows.csv"}.try(t)
	write(t, "rows.csv", "price\n"+strings.Repeat("7\n", 400))
	r := indexReported(t, rows+"-o rows.hgi --attributes rows.csv")
	if j := r.Attributes; j == nil || *j != (dataset.Join{By: "row", Records: 400, Found: 400}) {
		t.Errorf("%+v", j)
	}
	if o := try(t, shellWords(rows+"-o said.hgi --attributes rows.csv")...); o.code != 0 || lacks(o.err, "attributes row") != "" {
		t.Errorf("exit %d, %s", o.code, o.err)
	}
	for _, r := range []refusal{
		{rows + "-o y.hgi --attributes-by row", 2, "missing-flag", "--attributes "},
		{rows + "-o y.hgi --attributes rows.csv --attributes-by name", 2, "bad-flag-value", "--attributes-by name id row"},
		{rows + "-o y.hgi --attributes rows.csv --attributes-id price --attributes-by row", 2, "conflicting-flags",
			"--attributes-id --attributes-by row"},
	} {
		r.try(t)
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
		o := try(t, shellWords("index build "+name+" --label category --id-column sku -m m.hgm -o x.hgi --attribute-columns price,added,new --skip-bad --json")...)
		var r indexReport
		if err := json.Unmarshal([]byte(o.out), &r); o.code != 0 || err != nil || r.Items != 79 || r.Bad != 1 ||
			r.Attributes == nil || r.Attributes.By != "data" || !strings.Contains(o.err, "attributes") {
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
	if o.code != 0 || lacks(o.err, "attributes id 79") != "" {
		t.Fatalf("exit %d, %s", o.code, o.err)
	}
	if a, b := succeed(t, "index", "list", "x.hgi", "--json", "--limit", "0"), succeed(t, "index", "list", "y.hgi", "--json", "--limit", "0"); strings.ReplaceAll(b, "y.hgi", "x.hgi") != a {
		t.Errorf("an index of an export differs:\n%.600s\n%.600s", a, b)
	}
	refusal{"index build vectors.npy -m m.hgm -o z.hgi --attribute-columns price", 1, nil, "vectors.npy: CSV TSV JSON Parquet npy"}.try(t)
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
	for _, r := range []refusal{
		{"index update items.hgi --attributes bare.csv", 1, setting("AttributesID"), "bare.csv id (--attributes-id)"},
		{"index update items.hgi --attributes others.csv", 1, "no-id-matches", "others.csv 1 items.hgi"},
		{"index update items.hgi --attributes none.csv", 1, fs.ErrNotExist, "none.csv"},
		{"index update items.hgi", 2, "missing-flag", "--attributes"},
	} {
		r.try(t)
	}
}

// TestFiltersKnowTheAttributes: a misspelt name or a value of another kind found nothing, or was to delete everything.
func TestFiltersKnowTheAttributes(t *testing.T) {
	indexed(t)
	before := read(t, "items.hgi")
	for _, c := range []struct{ filter, name, facts string }{
		{`tag = "x"`, "tag", "tag f0 (number) (--where)"},
		{"prce > 100", "prce", "prce f0 (number) (--where)"},
		{"not has prce", "prce", "prce f0 (number) (--where)"},
		{`f0 < "10"`, "f0", `f0 "10" (number) (--where)`},
		{"f0 = true", "f0", `f0 "true" (number) (--where)`},
		{"id < 10", "id", `"items-0" 10 (--where)`},
	} {
		for _, args := range [][]string{
			{"search", "items.hgi", "new.csv", "--row", "0"}, {"search", "items.hgi", "--id", "items-7", "--explain"},
			{"index", "delete", "items.hgi"}, {"index", "delete", "items.hgi", "--dry-run"}, {"index", "list", "items.hgi"},
			{"index", "export", "items.hgi", "-o", "x.csv"},
		} {
			o := try(t, append(args, "--where", c.filter, "--quiet")...)
			e, ok := errors.AsType[*index.FilterError](o.cause)
			if !ok || e.Name != c.name || o.code != 1 || lacks(o.err, c.facts) != "" || o.out != "" {
				t.Errorf("%v where %s: exit %d, %+v, %s%s", args, c.filter, o.code, e, o.err, o.out)
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
		"search items.hgi --id items-7 --fields prce,f0",
	} {
		o := try(t, shellWords(line)...)
		if o.code != 0 || lacks(o.err, "warning: --fields prce: label, tags, f0 (number)") != "" {
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
	if d := lacks(succeed(t, "info", "items.hgi"), "id, label, f0 (number)"); d != "" {
		t.Error(d)
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
	if o.code != 0 || !strings.Contains(o.out, "items-10 ") || lacks(o.err, "3 400 --after items-10 --limit 0") != "" {
		t.Errorf("exit %d\n%s%s", o.code, o.err, o.out)
	}
	if out := succeed(t, shellWords("index list items.hgi --after items-10 --limit 2 --fields id --to csv")...); out != "id\nitems-100\nitems-101\n" {
		t.Errorf("%q", out)
	}
	var list listReport
	if err := json.Unmarshal([]byte(succeed(t, shellWords("index list items.hgi --where 'id starts with \"items-39\"' --json")...)), &list); err != nil || list.Items != 400 || list.Matching != 11 || len(list.Listed) != 11 || len(list.Listed[0].Code) != 4 {
		t.Errorf("%v, %+v", err, list)
	}
	if out := succeed(t, shellWords("index list items.hgi --limit 2 --to jsonl")...); strings.Count(out, "\n") != 2 || !strings.HasPrefix(out, `{"id":"items-0","code":"`) {
		t.Errorf("%s", out)
	}
	if out := succeed(t, shellWords("index list items.hgi --where 'f0 > 1e9'")...); strings.Count(out, "\n") != 1 || strings.Contains(out, "items-") {
		t.Errorf("%s", out)
	}
	out := succeed(t, shellWords("index delete items.hgi --where 'id starts with \"items-39\"' --dry-run")...)
	if d := lacks(out, "items.hgi: 11 389 items-39"); d != "" || strings.Count(out, "items-39") != 10 {
		t.Errorf("%s: %s", d, out)
	}
	r := indexReported(t, "index delete items.hgi --id items-1,nobody --dry-run")
	if r.Deleted != 0 || r.Missing != 1 || r.DryRun == nil || r.DryRun.Deletes != 1 || len(r.DryRun.First) != 1 || r.Items != 400 {
		t.Errorf("%+v", r)
	}
	if string(read(t, "items.hgi")) != string(before) {
		t.Error("the index has changed")
	}
	o = refusal{"index get items.hgi --id items-1,nobody,items-2,anyone", 1, "no-such-item", `items.hgi: 2 4 "nobody", "anyone"`}.try(t)
	if !strings.Contains(o.out, "items-1\n") || !strings.Contains(o.out, "items-2\n") {
		t.Errorf("exit %d\n%s%s", o.code, o.err, o.out)
	}
}

// TestExport writes an index in every form and makes the same index of it again.
func TestExport(t *testing.T) {
	indexed(t)
	write(t, "about.jsonl", `{"id": "items-3", "name": "a \"b\", c", "tags": ["x, y", "z"], "day": "2024-01-31", "ok": true}`+"\n")
	succeed(t, shellWords("index update items.hgi --attributes about.jsonl")...)
	for _, form := range []string{"jsonl", "csv", "parquet", "hgc"} {
		if out := succeed(t, shellWords("index export items.hgi -o all."+form)...); lacks(out, "all."+form+": 400 items.hgi") != "" {
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
	for _, r := range []refusal{
		{"index export items.hgi", 2, "missing-flag", "-o"},
		{"index export items.hgi -o -", 2, "missing-flag", "--to"},
		{"index export items.hgi -o all.txt", 2, "unknown-form", "all.txt: .jsonl .csv .parquet .hgc --to"},
		{"index export items.hgi -o all.csv --to xml", 2, "bad-flag-value", "--to xml jsonl csv parquet hgc"},
		{"index list items.hgi --to xml", 2, "bad-flag-value", "--to xml table csv jsonl"},
		{"index list items.hgi --limit -1", 2, "bad-flag-value", "--limit -1"},
		{"index list items.hgi --where 'f0 >'", 2, "bad-filter", "--where 5"},
		{"index export items.hgi -o a.csv --where 'f0 >'", 2, "bad-filter", "--where 5"},
	} {
		r.try(t)
	}
}
