package main

import (
	"io/fs"
	"path/filepath"
	"testing"

	"hashgrove/internal/cli"
	"hashgrove/internal/hamming"
)

// TestMergeIndexes: indexes of some items each, merged, answer as the index of all.
func TestMergeIndexes(t *testing.T) {
	indexed(t)
	for name, where := range map[string]string{"1": "id < 70", "2": "id >= 70"} {
		succeed(t, shellWords("index build vectors.npy -m m.hgm -o "+name+".hgi")...)
		succeed(t, "index", "delete", name+".hgi", "--where", "not "+where)
	}
	succeed(t, shellWords("index build vectors.npy -m m.hgm -o whole.hgi")...)
	succeed(t, shellWords("encode vectors.npy -m m.hgm -o codes.hgc")...)
	write(t, "a.hgc", "")
	succeed(t, shellWords("merge 1.hgi 2.hgi -o all.hgi")...)
	const search = " new.csv --label category --id-column sku --to csv -k 7"
	if got, want := succeed(t, shellWords("search all.hgi"+search)...), succeed(t, shellWords("search whole.hgi"+search)...); got != want || want == "" {
		t.Errorf("%.300s\nwant\n%.300s", got, want)
	}
	if got, want := succeed(t, shellWords("index export all.hgi -o - --to jsonl")...), succeed(t, shellWords("index export whole.hgi -o - --to jsonl")...); got != want || want == "" {
		t.Errorf("%.300s\nwant\n%.300s", got, want)
	}
	for _, c := range []struct {
		line, want string // see unlike
		is         error
	}{
		{"merge 1.hgi all.hgi -o x.hgi", `1 - 1.hgi all.hgi "0"`, nil},
		{"merge 1.hgi 2.hgi -o all.hgi", "1 - all.hgi --force", cli.ErrExists},
		{"merge 1.hgi 2.hgi -o 1.hgi --force", "2 output-is-input 1.hgi", nil},
		{"merge 1.hgi codes.hgc -o x.hgi", "1 - codes.hgc", hamming.ErrKind},
		{"merge codes.hgc 1.hgi -o x.hgi", "1 - codes.hgc", hamming.ErrKind},
		{"merge none.hgi -o x.hgi", "1 - none.hgi", fs.ErrNotExist},
		{"merge items.csv -o x.hgi", "1 - items.csv", hamming.ErrKind},
		{"merge a.hgc", "2 missing-flag merge -o", nil},
		{"merge", "2 wrong-arguments merge", nil},
		{"merge a.hgc -o a.hgc", "2 output-is-input a.hgc", nil},
		{"merge items.hgi -o -", "2 no-standard-output -:", nil},
	} {
		if d := try(t, shellWords(c.line)...).unlike(c.want, c.is); d != "" {
			t.Errorf("%s: %s", c.line, d)
		}
	}
	succeed(t, shellWords("merge 1.hgi -o all.hgi --force")...)
	if r := informed(t, "all.hgi"); r.Items != 70 {
		t.Errorf("%+v", r)
	}
	if left, _ := filepath.Glob("*.new"); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}
