package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"hashgrove/internal/cli"
	"hashgrove/internal/hamming"
	"hashgrove/internal/testkit/needs"
)

// TestShardsMergeToTheWhole: shards encoded one by one and merged are the file of one encode, byte for byte.
func TestShardsMergeToTheWhole(t *testing.T) {
	needs.Check(t, "takes seconds")
	indexed(t)
	forms(t)
	bad := strings.Replace(string(read(t, "new.csv")), "new-7,boots", "new-7,boots,", 1) + "new-80,hats,x\n"
	write(t, "bad.csv", bad)
	write(t, "more.npy", string(read(t, "vectors.npy")))
	for file, flags := range map[string]string{
		"items.csv": "--label category --id-column sku", "vectors.npy": "", "new.jsonl": "",
		"bad.csv": "--label category --id-column sku --skip-bad", "vectors.npy more.npy": "",
	} {
		line := "encode " + file + " -m m.hgm " + flags
		succeed(t, shellWords(line+" -o whole.hgc --force")...)
		want := read(t, "whole.hgc")
		for _, n := range []int{1, 3, 90} {
			dir := t.TempDir()
			var parts []string
			for i := n; i >= 1; i-- {
				succeed(t, shellWords(fmt.Sprintf("%s --shard %d/%d -o %s/c-{shard}.hgc", line, i, n, dir))...)
				parts = append(parts, fmt.Sprintf("%s/c-%05d-of-%05d.hgc", dir, i, n))
			}
			succeed(t, append([]string{"merge", "-o", dir + "/all.hgc"}, parts...)...)
			if got := read(t, dir+"/all.hgc"); !bytes.Equal(got, want) {
				t.Errorf("%s in %d shards: %d bytes, want %d", file, n, len(got), len(want))
			}
		}
	}
}

func TestShardMistakes(t *testing.T) {
	indexed(t)
	write(t, "a.hgc", "")
	for _, c := range []struct {
		line, want string // see unlike
		is         error
	}{
		{"encode vectors.npy -m m.hgm --shard 0/3 -o x.hgc", "2 bad-flag-value --shard 0/3 I/N", nil},
		{"encode vectors.npy -m m.hgm --shard 4/3 -o x.hgc", "2 bad-flag-value --shard 4/3 I/N", nil},
		{"encode vectors.npy -m m.hgm --shard 3 -o x.hgc", "2 bad-flag-value --shard 3 I/N", nil},
		{"encode vectors.npy -m m.hgm --shard 1/9999999 -o x.hgc", "2 bad-flag-value --shard 1/9999999 1048576", nil},
		{"encode vectors.npy -m m.hgm -o x-{shard}.hgc", "2 no-shard x-{shard}.hgc --shard", nil},
		{"encode - -m m.hgm --shard 1/3 -o x.hgc", "2 read-once -: --shard", nil},
		{"merge a.hgc", "2 missing-flag merge -o", nil},
		{"merge", "2 wrong-arguments merge", nil},
		{"merge m.hgm -o x.hgc", "1 - m.hgm", hamming.ErrKind},
		{"merge a.hgc -o a.hgc", "2 output-is-input a.hgc", nil},
		{"merge items.hgi -o -", "2 no-standard-output -:", nil},
	} {
		if d := try(t, shellWords(c.line)...).unlike(c.want, c.is); d != "" {
			t.Errorf("%s: %s", c.line, d)
		}
	}
	if left, _ := filepath.Glob("x*"); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// TestMergeIndexes: indexes of shards, merged, answer as the index of all rows.
func TestMergeIndexes(t *testing.T) {
	indexed(t)
	for i := 1; i <= 2; i++ {
		succeed(t, shellWords(fmt.Sprintf("encode vectors.npy -m m.hgm --shard %d/2 -o {shard}.hgc", i))...)
		succeed(t, shellWords(fmt.Sprintf("index build %05d-of-00002.hgc -m m.hgm -o %d.hgi", i, i))...)
	}
	succeed(t, shellWords("index build vectors.npy -m m.hgm -o whole.hgi")...)
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
		{"merge 1.hgi 00002-of-00002.hgc -o x.hgi", "1 - 00002-of-00002.hgc", hamming.ErrKind},
		{"merge 00002-of-00002.hgc 1.hgi -o x.hgi", "1 - 1.hgi", hamming.ErrKind},
		{"merge none.hgi -o x.hgi", "1 - none.hgi", fs.ErrNotExist},
		{"merge items.csv -o x.hgi", "1 - items.csv", hamming.ErrKind},
	} {
		if d := try(t, shellWords(c.line)...).unlike(c.want, c.is); d != "" {
			t.Errorf("%s: %s", c.line, d)
		}
	}
	succeed(t, shellWords("merge 1.hgi -o all.hgi --force")...)
	if r := informed(t, "all.hgi"); r.Items != 200 {
		t.Errorf("%+v", r)
	}
	if left, _ := filepath.Glob("*.new"); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}
