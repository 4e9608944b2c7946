package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/store"
)

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
	out := succeed(t, shellWords("index migrate items.hgi --model longer.hgm --vectors items.csv --vectors new.csv --label category --id-column sku")...)
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
