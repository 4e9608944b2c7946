package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"strings"
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/postgres"
	"hashgrove/internal/testkit/pgtest"
)

// TestPushPipes pushes vectors from standard input: the table must hold what pushing the file gives.
func TestPushPipes(t *testing.T) {
	s := pgtest.Start(t)
	indexed(t)
	t.Setenv("PGPASSWORD", pgtest.Password)
	to := func(table string) string { return " --engine " + s.URL + " --table " + table + " --json" }
	do := func(line string) string { return succeed(t, shellWords(line)...) }
	pulled := func(table string) string {
		do("pull" + to(table) + " -o back.hgi --force")
		return do("index export back.hgi --to jsonl -o -")
	}
	forms(t)
	for file, flags := range map[string]string{
		"new.csv": "--label category --id-column sku", "new.jsonl": "", "vectors.npy": "",
	} {
		table := strings.ReplaceAll(file, ".", "_")
		do("push " + file + " " + flags + " -m m.hgm" + to(table))
		o := feed(t, bytes.NewReader(read(t, file)), shellWords("push - "+flags+" -m m.hgm --batch 9"+to(table+"_piped"))...)
		if o.code != 0 {
			t.Fatalf("%s: %s", file, o.err)
		}
		if pulled(table) != pulled(table+"_piped") {
			t.Errorf("%s from standard input gives another table", file)
		}
	}
	for args, want := range map[string]string{
		"push - --verify -m m.hgm":                            "2 read-once --verify",
		"push - --attribute-columns f0 --format csv -m m.hgm": "2 read-once --attribute-columns --attributes",
	} {
		if d := feed(t, bytes.NewReader(read(t, "new.csv")), shellWords(args+to("x"))...).unlike(want); d != "" {
			t.Errorf("%s: %s", args, d)
		}
	}
}

// TestPushAndPull takes items into a real PostgreSQL in all ways and gets them back.
func TestPushAndPull(t *testing.T) {
	s := pgtest.Start(t)
	indexed(t)
	t.Setenv("PGPASSWORD", pgtest.Password)
	to := func(table string) string { return " --engine " + s.URL + " --table " + table }
	do := func(line string) string { return succeed(t, shellWords(line)...) }

	pushed(t, "push items.hgi"+to("a"))
	do("pull" + to("a") + " -m m.hgm -o back.hgi")
	if want, got := do("index export items.hgi --to jsonl -o -"), do("index export back.hgi --to jsonl -o -"); want != got {
		t.Error("items changed on the way")
	}
	if want, got := do("search items.hgi new.csv --row 0 --to csv"), do("search back.hgi new.csv --row 0 --to csv"); want != got {
		t.Error("the index that came back answers otherwise")
	}
	do("index export items.hgi -o items.hgc")
	do("push items.hgc" + to("b") + " --batch 7 --in-flight 3 --json")
	do("pull" + to("b") + " -o codes.hgi")
	do("index export codes.hgi -o back.hgc")
	if !bytes.Equal(read(t, "items.hgc"), read(t, "back.hgc")) {
		t.Error("codes changed on the way")
	}
	do("push items.csv --label category --id-column sku -m m.hgm --attributes items.csv --attribute-columns f0" + to("c"))
	do("pull" + to("c") + ` --where 'label = "boots" and f0 > 0' -o boots.hgi`)
	if got, want := do("index export boots.hgi --to jsonl -o -"), do(`index export items.hgi --where 'label = "boots" and f0 > 0' --to jsonl -o -`); got != want {
		t.Error("a filter in the engine finds other items")
	}
	do("pull" + to("c") + ` --where 'label > 2024-01-31' -o later.hgi`)
	if out := do("push items.hgi --verify" + to("a")); !strings.Contains(out, "400 items as pushed") {
		t.Errorf("push --verify says %s", out)
	}
	var r pushReport
	out := do("push items.csv --label category --id-column sku -m m.hgm --verify --json" + to("c"))
	if json.Unmarshal([]byte(out), &r) != nil || r.Verified == nil || r.Verified.Items != 400 || r.Verified.Same != r.Verified.Answers {
		t.Errorf("push --verify says %s", out)
	}
	checkPushRefusals(t, to)
}

// pushed pushes all items of the index of the shop.
func pushed(t *testing.T, line string) {
	t.Helper()
	var r pushReport
	o := try(t, shellWords(line+" --json")...)
	if err := json.Unmarshal([]byte(o.out), &r); o.code != 0 || err != nil || r.Written != 400 || r.Bits != 16 {
		t.Errorf("%s: exit %d, %v, %s%s", line, o.code, err, o.out, o.err)
	}
}

// checkPushRefusals: mistakes end with one plain sentence that shows no password.
func checkPushRefusals(t *testing.T, to func(string) string) {
	write(t, "empty.txt", "\n")
	write(t, "wrong.txt", "a wrong secret\n")
	succeed(t, "train", "items.csv", "--label", "category", "--id-column", "sku", "--bits", "16", "--rounds", "3", "-o", "other.hgm", "--seed", "9")
	model, other := fingerprint(t, "m.hgm"), fingerprint(t, "other.hgm")
	for _, r := range []refusal{
		{"push items.hgi", 2, "missing-flag", "--engine postgres://"},
		{"push items.hgi --engine items.hgi", 2, nil, "--engine URL postgres://"},
		{"push items.hgi --engine mongodb://x/y", 2, nil, `--engine "mongodb" postgres`},
		{"push items.hgi --engine postgres://u:secret@h/d", 2, nil, "--engine password"},
		{"push items.hgi --batch 0" + to("a"), 2, "bad-flag-value", "--batch 1"},
		{"push items.csv --where 'f0 > 1' -m m.hgm" + to("a"), 2, "needs-index", "--where items.csv"},
		{"push items.csv --id-column sku" + to("a"), 2, "needs-model", "items.csv --model"},
		{"push items.csv --label category --id-column sku -m other.hgm" + to("a"), 1, nil, model + " " + other},
		{"push items.hgi --password-file wrong.txt" + to("a"), 1, nil, "PostgreSQL 28P01"}, // invalid_password
		{"push items.hgi --password-file empty.txt" + to("a"), 1, "bad-password-file", "empty.txt"},
		{"pull -o x.hgi" + to("nothing"), 1, postgres.ErrNoTable, "nothing"},
		{"pull" + to("a"), 2, "missing-flag", "-o"},
		{"pull -o x.hgi -m other.hgm" + to("a"), 1, "model-mismatch", "other.hgm a: " + model},
		{"pull -o items.hgi" + to("a"), 1, fs.ErrExist, "items.hgi --force"},
	} {
		if o := r.try(t); strings.Contains(o.err+o.out, "secret") {
			t.Errorf("%s: %s%s", r.line, o.err, o.out)
		}
	}
}

// TestFilesOfFAISSAreCodes takes codes through files of FAISS: an index of them is that of the codes they were.
func TestFilesOfFAISSAreCodes(t *testing.T) {
	shop(t)
	do := func(line string) string { t.Helper(); return succeed(t, shellWords(line)...) }
	do("train items.csv --label category --id-column sku --bits 13 --rounds 20 -o m.hgm")
	do("encode vectors.npy -m m.hgm -o rows.hgc")
	do("index build rows.hgc -m m.hgm -o rows.hgi")
	do("export rows.hgi -o rows.faiss") // with ids
	do("export rows.hgc --no-ids -o flat.faiss")

	do("index build rows.faiss -m m.hgm -o back.hgi")
	if want, got := do("index export rows.hgi --to jsonl -o -"), do("index export back.hgi --to jsonl -o -"); want != got {
		t.Error("items changed on the way through FAISS")
	}
	do("index build flat.faiss -o plain.hgi") // of 16 bits, and no known model
	if got, want := do("search plain.hgi flat.faiss --row 3 -k 3 --to csv"), do("search back.hgi --id 3 -k 3 --rank hamming --to csv"); got != want {
		t.Errorf("a code of FAISS finds\n%s, want\n%s", got, want)
	}
	if out := do("info rows.faiss"); !strings.Contains(out, "16 bits") {
		t.Errorf("info says %s", out)
	}
	write(t, "cut.faiss", string(read(t, "rows.faiss")[:500]))
	write(t, "other.faiss", "IBHf"+strings.Repeat("\x00", 100))
	for _, r := range []refusal{
		{"search rows.faiss flat.faiss", 1, hamming.ErrKind, "rows.faiss"},
		{"search plain.hgi items.csv --label category", 1, "needs-model", "plain.hgi items.csv"},
		{"search rows.hgi flat.faiss", 1, nil, "16 13"},
		{"index build cut.faiss -o x.hgi", 1, hamming.ErrFAISS, "cut.faiss"},
		{"index build other.faiss -o x.hgi", 1, hamming.ErrFAISS, `other.faiss "IBHf"`},
		{"push nowhere.hgi --engine postgres://x@localhost:1/y", 1, "no-such-file", "nowhere.hgi"},
		{"index build nowhere.faiss -o x.hgi", 1, fs.ErrNotExist, "nowhere.faiss"},
	} {
		r.try(t)
	}
}
