package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestListingAndDryRun(t *testing.T) {
	indexed(t)
	before := read(t, "items.hgi")
	o := try(t, shellWords("index list items.hgi --limit 3")...)
	if o.code != 0 || !strings.Contains(o.out, "items-10 ") || lacks(o.err, "3 400 --after items-10 --limit 0") != "" {
		t.Errorf("exit %d\n%s%s", o.code, o.err, o.out)
	}
	if out := succeed(t, shellWords("index list items.hgi --after items-10 --limit 2 --fields id")...); lacks(out, "items-100 items-101") != "" ||
		strings.Count(out, "items-") != 2 {
		t.Errorf("%q", out)
	}
	var list listReport
	if err := json.Unmarshal([]byte(succeed(t, shellWords("index list items.hgi --where 'id starts with \"items-39\"' --json")...)), &list); err != nil || list.Items != 400 || list.Matching != 11 || len(list.Listed) != 11 || len(list.Listed[0].Code) != 4 {
		t.Errorf("%v, %+v", err, list)
	}
	if out := succeed(t, shellWords("index list items.hgi --where 'f0 > 1e9'")...); strings.Count(out, "\n") != 1 || strings.Contains(out, "items-") {
		t.Errorf("%s", out)
	}
	out := succeed(t, shellWords("index delete items.hgi --where 'id starts with \"items-39\"' --dry-run")...)
	if d := lacks(out, "items.hgi: 11 389"); d != "" {
		t.Errorf("%s: %s", d, out)
	}
	r := indexReported(t, "index delete items.hgi --id items-1,nobody --dry-run")
	if r.Deleted != 0 || r.Missing != 1 || r.WouldDelete == nil || *r.WouldDelete != 1 || r.Items != 400 {
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
		{"index list items.hgi --limit -1", 2, "bad-flag-value", "--limit -1"},
		{"index list items.hgi --where 'f0 >'", 2, "bad-filter", "--where 5"},
		{"index export items.hgi -o a.csv --where 'f0 >'", 2, "bad-filter", "--where 5"},
	} {
		r.try(t)
	}
}
