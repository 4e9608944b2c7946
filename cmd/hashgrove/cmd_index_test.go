package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hashgrove/internal/dataset"
	"hashgrove/internal/hamming"
	"hashgrove/internal/store"
)

// indexReported runs an index verb and returns its report.
func indexReported(t *testing.T, line string) indexReport {
	t.Helper()
	var r indexReport
	out := succeed(t, append(shellWords(line), "--json")...)
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return r
}

// TestIndexSession goes through the life of an index; every command is a process to the store.
func TestIndexSession(t *testing.T) {
	indexed(t)
	o := try(t, shellWords("index build items.csv --label category --id-column sku -m m.hgm -o again.hgi")...)
	if o.code != 0 || lacks(o.out, "again.hgi: 400 16 "+fingerprint(t, "m.hgm")) != "" {
		t.Errorf("index build: exit %d\n%s%s", o.code, o.err, o.out)
	}
	if r := indexReported(t, "index add items.hgi new.csv --label category --id-column sku"); r.Added != 80 || r.Replaced != 0 || r.Items != 480 {
		t.Errorf("index add: %+v", r)
	}
	if f := searched(t, "items.hgi --id new-3 -k 1 --rank hamming"); f.Results[0].Hits[0].Distance != 0 {
		t.Errorf("an added item is not found: %+v", f)
	}

	// The same rows again are refused as a whole, or replace what is there.
	refusal{"index add items.hgi new.csv --label category --id-column sku", 1, nil, `new.csv "new-0" upsert`}.try(t)
	write(t, "about.jsonl", `{"sku": "new-3", "colour": "red"}`+"\n"+`{"sku": "new-4", "colour": "blue"}`+"\n"+`{"sku": "elsewhere"}`+"\n")
	if r := indexReported(t, "index add items.hgi new.csv --label category --id-column sku --upsert --attributes about.jsonl"); r.Added != 0 || r.Replaced != 80 || r.Items != 480 {
		t.Errorf("index add --upsert: %+v", r)
	}
	out := succeed(t, shellWords(`search items.hgi --id new-3 -k 500 --to csv --fields id,colour --where 'has colour'`)...)
	if !strings.Contains(out, "new-3,red\n") || !strings.Contains(out, "new-4,blue\n") || strings.Count(out, "\n") != 3 {
		t.Errorf("items with a colour:\n%s", out)
	}

	write(t, "gone.txt", "new-1\r\n\nnew-2\nnobody\nnew-2\n")
	for _, c := range []struct {
		line                  string
		deleted, missing, now int
	}{
		{"index delete items.hgi --id new-0,new-0,nobody", 1, 1, 479},
		{"index delete items.hgi --ids gone.txt", 2, 1, 477},
		{`index delete items.hgi --where 'colour = "red" or id = "new-5"'`, 2, 0, 475},
		{`index delete items.hgi --where 'colour = "red"'`, 0, 0, 475},
	} {
		if r := indexReported(t, c.line); r.Deleted != c.deleted || r.Missing != c.missing || r.Items != c.now {
			t.Errorf("%s: %+v", c.line, r)
		}
	}
	for _, id := range []string{"new-0", "new-1", "new-3"} {
		refusal{"search items.hgi --id " + id, 1, nil, `items.hgi "` + id + `"`}.try(t)
	}
	before := succeed(t, shellWords("search items.hgi new.csv -k 30 --to csv")...)
	if out := succeed(t, "index", "compact", "items.hgi"); lacks(out, "items.hgi: 475") != "" {
		t.Errorf("index compact says %s", out)
	}
	if after := succeed(t, shellWords("search items.hgi new.csv -k 30 --to csv")...); after != before {
		t.Error("compacting changed an answer")
	}
	model := fingerprint(t, "m.hgm")
	if d := lacks(succeed(t, "info", "items.hgi"), "items.hgi: index 16 475 12 (trees) "+model); d != "" {
		t.Errorf("info: %s", d)
	}
	if out := succeed(t, "verify", "items.hgi"); lacks(out, "items.hgi: index "+model) != "" {
		t.Errorf("verify says %s", out)
	}
	if left, _ := filepath.Glob("*.tmp*"); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}

// TestIndexOfCodes: a code file makes the index that the vectors make, with the model or without.
func TestIndexOfCodes(t *testing.T) {
	indexed(t)
	succeed(t, shellWords("encode -m m.hgm items.csv --label category --id-column sku -o items.hgc")...)
	succeed(t, shellWords("index build -o bare.hgi items.hgc")...)
	write(t, "labels.csv", strings.ReplaceAll(string(read(t, "items.csv")), "sku,category", "id,label"))
	succeed(t, shellWords("index build -o full.hgi items.hgc --model m.hgm --attributes labels.csv --attribute-columns label,f0")...)
	ask := func(index, what string) string {
		return succeed(t, shellWords("search "+index+" "+what+" -k 25 --to csv --fields query,id,distance")...)
	}
	want := ask("items.hgi", "new.csv")
	if got := ask("full.hgi", "new.csv"); got != want {
		t.Error("an index of codes answers otherwise")
	}
	if ask("bare.hgi", "items.hgc") != ask("items.hgi", "items.hgc --rank hamming") {
		t.Error("an index without a model answers otherwise")
	}
	line := ` --id items-8 -k 9 --where 'label = "coats" and f0 > 0' --json`
	a, b := succeed(t, shellWords("search items.hgi"+line)...), succeed(t, shellWords("search full.hgi"+line)...)
	cut := func(s string) string { _, s, _ = strings.Cut(s, `"results"`); return s }
	if cut(a) != cut(b) {
		t.Errorf("labels and attributes differ:\n%s\n%s", a, b)
	}
	refusal{"search bare.hgi new.csv --id-column sku", 1, "needs-model", "bare.hgi new.csv"}.try(t)
	if out := succeed(t, "info", "bare.hgi", "--json"); strings.Contains(out, `"dims"`) || !strings.Contains(succeed(t, "info", "bare.hgi"), "model") {
		t.Errorf("info says %s", out)
	}
	if r := indexReported(t, "index add bare.hgi items.hgc --upsert"); r.Replaced != 400 {
		t.Errorf("%+v", r)
	}
}

func TestIndexMistakes(t *testing.T) {
	indexed(t)
	succeed(t, shellWords("train items.csv --label category --id-column sku --bits 16 --rounds 3 -o other.hgm")...)
	succeed(t, shellWords("encode -m other.hgm new.csv --label category --id-column sku -o other.hgc")...)
	succeed(t, shellWords("encode -m m.hgm new.csv --label category --id-column sku -o new.hgc")...)
	succeed(t, shellWords("index build -o codes.hgi new.hgc")...)
	succeed(t, shellWords("index build -o rows.hgi vectors.npy --model m.hgm")...)
	lines := strings.Split(string(read(t, "new.csv")), "\n")
	write(t, "narrow.csv", "1,2,3\n4,5,6\n")
	write(t, "named.csv", "a,b,c\n1,2,3\n")
	write(t, "nan.csv", lines[0]+"\n"+lines[1]+"\nz,hats,1,NaN,1,1,1,1,1,1,1,1,1,1\n")
	write(t, "twice.csv", lines[0]+"\n"+lines[1]+"\n"+lines[1]+"\n")
	write(t, "few.csv", "price\n1\n")
	write(t, "others.csv", "id,price\nx,1\n")
	write(t, "damaged.hgi", string(damage(read(t, "items.hgi"))))
	intact := string(read(t, "items.hgi"))
	if err := os.Mkdir("folder", 0o777); err != nil {
		t.Fatal(err)
	}
	model, other := fingerprint(t, "m.hgm"), fingerprint(t, "other.hgm")
	for _, r := range []refusal{
		{"index paint", 2, "no-such-verb", `index "paint"`},
		{"index build x.hgi", 2, "missing-flag", "-o help"},
		{"index build -o x.hgi", 2, "missing-flag", "-o help"},
		{"index build -o x.hgi new.csv", 2, "needs-model", "new.csv --model"},
		{"index build -o items.hgi new.csv --model m.hgm", 1, fs.ErrExist, "items.hgi -o --force"},
		{"index build -o x.hgi nowhere.csv --model m.hgm", 1, nil, "nowhere.csv"},
		{"index build -o x.hgi new.csv --model nowhere.hgm", 1, fs.ErrNotExist, "nowhere.hgm"},
		{"index build -o x.hgi new.csv --model items.csv", 1, hamming.ErrKind, "items.csv"},
		{"index build -o x.hgi narrow.csv --model m.hgm", 1, "wrong-dimensions", "narrow.csv 3 12"},
		{"index build -o x.hgi nan.csv --model m.hgm", 1, setting("Missing"), "nan.csv 2 f1 --skip-bad"},
		{"index build -o x.hgi twice.csv --id-column sku --model m.hgm", 1, nil, `twice.csv "new-0"`},
		{"index build -o x.hgi other.hgc --model m.hgm", 1, "model-mismatch", "other.hgc --model " + model + " " + other},
		{"index build -o x.hgi new.hgc other.hgc", 1, nil, model + " " + other},
		{"index build -o x.hgi new.hgc new.hgc", 1, nil, `new.hgc 80 "new-0"`},
		{"index build -o x.hgi new.hgc new.csv --model m.hgm", 2, dataset.ErrMixed, ""},
		{"index build -o folder/there/x.hgi new.hgc", 1, "no-such-folder", "folder/there"},
		{"index build -o x.hgi new.csv --model m.hgm --attributes few.csv", 1, nil, "few.csv 1 80"},
		{"index build -o x.hgi new.csv --model m.hgm --attributes others.csv", 1, nil, "others.csv 1 ids"},
		{"index build -o x.hgi new.csv --model m.hgm --attributes new.csv --id-column sku --attribute-columns price", 1, nil, `new.csv "price"`},
		{"index build -o x.hgi new.csv --model m.hgm --attribute-columns price", 1, nil, `new.csv "price"`},
		{"index add nowhere.hgi new.csv", 1, fs.ErrNotExist, "nowhere.hgi"},
		{"index add damaged.hgi new.csv", 1, store.ErrDamaged, "damaged.hgi"},
		{"index add items.hgi narrow.csv", 1, "wrong-dimensions", "narrow.csv 3 12"},
		{"index add items.hgi named.csv", 1, nil, "named.csv f0..f11 a, b, c"},
		{"index add items.hgi other.hgc", 1, nil, "other.hgc " + model + " " + other},
		{"index add rows.hgi vectors.npy", 1, "numbers-taken", "vectors.npy rows.hgi 0 --id-column --ids"},
		{"index add codes.hgi narrow.csv", 2, "needs-model", "narrow.csv codes.hgi"},
		{"index delete items.hgi", 2, "one-of-flags", "--id, --ids --where"},
		{"index delete items.hgi --id a --where 'has f0'", 2, "one-of-flags", "--id, --ids --where"},
		{"index delete items.hgi a", 2, "wrong-arguments", "--ids"},
		{"index delete items.hgi --where ' '", 2, "empty-filter", "--where"},
		{"index delete items.hgi --where 'f0 >'", 2, "bad-filter", "--where 5"},
		{"index delete items.hgi --ids nowhere.txt", 1, fs.ErrNotExist, "nowhere.txt"},
		{"index delete nowhere.hgi --id a", 1, fs.ErrNotExist, "nowhere.hgi"},
		{"index compact nowhere.hgi", 1, fs.ErrNotExist, "nowhere.hgi"},
		{"verify damaged.hgi", 1, store.ErrDamaged, "damaged.hgi"},
		{"info damaged.hgi", 1, store.ErrDamaged, "damaged.hgi"},
	} {
		o := r.try(t, "--quiet")
		if r.line != "verify damaged.hgi" && strings.Count(o.err, "\n") != 1 || o.out != "" {
			t.Errorf("hashgrove %s: %s%s", r.line, o.err, o.out)
		}
		if _, err := os.Lstat("x.hgi"); err == nil {
			t.Errorf("hashgrove %s left an index", r.line)
			os.Remove("x.hgi")
		}
		if string(read(t, "items.hgi")) != intact {
			t.Fatalf("hashgrove %s changed the index", r.line)
		}
	}
}

// TestBadRowsOfAnIndex: rows are dropped only when that was asked for, and those without ids are numbered anew.
func TestBadRowsOfAnIndex(t *testing.T) {
	indexed(t)
	text := strings.ReplaceAll(string(read(t, "new.csv")), "sku,", "name,")
	lines := strings.Split(text, "\n")
	lines[2] = "bad,boots,NaN,1,1,1,1,1,1,1,1,1,1,1"
	write(t, "bad.csv", strings.Join(lines, "\n"))
	for line, want := range map[string]string{
		"index build -o x.hgi bad.csv --label category --model m.hgm --skip-bad": "79 items",
		"encode bad.csv -m m.hgm --skip-bad --to jsonl -o -":                     `{"row":78,`,
		"search items.hgi bad.csv --skip-bad --to jsonl":                         `{"query":"78",`,
		"search items.hgi bad.csv --skip-bad":                                    "\n78\n",
	} {
		o := try(t, shellWords(line)...)
		if o.code != 0 || lacks(o.err, "1 bad.csv 2 f0 warning: ids numbers") != "" || !strings.Contains(o.out, want) {
			t.Errorf("%s: exit %d\n%s%s", line, o.code, o.err, o.out)
		}
	}
	o := feed(t, bytes.NewReader(read(t, "bad.csv")), shellWords("search items.hgi - --skip-bad --to jsonl")...)
	if o.code != 0 || lacks(o.err, "2 f0 warning: ids numbers") != "" {
		t.Errorf("exit %d, %s", o.code, o.err)
	}
	if o := try(t, shellWords("search items.hgi bad.csv --id-column name --skip-bad --to jsonl")...); o.code != 0 || strings.Contains(o.err, "warning: ") {
		t.Errorf("exit %d, %s", o.code, o.err)
	}
}

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
	// A spreadsheet would run the first of these; it is written as a text, and all are read as they were.
	const formula = "=cmd|'/c calc'!A0"
	write(t, "about.csv", "id,name\nitems-3,"+formula+"\nitems-4,'plain'\nitems-5,-7\n")
	succeed(t, shellWords("index update items.hgi --attributes about.csv")...)
	succeed(t, shellWords("index export items.hgi -o cells.csv")...)
	hits := succeed(t, "search", "items.hgi", "--id", "items-3", "--where", `id = "items-3"`, "--to", "csv", "--fields", "name")
	if hits != "name\n'"+formula+"\n" || strings.Contains(string(read(t, "cells.csv")), ","+formula) {
		t.Errorf("a formula is written as one: %s", hits)
	}
	succeed(t, shellWords("index update items.hgi --attributes cells.csv")...)
	for id, want := range map[string]string{"items-3": formula, "items-4": "'plain'", "items-5": "-7"} {
		out := succeed(t, "index", "export", "items.hgi", "-o", "-", "--to", "jsonl", "--where", `id = "`+id+`"`)
		if !strings.Contains(out, `"name":"`+want+`"`) {
			t.Errorf("%s: %s", id, out)
		}
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

// TestBackupAndRestore: a backup is an index, and what is restored answers as the original did.
func TestBackupAndRestore(t *testing.T) {
	indexed(t)
	ask := func(index string) string {
		return succeed(t, shellWords("search "+index+" new.csv -k 30 --to csv --fields query,id,distance,label,f0")...)
	}
	want := ask("items.hgi")
	if out := succeed(t, shellWords("index backup items.hgi -o items.backup")...); lacks(out, "items.backup: 400 16 "+fingerprint(t, "m.hgm")) != "" {
		t.Errorf("backup says %s", out)
	}
	if ask("items.backup") != want {
		t.Error("the backup answers otherwise")
	}
	succeed(t, "verify", "items.backup")
	succeed(t, shellWords(`index delete items.hgi --where 'label = "boots"'`)...)
	if ask("items.hgi") == want {
		t.Error("deleting changed nothing")
	}
	succeed(t, shellWords("index restore items.backup -o again.hgi")...)
	if ask("again.hgi") != want {
		t.Error("the restored index answers otherwise")
	}

	write(t, "damaged.backup", string(damage(read(t, "items.backup"))))
	for _, r := range []refusal{
		{"index backup items.hgi", 2, "missing-flag", "backup -o"},
		{"index backup -o x.hgi", 2, "wrong-arguments", "backup"},
		{"index backup nowhere.hgi -o x.hgi", 1, fs.ErrNotExist, "nowhere.hgi"},
		{"index backup items.hgi -o again.hgi", 1, fs.ErrExist, "again.hgi"},
		{"index backup m.hgm -o x.hgi", 1, hamming.ErrKind, "m.hgm"},
		{"index restore items.backup", 2, "missing-flag", "restore -o"},
		{"index restore items.backup -o again.hgi", 1, fs.ErrExist, "again.hgi"},
		{"index restore nowhere.backup -o x.hgi", 1, fs.ErrNotExist, "nowhere.backup"},
		{"index restore damaged.backup -o x.hgi", 1, store.ErrDamaged, "damaged.backup"},
		{"index restore items.csv -o x.hgi", 1, hamming.ErrKind, "items.csv"},
	} {
		if o := r.try(t); strings.Count(o.err, "\n") != 1 {
			t.Errorf("hashgrove %s: %s", r.line, o.err)
		}
		if _, err := os.Lstat("x.hgi"); err == nil {
			t.Errorf("hashgrove %s left an index", r.line)
			os.Remove("x.hgi")
		}
	}
	if ask("again.hgi") != want {
		t.Error("a refused command changed an index")
	}
}

// TestMigrate: an index that moved to another model answers as one that was built with it.
func TestMigrate(t *testing.T) {
	indexed(t)
	succeed(t, shellWords("train items.csv --label category --id-column sku --bits 24 --rounds 6 -o longer.hgm")...)
	succeed(t, shellWords("index build -o want.hgi items.csv --label category --id-column sku --model longer.hgm --attributes items.csv --attribute-columns f0")...)
	old := succeed(t, shellWords("search items.hgi new.csv -k 30 --to csv")...)
	write(t, "half.csv", strings.Join(strings.Split(string(read(t, "items.csv")), "\n")[:200], "\n")+"\n")
	for _, r := range []refusal{
		{"index migrate items.hgi --vectors items.csv", 2, "missing-flag", "migrate --model"},
		{"index migrate items.hgi --model longer.hgm", 2, "missing-flag", "migrate --vectors"},
		{"index migrate nowhere.hgi --model longer.hgm --vectors items.csv --id-column sku", 1, fs.ErrNotExist, "nowhere.hgi"},
		{"index migrate items.hgi --model longer.hgm --vectors nowhere.csv", 1, nil, "nowhere.csv"},
		{"index migrate items.hgi --model longer.hgm --vectors half.csv --id-column sku", 1, nil, "items-"},
		{"index migrate items.hgi --model items.csv --vectors items.csv --id-column sku", 1, hamming.ErrKind, "items.csv"},
	} {
		if o := r.try(t); strings.Count(o.err, "\n") != 1 {
			t.Errorf("hashgrove %s: %s", r.line, o.err)
		}
		if succeed(t, shellWords("search items.hgi new.csv -k 30 --to csv")...) != old {
			t.Fatalf("hashgrove %s changed the index", r.line)
		}
	}
	lines := strings.SplitAfterN(string(read(t, "items.csv")), "\n", 3)
	write(t, "twice.csv", lines[0]+lines[1]+lines[1]+lines[2])
	twice := refusal{"index migrate items.hgi --model longer.hgm --vectors twice.csv --label category --id-column sku", 1,
		setting("SkipBad"), "twice.csv 2 items-0 --skip-bad"}
	twice.try(t)
	out := succeed(t, shellWords("index migrate items.hgi --model longer.hgm --vectors twice.csv --skip-bad --vectors new.csv --label category --id-column sku")...)
	if lacks(out, "items.hgi: 400 24 "+fingerprint(t, "longer.hgm")) != "" {
		t.Errorf("migrate says %s", out)
	}
	for _, query := range []string{"new.csv", `--id items-5 --where 'label = "hats" and f0 < 2'`} {
		a := succeed(t, shellWords("search items.hgi "+query+" -k 30 --to csv")...)
		if b := succeed(t, shellWords("search want.hgi "+query+" -k 30 --to csv")...); a != b {
			t.Errorf("%s: the migrated index answers otherwise", query)
		}
	}
	if left, _ := filepath.Glob("items.hgi?*"); len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}
}
