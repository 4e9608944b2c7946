package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"strings"
	"testing"

	"hashgrove/internal/postgres"
	"hashgrove/internal/testkit/pgtest"
)

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
	do("pull" + to("b") + " -o back.hgc")
	if !bytes.Equal(read(t, "items.hgc"), read(t, "back.hgc")) {
		t.Error("codes changed on the way")
	}
	do("push items.csv --label category --id-column sku -m m.hgm --attributes items.csv --attribute-columns f0" + to("c"))
	do("pull" + to("c") + ` --where 'label = "boots" and f0 > 0' -o boots.hgc`)
	do(`index export items.hgi --where 'label = "boots" and f0 > 0' -o want.hgc`)
	if !bytes.Equal(read(t, "boots.hgc"), read(t, "want.hgc")) {
		t.Error("a filter in the engine finds other items")
	}
	do("pull" + to("c") + ` --where 'label > 2024-01-31' -o later.hgc`)
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
		{"pull -o x.csv" + to("a"), 2, "missing-flag", "-o .hgi .hgc"},
		{"pull -o x.hgi -m other.hgm" + to("a"), 1, "model-mismatch", "other.hgm a: " + model},
		{"pull -o items.hgi" + to("a"), 1, fs.ErrExist, "items.hgi --force"},
	} {
		if o := r.try(t); strings.Contains(o.err+o.out, "secret") {
			t.Errorf("%s: %s%s", r.line, o.err, o.out)
		}
	}
}
