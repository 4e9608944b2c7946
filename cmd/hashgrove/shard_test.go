package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"hashgrove/internal/cli"
	"hashgrove/internal/hamming"
)

// TestShardsMergeToTheWhole: shards encoded one by one and merged are the file of one encode, byte for byte.
func TestShardsMergeToTheWhole(t *testing.T) {
	if testing.Short() {
		t.Skip("runs in full, without the race detector, with the documents")
	}
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

// TestShardIsLeftAlone: what a scheduler runs again ends with status 0 and does nothing, if nothing needs to be done.
func TestShardIsLeftAlone(t *testing.T) {
	indexed(t)
	succeed(t, shellWords("train items.csv --label category --id-column sku --bits 16 --rounds 4 -o other.hgm")...)
	const line = "encode vectors.npy -m m.hgm --shard 2/3 -o c-{shard}.hgc --if-missing"
	const path = "c-00002-of-00003.hgc"
	succeed(t, shellWords(line)...)
	want := read(t, path)
	before, _ := os.Stat(path)
	var r encodeReport
	if err := json.Unmarshal([]byte(succeed(t, shellWords(line+" --json")...)), &r); err != nil || !r.There || r.Rows != 133 {
		t.Errorf("%+v, %v", r, err)
	}
	if r.Shard == nil || *r.Shard != (shardReport{2, 3, 134, 133, 400}) {
		t.Errorf("%+v", r.Shard)
	}
	if after, _ := os.Stat(path); !os.SameFile(before, after) {
		t.Error("it was written again")
	}
	if s := informed(t, path).Shard; s == nil || *s != *r.Shard {
		t.Errorf("info says %+v", s)
	}
	if out := succeed(t, "info", path); !strings.Contains(out, "2 of 3") || !strings.Contains(out, "133 of 400") ||
		!strings.Contains(out, "134") {
		t.Errorf("info says %s", out)
	}
	// What is damaged is made again.
	for _, content := range [][]byte{want[:len(want)-9], append(bytes.Clone(want[:200]), append([]byte{want[200] ^ 1}, want[201:]...)...)} {
		write(t, path, string(content))
		if o := try(t, shellWords(line)...); o.code != 0 || !strings.Contains(o.err, path) ||
			!bytes.Equal(read(t, path), want) {
			t.Errorf("after damage: %+v", o)
		}
	}
	// What is something else is not.
	models := fingerprint(t, "m.hgm") + " " + fingerprint(t, "other.hgm")
	write(t, "text.hgc", "hello")
	for _, c := range []struct {
		line, want string
		is         error
	}{
		{"vectors.npy -m other.hgm --shard 2/3 -o c-{shard}.hgc --if-missing", "model-mismatch " + path + " " + models,
			errOther},
		{"vectors.npy -m m.hgm --shard 1/3 -o " + path + " --if-missing", "shard-mismatch " + path + " 133 134 400",
			errOther},
		{"vectors.npy -m m.hgm -o " + path + " --if-missing", "shard-mismatch " + path + " 133 134 400", errOther},
		{"new.csv -m m.hgm --label category --id-column sku --shard 2/3 -o c-{shard}.hgc --if-missing",
			"shard-mismatch " + path + " 27 80", errOther},
		{"vectors.npy -m m.hgm --shard 2/3 -o c-{shard}.hgc", "- " + path, cli.ErrExists},
		{"vectors.npy -m m.hgm -o text.hgc --if-missing", "not-codes text.hgc", errOther},
	} {
		d := try(t, shellWords("encode "+c.line)...).unlike("1 "+c.want+" --force", c.is)
		if d != "" || !bytes.Equal(read(t, path), want) {
			t.Errorf("encode %s: %s", c.line, d)
		}
	}
	succeed(t, shellWords("encode vectors.npy -m other.hgm --shard 2/3 -o c-{shard}.hgc --if-missing --force")...)
	if bytes.Equal(read(t, path), want) {
		t.Error("--force did not replace the codes")
	}
	// Without shards, too: the number of rows is compared.
	for _, there := range []bool{false, true} {
		var r encodeReport
		out := succeed(t, shellWords("encode vectors.npy -m m.hgm -o all.hgc --if-missing --json")...)
		if err := json.Unmarshal([]byte(out), &r); err != nil || r.There != there || r.Rows != 400 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	out := succeed(t, shellWords("encode vectors.npy -m m.hgm -o all.hgc --if-missing")...)
	if !strings.Contains(out, "all.hgc") || !strings.Contains(out, "400") {
		t.Error(out)
	}
}

// TestShardKeepsNumbers: rows without ids go by their numbers among all rows, in texts and in an index.
func TestShardKeepsNumbers(t *testing.T) {
	indexed(t)
	whole := strings.Split(succeed(t, shellWords("encode vectors.npy -m m.hgm --to csv -o -")...), "\n")
	part := strings.Split(succeed(t, shellWords("encode vectors.npy -m m.hgm --shard 3/4 --to csv -o -")...), "\n")
	if len(part) != 102 || part[1] != whole[201] || part[100] != whole[300] {
		t.Errorf("%d lines, from %s to %s", len(part), part[1], part[100])
	}
	lines := succeed(t, shellWords("encode vectors.npy -m m.hgm --shard 3/4 --to jsonl -o -")...)
	if !strings.HasPrefix(lines, `{"row":200,`) {
		t.Errorf("%.40s", lines)
	}
	succeed(t, shellWords("encode vectors.npy -m m.hgm --shard 3/4 -o {shard}.hgc")...)
	succeed(t, shellWords("encode vectors.npy -m m.hgm --shard 1/4 -o {shard}.hgc")...)
	succeed(t, shellWords("index build 00003-of-00004.hgc 00001-of-00004.hgc -o part.hgi")...)
	for id, there := range map[string]bool{"0": true, "99": true, "100": false, "199": false, "200": true, "299": true, "300": false} {
		o := try(t, shellWords("index get part.hgi --id "+id+" --json")...)
		if got := strings.Contains(o.out, `"code"`); got != there {
			t.Errorf("item %s: %+v", id, o)
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
		{"encode vectors.npy -m m.hgm --if-missing -o x.npy", "2 needs-code-file --if-missing .hgc", nil},
		{"encode vectors.npy -m m.hgm --if-missing --to hgc -o -", "2 needs-code-file --if-missing .hgc", nil},
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

// TestShardIsAtomic: a process that is stopped leaves nothing behind, and the next one does the work.
func TestShardIsAtomic(t *testing.T) {
	indexed(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	words := shellWords("encode vectors.npy -m m.hgm --shard 1/2 -o c-{shard}.hgc --if-missing")
	if code := run(ctx, strings.NewReader(""), io.Discard, io.Discard, words); code == 0 {
		t.Error("it went on")
	}
	if left, _ := filepath.Glob("c-*"); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	succeed(t, words...)
}

// TestFilters: encode between two pipes gives what it gives for a file, from npy and JSON lines.
func TestFilters(t *testing.T) {
	indexed(t)
	npy := read(t, "vectors.npy")
	var lines bytes.Buffer
	for i := range 400 {
		values := make([]string, 12)
		for j := range values {
			values[j] = fmt.Sprint(float32At(npy[128:], 12*i+j))
		}
		fmt.Fprintf(&lines, "[%s]\n", strings.Join(values, ","))
	}
	for _, to := range []string{"hgc", "npy", "raw", "hex", "csv", "jsonl"} {
		want := succeed(t, shellWords("encode vectors.npy -m m.hgm -o - --to "+to)...)
		for _, c := range []struct {
			in    []byte
			flags string
		}{{npy, ""}, {npy, "--format npy"}, {lines.Bytes(), ""}, {lines.Bytes(), "--format jsonl"}} {
			o := feed(t, bytes.NewReader(c.in), shellWords("encode - -m m.hgm -o - --to "+to+" "+c.flags)...)
			if to == "npy" && !bytes.HasPrefix(c.in, npy[:8]) { // the number of rows comes first there
				if d := o.unlike("1 - NumPy rows"); d != "" || o.out != "" {
					t.Errorf("%s to npy: %s", c.flags, d)
				}
				continue
			}
			if o.code != 0 || o.out != want {
				t.Errorf("%s to %s: exit %d, %d bytes, want %d: %s", c.flags, to, o.code, len(o.out), len(want), o.err)
			}
		}
	}
	// Schedulers start filters for partitions without rows, too.
	if o := feed(t, strings.NewReader(""), shellWords("encode - -m m.hgm --to jsonl -o - --format jsonl")...); o.code != 0 || o.out != "" {
		t.Errorf("no rows: %+v", o)
	}
}

// float32At returns a value of an array.
func float32At(b []byte, i int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
}

// endless yields n bytes of float32 values.
type endless struct {
	rng  *rand.Rand
	left int
	top  uint64 // greatest heap seen
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p)&^3, e.left)
	for i := 0; i < n; i += 4 {
		copy(p[i:], float32LE(float32(e.rng.IntN(100))))
	}
	if e.left -= n; e.left>>20 != (e.left+n)>>20 {
		var m runtime.MemStats
		runtime.GC() // what other tests left may be large, and then garbage is collected late
		runtime.ReadMemStats(&m)
		e.top = max(e.top, m.HeapAlloc)
	}
	return n, nil
}

// TestFilterHasBoundedMemory sends more through a filter than it may keep.
func TestFilterHasBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("runs in full, without the race detector, with the documents")
	}
	indexed(t)
	const size = 12 * 4 << 20 // 48 MB in a million rows
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	in := &endless{rng: rand.New(rand.NewPCG(1, 2)), left: size}
	var errOut bytes.Buffer
	out := &counter{}
	head := fmt.Sprintf("\x93NUMPY\x01\x00\x76\x00%-117s\n",
		fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 12), }", size/48))
	rows := io.MultiReader(strings.NewReader(head), in)
	if code := run(context.Background(), rows, out, &errOut, shellWords("encode - -m m.hgm --to raw -o - --quiet")); code != 0 {
		t.Fatal(errOut.String())
	}
	if out.n != size/48*2 {
		t.Errorf("%d bytes of codes", out.n)
	}
	if more := int64(in.top) - int64(before.HeapAlloc); more > size/2 {
		t.Errorf("%d bytes of memory for %d bytes of data", more, size)
	}
}

type counter struct{ n int }

func (c *counter) Write(b []byte) (int, error) {
	c.n += len(b)
	return len(b), nil
}

// TestMergeNamesTheMistake: what merge refuses, on the command line.
func TestMergeNamesTheMistake(t *testing.T) {
	indexed(t)
	for i := 1; i <= 3; i++ {
		succeed(t, shellWords(fmt.Sprintf("encode items.csv -m m.hgm --label category --id-column sku --shard %d/3 -o c-{shard}.hgc", i))...)
	}
	parts, _ := filepath.Glob("c-*.hgc")
	if d := try(t, "merge", parts[0], parts[2], "-o", "x.hgc").differs(1, "", "2 of 3"); d != "" {
		t.Error(d)
	}
	// A shard of other data with as many rows is no shard of these.
	write(t, "other.csv", strings.Replace(string(read(t, "items.csv")), "items-7,", "items-x,", 1))
	succeed(t, shellWords("encode other.csv -m m.hgm --label category --id-column sku --shard 2/3 -o other-{shard}.hgc")...)
	if d := try(t, "merge", parts[0], "other-00002-of-00003.hgc", parts[2], "-o", "x.hgc").differs(1, "other-data", "other-00002-of-00003.hgc"); d != "" {
		t.Error(d)
	}
	out := succeed(t, append([]string{"merge", "-o", "all.hgc", "--json"}, parts...)...)
	var r mergeReport
	if err := json.Unmarshal([]byte(out), &r); err != nil || r.Rows != 400 || r.Shards != 3 || !r.IDs || r.Bits != 16 {
		t.Errorf("%s, %v", out, err)
	}
	table, err := hamming.ReadFile("all.hgc")
	if err != nil || !table.Shard.IsWhole() || table.IDs[399] != "items-399" {
		t.Errorf("%v", err)
	}
	again := try(t, append([]string{"merge", "-o", "all.hgc"}, parts...)...)
	if d := again.unlike("1 - all.hgc --force", cli.ErrExists); d != "" {
		t.Error(d)
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
