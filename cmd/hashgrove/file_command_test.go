//go:build linux && amd64

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/store"
	"hashgrove/internal/testkit/disktest"
)

// fileCommand is a command that changes files, for the tests that let the disk fail or forget.
type fileCommand struct {
	name    string
	args    []string
	env     string                             // makes the test binary something else than the command
	old     func(t *testing.T)                 // makes the files that are there before, in the present folder; nil means none
	read    func() (string, error)             // what is there now, for comparisons; an error means that it is not whole
	between string                             // a third state that is allowed until the command is done
	refused bool                               // the command has nothing to do here and must fail
	private bool                               // only its owner may read what it makes, as what was there before
	also    func([]disktest.Op, disktest.Tree) // further promises, which a power cut must not break
}

func init() { asCommand["create"] = createChild }

func createChild() {
	if err := createIndex(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("created")
	os.Exit(0)
}

// createIndex makes an empty index, which only the library does.
func createIndex() error {
	s, err := store.Create(context.Background(), "items.hgi", store.Options{Bits: 4, Note: "new"})
	if err != nil {
		return err
	}
	return s.Close()
}

// process is the command as a process of its own, as small as it can be.
func (d *fileCommand) process() *exec.Cmd {
	cmd := command(d.args...)
	cmd.Env = append(cmd.Env, "GOMAXPROCS=1", "GOGC=off")
	if d.env != "" {
		cmd.Env = append(cmd.Env, "HASHGROVE_TEST_AS_COMMAND="+d.env)
	}
	return cmd
}

// here does the command in this process.
func (d *fileCommand) here(t *testing.T) error {
	if d.env != "" {
		return createIndex()
	}
	if o := try(t, d.args...); o.code != 0 {
		return fmt.Errorf("status %d: %s", o.code, o.err)
	}
	return nil
}

const absent = "absent"

// fileState reads a file that is there as a whole or not at all.
func fileState(path string) func() (string, error) {
	return func() (string, error) {
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return absent, nil
		}
		return string(b), err
	}
}

// indexState reads an index.
func indexState(t *testing.T, path string) func() (string, error) {
	return func() (string, error) {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return absent, nil
		}
		r, err := store.Verify(context.Background(), path, nil)
		if err != nil {
			return "", err
		}
		o := try(t, "index", "export", path, "--to", "jsonl", "-o", "-")
		if o.code != 0 {
			return "", errors.New(o.err)
		}
		return fmt.Sprint(r.Items, r.Bits, r.Fingerprint, "\n", o.out), nil
	}
}

// inputs makes what the commands read, in a folder of their own: operations on it do not count.
func inputs(t *testing.T, folder string) {
	table := func(name string, from, to int) {
		var b strings.Builder
		b.WriteString("sku,category,a,b,c\n")
		for i := from; i < to; i++ {
			fmt.Fprintf(&b, "item-%d,%s,%d,%d,%d\n", i, []string{"boots", "hats"}[i%2], i%2*5+i*7%4, i*5%9, i*3%7)
		}
		write(t, filepath.Join(folder, name), b.String())
	}
	table("items.csv", 0, 40)
	table("new.csv", 35, 45)
	t.Chdir(folder)
	for name, shade := range map[string]string{"old.idx": "a", "new.idx": "b"} { // four pictures of 2x2 pixels
		write(t, name, "\x00\x00\x08\x03\x00\x00\x00\x04\x00\x00\x00\x02\x00\x00\x00\x02"+strings.Repeat(shade, 16))
	}
	write(t, "labels.txt", "boots\nhats\nboots\nhats\n")
	write(t, "secret.csv", "sku,category,a,b,c\nspy,hidden-label,1,2,3\n")
	for bits, name := range map[string]string{"4": "short.hgm", "6": "long.hgm"} {
		succeed(t, slices.Concat([]string{"train", "items.csv", "--bits", bits, "-o", name}, trainFlags)...)
	}
	succeed(t, slices.Concat([]string{"index", "build", "items.csv", "-m", "short.hgm", "-o", "items.hgi"}, columnFlags)...)
	succeed(t, slices.Concat([]string{"index", "build", "secret.csv", "-m", "short.hgm", "-o", "spies.hgi"}, columnFlags)...)
	for _, shard := range []string{"1", "2"} {
		succeed(t, slices.Concat([]string{"encode", "items.csv", "-m", "short.hgm", "--shard", shard + "/2", "-o", shard + ".hgc"},
			columnFlags)...)
	}
	if err := errors.Join(os.Chmod("items.hgi", 0o600), os.Chmod("spies.hgi", 0o600)); err != nil {
		t.Fatal(err)
	}
}

var (
	columnFlags = []string{"--label", "category", "--id-column", "sku"}
	trainFlags  = slices.Concat(columnFlags, []string{"--rounds", "2", "--validation", "0", "--quiet"})
)

// fileCommands are all commands of the promise of durability. Inputs are in the folder in.
func fileCommands(t *testing.T, in string) []*fileCommand {
	input := func(name string) string { return filepath.Join(in, name) }
	state := indexState(t, "items.hgi")
	start := func(t *testing.T) {
		b := read(t, input("items.hgi"))
		write(t, "items.hgi", string(b))
	}
	rows := func(args ...string) []string { return append(args, columnFlags...) }
	train := slices.Concat([]string{"train", input("items.csv"), "--bits", "4", "-o", "m.hgm", "--resume"}, trainFlags)
	encode := rows("encode", input("items.csv"), "-m", input("short.hgm"), "-o", "codes.hgc", "--force")
	build := rows("index", "build", input("new.csv"), "-m", input("long.hgm"), "-o", "items.hgi", "--force")
	features := []string{"features", input("new.idx"), "--kind", "pixels", "-o", "v.npy", "--force"}
	withTraces := func(t *testing.T) {
		for range 50 { // the pages that the last write takes are chosen at random, and may be those of the deleted item
			start(t)
			succeed(t, rows("index", "add", "items.hgi", input("secret.csv"))...)
			succeed(t, "index", "delete", "items.hgi", "--id", "spy")
			if bytes.Contains(read(t, "items.hgi"), []byte("hidden-label")) {
				return
			}
		}
		t.Fatal("deleted items leave no traces, so that there is nothing to compact")
	}
	return []*fileCommand{
		{name: "create", env: "create", read: state},
		{name: "build", args: build, read: state},
		{name: "build over another", args: build, read: state, old: start, private: true},
		{name: "add", args: rows("index", "add", "items.hgi", input("new.csv"), "--upsert"), read: state, old: start, private: true},
		{name: "delete", args: []string{"index", "delete", "items.hgi", "--id", "item-3,item-4"}, read: state, old: start, private: true},
		{name: "compact", args: []string{"index", "compact", "items.hgi"}, private: true, old: withTraces,
			read: func() (string, error) { // what was deleted is gone for good
				b, _ := os.ReadFile("items.hgi")
				text, err := state()
				return fmt.Sprint(text, bytes.Contains(b, []byte("hidden-label"))), err
			}},
		{name: "migrate", args: rows("index", "migrate", "items.hgi", "-m", input("long.hgm"), "--vectors", input("items.csv")),
			read: state, old: start, private: true},
		{name: "backup", args: []string{"index", "backup", "items.hgi", "-o", "copy.hgi"}, read: indexState(t, "copy.hgi"),
			old: start, private: true},
		{name: "restore", args: []string{"index", "restore", input("items.hgi"), "-o", "items.hgi"}, read: state, private: true},
		{name: "update", args: []string{"index", "update", "items.hgi", "--attributes", input("new.csv"), "--attributes-id", "sku",
			"--attribute-columns", "a,b"}, read: state, old: start, private: true},
		{name: "merge over another", args: []string{"merge", input("items.hgi"), input("spies.hgi"), "-o", "items.hgi", "--force"},
			read: state, old: start, private: true},
		{name: "export", args: []string{"index", "export", "items.hgi", "-o", "all.jsonl"}, read: fileState("all.jsonl"), old: start},
		{name: "export a model", args: []string{"export", input("short.hgm"), "-o", "trees.c", "--force"}, read: fileState("trees.c"),
			old: func(t *testing.T) { write(t, "trees.c", "old") }},
		{name: "merge shards", args: []string{"merge", input("1.hgc"), input("2.hgc"), "-o", "codes.hgc"}, read: fileState("codes.hgc")},
		{name: "report", args: []string{"compare", input("items.csv"), "--label", "category", "--bits", "4", "--methods", "lsh",
			"--report", "r.html"}, read: pageState("r.html")},
		{name: "train", args: train, read: fileState("m.hgm"), also: keepsBits(t)},
		{name: "resume", args: train, read: fileState("m.hgm"), also: keepsBits(t), old: func(t *testing.T) { half(t, train) }},
		{name: "encode", args: encode, read: fileState("codes.hgc")},
		{name: "features over others", args: features, read: vectorsState, between: absent,
			old: func(t *testing.T) {
				succeed(t, "features", input("old.idx"), "--labels", input("labels.txt"), "--kind", "pixels", "-o", "v.npy", "--quiet")
			}},
		{name: "build where one is", args: withoutForce(build), read: state, old: start, refused: true},
		{name: "backup to itself", args: []string{"index", "backup", "items.hgi", "-o", "items.hgi"}, read: state, old: start,
			refused: true},
		{name: "encode onto its input", args: rows("encode", "codes.hgc", "-m", input("short.hgm"), "-o", "codes.hgc",
			"--force", "--format", "csv"), read: fileState("codes.hgc"), refused: true,
			old: func(t *testing.T) { write(t, "codes.hgc", string(read(t, input("items.csv")))) }},
		{name: "encode where codes are", args: withoutForce(encode), read: fileState("codes.hgc"), refused: true,
			old: func(t *testing.T) { write(t, "codes.hgc", "old") }},
		{name: "train where a model is", args: train, read: fileState("m.hgm"), refused: true,
			old: func(t *testing.T) { write(t, "m.hgm", string(read(t, input("short.hgm")))) }},
		{name: "encode over another", args: encode, read: fileState("codes.hgc"),
			private: true, old: func(t *testing.T) { write(t, "codes.hgc", "old") }},
	}
}

func withoutForce(args []string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(s string) bool { return s == "--force" })
}

// pageState reads a page that has times in it: what is told apart is whether it is there, and whole.
func pageState(path string) func() (string, error) {
	return func() (string, error) {
		text, err := fileState(path)()
		if text == absent || err != nil {
			return text, err
		}
		if !strings.HasPrefix(text, "<!DOCTYPE html>") || !strings.HasSuffix(strings.TrimSpace(text), "</html>") {
			return "", fmt.Errorf("half a page: %d bytes", len(text))
		}
		return "a whole page", nil
	}
}

// vectorsState reads vectors with what stands beside them, without which they mean nothing.
func vectorsState() (string, error) {
	v, err := fileState("v.npy")()
	if v == absent || err != nil {
		return v, err
	}
	labels, err := fileState("v.labels.txt")()
	return v + labels, err
}

// half trains until two bits are done and the third is being saved.
func half(t *testing.T, args []string) {
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	disk, err := disktest.NewDisk(folder)
	if err != nil {
		t.Fatal(err)
	}
	run, err := disktest.Follow((&fileCommand{args: args}).process(), folder, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range run.Ops {
		if err := disk.Apply(o, i); err != nil {
			t.Fatal(err)
		}
		if o.Kind == disktest.Write && strings.Contains(o.Path, "0003.bit.") {
			break
		}
	}
	if err := errors.Join(os.RemoveAll("m.hgm"), disk.After(disktest.Everything).WriteTo(folder)); err != nil {
		t.Fatal(err)
	}
	if files, _ := filepath.Glob("m.hgm.ckpt/*"); len(files) != 4 { // with the lock
		t.Fatalf("half a training left %q", files)
	}
}

// keepsBits checks that a training that is cut off loses at most the bit it was learning.
func keepsBits(t *testing.T) func([]disktest.Op, disktest.Tree) {
	return func(ops []disktest.Op, tree disktest.Tree) {
		if _, ok := tree["m.hgm"]; ok {
			return
		}
		begun, kept := 0, 0
		for _, o := range ops {
			if o.Kind == disktest.Create && strings.Contains(o.Path, ".bit.") && o.Err == 0 {
				begun++
			}
		}
		for name := range tree {
			if strings.HasSuffix(name, ".bit") {
				kept++
			}
		}
		if kept < begun-1 {
			t.Fatalf("%d bits are left when bit %d was being saved", kept, begun)
		}
	}
}
