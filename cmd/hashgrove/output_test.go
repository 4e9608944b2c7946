package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"hashgrove/internal/cli"
	"hashgrove/internal/testkit/needs"
)

// TestInputsAreNotOverwritten: a file that is read stays as it is, whatever it is called and even with --force.
func TestInputsAreNotOverwritten(t *testing.T) {
	shop(t)
	photoFolder(t, "photos", 1)
	const train = "train items.csv --label category --id-column sku --bits 4 --rounds 3 "
	succeed(t, shellWords(train+"-o m.hgm")...)
	succeed(t, shellWords("index build items.csv -m m.hgm -o m.hgi")...)
	succeed(t, shellWords("features photos --kind pixels --size 4 -o p.npy")...)
	if err := os.Symlink("items.csv", "link.csv"); err != nil {
		needs.Skip(t, needs.Links, err)
	}
	if err := os.Link("items.csv", "hard.csv"); err != nil {
		needs.Skip(t, needs.Links, err)
	}
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	before := contentsOf(t)
	for _, args := range []string{
		train + "-o items.csv", train + "-o link.csv", train + "-o hard.csv", train + "-o ./photos/../items.csv",
		train + "-o " + filepath.Join(folder, "items.csv"),
		"train 'item?.csv' --label category --bits 4 -o items.csv",
		"train vectors.npy --labels classes.txt --bits 4 --rounds 3 -o classes.txt",
		"train vectors.npy --tags classes.txt --bits 4 --rounds 3 -o classes.txt",
		"train vectors.npy --pairs pairs.csv --bits 4 --rounds 3 -o pairs.csv",
		"encode items.csv -m m.hgm --to csv -o items.csv", "encode items.csv -m m.hgm --to hex -o m.hgm",
		"compare items.csv --label category --report items.csv",
		"compare items.csv --label category --queries new.csv --report new.csv",
		"compare items.csv --label category --new new.csv --report new.csv",
		"features photos --kind pixels --labels p.labels.txt -o p.npy",
		"index build items.csv -m m.hgm -o m.hgm", "index build items.csv -m m.hgm -o items.csv",
		"index build items.csv --id-column sku -m m.hgm --attributes new.csv -o new.csv",
	} {
		write(t, "pairs.csv", "0,1,similar\n")
		for _, force := range []string{"", " --force"} {
			if d := try(t, shellWords(args+force)...).unlike("2 output-is-input"); d != "" {
				t.Errorf("%s%s: %s", args, force, d)
			}
		}
	}
	if err := os.Remove("pairs.csv"); err != nil {
		t.Fatal(err)
	}
	sameContents(t, before)
}

// TestFilesThatExist: a result is not overwritten unless that is asked for.
func TestFilesThatExist(t *testing.T) {
	shop(t)
	photoFolder(t, "photos", 1)
	const data = "items.csv --label category --id-column sku "
	commands := []string{
		"train " + data + "--bits 4 --rounds 3 -o m.hgm",
		"encode items.csv -m m.hgm -o codes.npy",
		"features photos --kind pixels --size 4 -o p.npy",
		"compare " + data + "--methods lsh --bits 8 --unseen -1 --report report.html",
		"index build " + data + "-m m.hgm -o items.hgi",
		"index export items.hgi -o items.jsonl",
	}
	for _, args := range commands {
		if o := try(t, shellWords(args)...); errors.Is(o.cause, fs.ErrExist) {
			t.Errorf("%s: exit %d, %s", args, o.code, o.err)
		}
	}
	before := contentsOf(t)
	for _, args := range commands {
		if d := try(t, shellWords(args)...).unlike("1 - --force", fs.ErrExist); d != "" {
			t.Errorf("%s: %s", args, d)
		}
	}
	sameContents(t, before)
	for _, args := range commands {
		if o := try(t, shellWords(args+" --force")...); errors.Is(o.cause, fs.ErrExist) {
			t.Errorf("%s --force: exit %d, %s", args, o.code, o.err)
		}
	}
	// A file beside the vectors counts too.
	if err := os.Remove("p.npy"); err != nil {
		t.Fatal(err)
	}
	o := try(t, shellWords("features photos --kind pixels --size 4 -o p.npy")...)
	if d := o.unlike("1 - p.labels.txt", cli.ErrExists); d != "" {
		t.Errorf("labels beside the vectors: %s", d)
	}
	// A model that grows is one that exists.
	const grow = "train " + data + "--bits 6 --rounds 3 --grow m.hgm -o m.hgm"
	if d := try(t, shellWords(grow)...).unlike("1 - m.hgm --force", cli.ErrExists); d != "" {
		t.Errorf("%s: %s", grow, d)
	}
	if succeed(t, shellWords(grow+" --force")...); informed(t, "m.hgm").Bits != 6 {
		t.Error("the model did not grow")
	}
	succeed(t, shellWords("encode items.csv -m m.hgm --to hex -o -")...)
	succeed(t, shellWords("encode items.csv -m m.hgm --to hex -o /dev/null")...)
}

// TestFilesOnly: a command that does not write to standard output made a file called -.
func TestFilesOnly(t *testing.T) {
	shop(t)
	succeed(t, shellWords("train items.csv --label category --id-column sku --bits 4 --rounds 3 -o m.hgm")...)
	succeed(t, shellWords("index build items.csv -m m.hgm -o m.hgi")...)
	for _, line := range []string{
		"train items.csv --label category --bits 4 --rounds 3 -o -", "index build items.csv -m m.hgm -o -",
		"compare items.csv --label category --methods lsh --bits 4 --report -",
	} {
		o := try(t, shellWords(line)...)
		if d := o.unlike("2 no-standard-output"); d != "" || o.out != "" {
			t.Errorf("%s: %s\n%s", line, d, o.out)
		}
	}
}

// TestOutputsAreTriedFirst: a folder that is missing or a file that is a folder is told before anything is learned.
func TestOutputsAreTriedFirst(t *testing.T) {
	shop(t)
	succeed(t, shellWords("train items.csv --label category --id-column sku --bits 4 --rounds 3 -o m.hgm")...)
	if err := os.Mkdir("folder", 0o777); err != nil {
		t.Fatal(err)
	}
	write(t, "plain", "")
	photoFolder(t, "photos", 1)
	for _, args := range []string{
		"train missing.csv --label category -o ", "encode missing.csv -m m.hgm --to hgc -o ", "index build missing.csv -m m.hgm -o ",
		"features photos --kind gist -o ", "compare missing.csv --label category --report ",
	} {
		for path, want := range map[string]string{
			"folder": "1 is-a-folder folder", "nowhere/x": "1 no-such-folder nowhere/x", "plain/x": "1 - plain/x",
		} {
			o := try(t, shellWords(args+path)...)
			if d := o.unlike(want); d != "" || strings.Contains(o.err, "missing.csv") {
				t.Errorf("%s: %s\n%s", args+path, d, o.err)
			}
		}
	}
	o := try(t, "demo", "-o", "plain/shop")
	if d := o.unlike("1 - plain"); d != "" || strings.Count(o.err, "\n") != 1 || o.out != "" { // it has not begun
		t.Errorf("demo: %s\n%s%s", d, o.err, o.out)
	}
	if err := os.Mkdir("shop", 0o777); err != nil {
		t.Fatal(err)
	}
	write(t, "shop/demo.hgm", "old")
	o = try(t, "demo", "-o", "shop")
	if d := o.unlike("1 - shop/demo.hgm --force", cli.ErrExists); d != "" || strings.Count(o.err, "\n") != 1 ||
		o.out != "" {
		t.Errorf("demo into a folder with a model: %s\n%s%s", d, o.err, o.out)
	}
}

// TestIndexIsReplaced: --force makes a new index in place of the old one, and nothing when the new one fails.
func TestIndexIsReplaced(t *testing.T) {
	shop(t)
	succeed(t, shellWords("train items.csv --label category --id-column sku --bits 8 --rounds 5 -o m.hgm")...)
	const build = "index build new.csv --id-column sku -m m.hgm -o items.hgi"
	succeed(t, shellWords("index build items.csv --id-column sku -m m.hgm -o items.hgi")...)
	before := read(t, "items.hgi")
	write(t, "bad.csv", strings.Replace(string(read(t, "new.csv")), "\n", "\nx,hats,NaN,1,1,1,1,1,1,1,1,1,1,1\n", 1))
	for args, code := range map[string]int{
		build: 1, "index build bad.csv --id-column sku -m m.hgm -o items.hgi --force": 1,
		"index build items.hgi new.csv --id-column sku -m m.hgm --force": 2,
	} {
		if o := try(t, shellWords(args)...); o.code != code || !bytes.Equal(before, read(t, "items.hgi")) {
			t.Errorf("%s: exit %d, %s", args, o.code, o.err)
		}
	}
	succeed(t, shellWords(build+" --force")...)
	want := succeed(t, shellWords("search items.hgi new.csv --id-column sku --row 0 --json")...)
	succeed(t, shellWords(strings.Replace(build, "items.hgi", "fresh.hgi", 1))...)
	if got := succeed(t, shellWords("search fresh.hgi new.csv --id-column sku --row 0 --json")...); hitsOf(got) != hitsOf(want) {
		t.Errorf("the index that replaced another finds\n%s\nand a fresh one\n%s", want, got)
	}
	write(t, "damaged.hgi", "no index at all")
	succeed(t, shellWords(strings.Replace(build, "items.hgi", "damaged.hgi --force", 1))...)
	succeed(t, "verify", "damaged.hgi")
	if found, _ := filepath.Glob("*.new"); len(found) > 0 {
		t.Errorf("%v is left", found)
	}
	if found, _ := filepath.Glob("*.tmp"); len(found) > 0 {
		t.Errorf("%v are left", found)
	}
}

// hitsOf strips the name of the index and measurements from a result.
func hitsOf(s string) string {
	var kept []string
	for line := range strings.Lines(s) {
		if strings.Contains(line, `"id"`) || strings.Contains(line, `"distance"`) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// contentsOf reads all files of the folder and of those in it.
func contentsOf(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"*", "photos/*/*"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				all[path] = string(read(t, path))
			}
		}
	}
	return all
}

func sameContents(t *testing.T, want map[string]string) {
	t.Helper()
	got := contentsOf(t)
	for path, content := range got {
		if old, there := want[path]; !there || old != content {
			t.Errorf("%s is new or has changed", path)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d files, before there were %d", len(got), len(want))
	}
}

// fullDisk takes some bytes and then no more.
type fullDisk struct{ left int }

func (f *fullDisk) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, syscall.ENOSPC
	}
	return len(p), nil
}

// TestResultsThatCannotBeWritten: every verb ends with status 1 when standard output takes no more, in all of its forms,
// and what it had made stays.
func TestResultsThatCannotBeWritten(t *testing.T) {
	indexed(t)
	for _, line := range []string{
		"inspect items.csv --label category", "info m.hgm", "info items.hgi", "verify m.hgm items.hgi", "version",
		"help train", "completion bash", "search items.hgi --id items-3",
		"index list items.hgi", "index export items.hgi -o - --to csv", "encode items.csv -m m.hgm --to hex -o -",
		"eval -m m.hgm --base items.csv --queries new.csv --label category",
		"search items.hgi new.csv --to csv", "index list items.hgi --where 'has id'",
	} {
		if o := try(t, shellWords(line)...); o.code != 0 {
			t.Errorf("%s: exit %d, %s", line, o.code, o.err)
		}
		for _, form := range []string{"", " --json"} {
			if form != "" && !strings.HasPrefix(try(t, shellWords(line+form)...).out, "{") {
				continue // the verb has no such form
			}
			for _, room := range []int{0, 20} {
				var errOut bytes.Buffer
				code := run(t.Context(), strings.NewReader(""), &fullDisk{room}, &errOut, shellWords(line+form))
				if o := try(t, shellWords(line+form)...); o.code == 2 || len(o.out) <= room {
					continue // nothing is printed
				}
				if code != 1 || !strings.Contains(errOut.String(), syscall.ENOSPC.Error()) {
					t.Errorf("%s%s with room for %d bytes: exit %d, %s", line, form, room, code, errOut.String())
				}
			}
		}
	}
	for _, form := range []string{"", " --json"} {
		os.Remove("built.hgi")
		line := shellWords("index build -o built.hgi items.csv --label category --id-column sku -m m.hgm" + form)
		if code := run(t.Context(), strings.NewReader(""), &fullDisk{}, io.Discard, line); code != 1 {
			t.Errorf("index build%s: exit %d", form, code)
		}
		succeed(t, "verify", "built.hgi") // a finished index is not removed because of its report
	}
}

// TestNothingCommandsTheTerminal: names in files that hold commands for a terminal are shown and not obeyed, and none makes
// a line of its own.
func TestNothingCommandsTheTerminal(t *testing.T) {
	shop(t)
	hostile := "\x1b]0;owned\x07\x1b[2J\u009b2J\nforged line"
	text := string(read(t, "items.csv"))
	head, rest, _ := strings.Cut(text, "\n")
	head = strings.Replace(head, "f1,", "\"f1"+hostile+"\",", 1)
	first := strings.Split(strings.SplitN(rest, "\n", 2)[0], ",")
	category := first[slices.Index(strings.Split(head, ","), "category")]
	write(t, "hostile.csv", head+"\n"+strings.ReplaceAll(rest, category, `"`+category+hostile+`"`))
	for _, line := range []string{
		"inspect hostile.csv --label category",
		"train hostile.csv --label category --id-column sku --bits 8 --rounds 3 -o h.hgm", "info h.hgm", "info h.hgm --json",
		"verify h.hgm", "index build -o h.hgi hostile.csv --label category --id-column sku -m h.hgm", "index list h.hgi",
		"info h.hgi", "search h.hgi hostile.csv --row 0", "search h.hgi hostile.csv --row 0 --json --explain",
		"index list h.hgi --json", "eval -m h.hgm --base hostile.csv --queries hostile.csv --label category",
		"search h.hgi --id items-0 --where 'x" + hostile + "'",
		"verify '" + hostile + "'",
		"inspect hostile.csv --label 'x" + hostile + "'",
	} {
		o := try(t, shellWords(line)...)
		for _, text := range []string{o.out, o.err} {
			if i := strings.IndexAny(text, "\x1b\x07\u009b"); i >= 0 {
				t.Errorf("%q prints %q", line, text[max(0, i-40):min(len(text), i+40)])
			}
			if i := strings.Index(text, "\nforged line"); i >= 0 {
				t.Errorf("%q prints a line of the file: %q", line, text[max(0, i-40):min(len(text), i+40)])
			}
		}
	}
}

// TestFilesAreWholeOrAbsent: codes, features, models, indexes and exports get their name only when they are complete.
func TestFilesAreWholeOrAbsent(t *testing.T) {
	indexed(t)
	photoFolder(t, "photos", 1)
	write(t, "bad.csv", string(read(t, "items.csv"))+"x,hats,NaN,1,1,1,1,1,1,1,1,1,1,1\n")
	write(t, "photos/dark/9.png", "no picture")
	before := contentsOf(t)
	for _, args := range []string{
		"encode bad.csv -m m.hgm --label category --id-column sku -o x.hgc",
		"features photos --kind pixels --size 4 -o x.npy",
		"train bad.csv --label category --id-column sku --bits 4 --rounds 3 -o x.hgm",
		"index build bad.csv -m m.hgm --label category --id-column sku -o x.hgi",
	} {
		if o := try(t, shellWords(args)...); o.code != 1 {
			t.Errorf("%s: exit %d, %s", args, o.code, o.err)
		}
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range []string{
		"encode items.csv -m m.hgm --label category --id-column sku -o x.hgc",
		"train items.csv --label category --id-column sku --bits 4 --rounds 3 -o x.hgm",
		"index export items.hgi -o x.jsonl",
	} {
		if code := run(stopped, strings.NewReader(""), io.Discard, io.Discard, shellWords(args)); code == 0 {
			t.Errorf("%s ends as if it had not been stopped", args)
		}
	}
	sameContents(t, before)
}
