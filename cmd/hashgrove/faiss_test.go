package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hashgrove/internal/hamming"
)

// TestFilesOfFAISSAreCodes takes codes through files of FAISS: they are searched, pulled, built and searched for as the
// codes they were.
func TestFilesOfFAISSAreCodes(t *testing.T) {
	shop(t)
	t.Setenv("TMPDIR", t.TempDir())
	do := func(line string) string { t.Helper(); return succeed(t, shellWords(line)...) }
	do("train items.csv --label category --id-column sku --bits 13 --rounds 20 -o m.hgm")
	do("encode vectors.npy -m m.hgm -o rows.hgc")
	do("index build rows.hgc -m m.hgm -o rows.hgi")
	do("export rows.hgi -o rows.faiss") // with ids
	do("export rows.hgc --no-ids -o flat.faiss")

	do("pull rows.faiss -m m.hgm -o pulled.hgi")
	do("pull flat.faiss -m m.hgm -o pulled.hgc")
	if want, got := do("index export rows.hgi --to jsonl -o -"), do("index export pulled.hgi --to jsonl -o -"); want != got {
		t.Error("items changed on the way through FAISS")
	}
	do("index export rows.hgi -o ids.hgc")
	if !bytes.Equal(read(t, "ids.hgc"), read(t, "pulled.hgc")) {
		t.Error("codes changed on the way through FAISS")
	}
	do("pull flat.faiss -o plain.hgi") // of 16 bits, and no known model
	want := do("search plain.hgi flat.faiss --row 3,5 --to csv")
	for _, line := range []string{
		"search flat.faiss flat.faiss --row 3,5 --to csv", "search rows.faiss rows.faiss --row 3,5 --to csv",
	} {
		if got := do(line); got != want {
			t.Errorf("%s\n%s, want\n%s", line, got, want)
		}
	}
	if got, want := do("search rows.faiss --id 7 -k 3 --to csv"), do("search rows.hgi --id 7 -k 3 --rank hamming --to csv"); got != want {
		t.Errorf("an item of FAISS finds\n%s, want\n%s", got, want)
	}
	do("index build rows.faiss -o built.hgi")
	if out := do("info rows.faiss"); !strings.Contains(out, "16 bits") {
		t.Errorf("info says %s", out)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "hashgrove-faiss-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}

	write(t, "cut.faiss", string(read(t, "rows.faiss")[:500]))
	write(t, "other.faiss", "IBHf"+strings.Repeat("\x00", 100))
	for _, r := range []refusal{
		{"search cut.faiss flat.faiss", 1, hamming.ErrFAISS, "cut.faiss"},
		{"search rows.faiss items.csv --label category", 1, "needs-model", "rows.faiss items.csv"},
		{"search rows.hgi flat.faiss", 1, nil, "16 13"},
		{"pull cut.faiss -o x.hgc", 1, hamming.ErrFAISS, "cut.faiss"},
		{"pull other.faiss -o x.hgc", 1, hamming.ErrFAISS, `other.faiss "IBHf"`},
		{"pull rows.faiss", 2, "missing-flag", "-o .hgi .hgc"},
		{"pull rows.faiss flat.faiss -o x.hgc", 2, "wrong-arguments", `"flat.faiss"`},
		{"pull rows.faiss --engine postgres://x/y -o x.hgi", 2, "conflicting-flags", "--engine"},
		{"pull rows.faiss --where 'id = 3' -o x.hgi", 2, "conflicting-flags", "--where"},
		{"pull items.csv -o x.hgi", 1, "wrong-kind", "items.csv FAISS"},
		{"pull nowhere.faiss -o x.hgi", 1, "no-such-file", "nowhere.faiss"},
		{"pull nowhere.faiss -o x.hgi", 1, fs.ErrNotExist, "nowhere.faiss"},
		{"push nowhere.hgi --engine postgres://x@localhost:1/y", 2, "no-such-file", "nowhere.hgi"},
		{"index build nowhere.faiss -o x.hgi", 2, fs.ErrNotExist, "nowhere.faiss"},
	} {
		r.try(t)
	}
}
