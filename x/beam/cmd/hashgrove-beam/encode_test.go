package main

import (
	"fmt"
	"image"
	"image/color"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"hashgrove/internal/engine"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/testkit/pgtest"
)

// noise is a picture of 12 x 10 pixels.
type noise struct{ seed uint64 }

func (noise) ColorModel() color.Model { return color.RGBAModel }
func (noise) Bounds() image.Rectangle { return image.Rect(0, 0, 12, 10) }
func (n noise) At(x, y int) color.Color {
	v := (n.seed + uint64(x*31+y*17)) * 0x9e3779b97f4a7c15
	return color.RGBA{uint8(v >> 56), uint8(v >> 48), uint8(v >> 40), 255}
}

// Files of codes are those of hashgrove encode --shard, byte for byte, whatever the format and the number of shards.
func TestEncodeIsEncode(t *testing.T) {
	dir := t.TempDir()
	data(t, dir, "a", 1, 400)
	data(t, dir, "b", 2, 123)
	data(t, dir, "few", 3, 3)
	m := train(t, dir, "m.hgm", 20, 1)
	in := func(names ...string) (paths []string) {
		for _, name := range names {
			paths = append(paths, filepath.Join(dir, name))
		}
		return paths
	}
	for name, c := range map[string]struct {
		data   []string
		shards int
	}{
		"npy":     {in("a.npy", "b.npy"), 1},
		"npy5":    {in("a.npy", "b.npy"), 5},
		"jsonl":   {in("a.jsonl", "b.jsonl"), 3},
		"parquet": {in("b.parquet", "a.parquet"), 4},
		"pattern": {in("[ab].npy"), 2},
		"few":     {in("few.npy"), 5}, // two shards are empty
	} {
		want, got := filepath.Join(dir, name+"-want-{shard}.hgc"), filepath.Join(dir, name+"-got-{shard}.hgc")
		for i := range c.shards {
			args := append([]string{"encode", "-m", m, "--quiet", "--shard", fmt.Sprintf("%d/%d", i+1, c.shards), "-o", want},
				c.data...)
			if strings.HasSuffix(c.data[0], ".jsonl") || strings.HasSuffix(c.data[0], ".parquet") {
				args = append(args, "--label", "label")
			}
			grove(t, args...)
		}
		args := append([]string{"encode", "--model", m, "--shards", fmt.Sprint(c.shards), "--output", got}, c.data...)
		out := mustPipe(t, args...)
		if !strings.Contains(out, fingerprint(t, m)) {
			t.Errorf("%s: %s", name, out)
		}
		sameFiles(t, got, want)
	}
	checkParquet(t, dir, m)
}

// checkParquet compares a Parquet file with the code file of the same rows.
func checkParquet(t *testing.T, dir, m string) {
	items := data(t, dir, "c", 4, 50)
	mustPipe(t, "encode", filepath.Join(dir, "c.jsonl"), "--model", m, "--shards", "1",
		"--output", filepath.Join(dir, "c-{shard}.parquet"))
	mustPipe(t, "encode", filepath.Join(dir, "c.jsonl"), "--model", m, "--shards", "1",
		"--output", filepath.Join(dir, "c-{shard}.hgc"))
	table, err := hamming.ReadFile(filepath.Join(dir, "c-00001-of-00001.hgc"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := parquet.ReadFile[struct {
		ID    string   `parquet:"id"`
		Code  []byte   `parquet:"code"`
		Label *string  `parquet:"label,optional"`
		Tags  []string `parquet:"tags,list"`
	}](filepath.Join(dir, "c-00001-of-00001.parquet"))
	if err != nil || len(rows) != len(items) {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	for i, r := range rows {
		label := ""
		if r.Label != nil {
			label = *r.Label
		}
		code := string(table.Codes.AppendBytes(nil, i))
		if r.ID != items[i].ID || r.ID != table.IDs[i] || string(r.Code) != code || label != items[i].Label {
			t.Errorf("row %d is %+v", i, r)
		}
	}
}

// A pipeline that failed in the middle is run again, and writes what it would have written.
func TestFailedRunsAreRunAgain(t *testing.T) {
	dir := t.TempDir()
	data(t, dir, "a", 1, 300)
	data(t, dir, "b", 2, 40)
	m := train(t, dir, "m.hgm", 16, 1)
	a, b := filepath.Join(dir, "a.npy"), filepath.Join(dir, "b.npy")
	whole, err := os.ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	bad := append([]byte(nil), whole...)
	copy(bad[len(bad)-4:], "\x00\x00\xc0\x7f") // the last value is no number, which only its shard notices
	write(t, b, string(bad))
	encode := func(name string) error {
		_, err := pipe("encode", a, b, "--model", m, "--shards", "4", "--output", filepath.Join(dir, name))
		return err
	}
	wantError(t, encode("got-{shard}.hgc"), "status 1", "b.npy", "row 40")
	write(t, b, string(whole[:len(whole)-10]))
	wantError(t, encode("got-{shard}.hgc"), "status 1", "b.npy")
	write(t, b, string(whole))
	wantError(t, encode("nowhere/got-{shard}.hgc"), "status 1", "nowhere")
	for range 2 { // and once more over what is there
		if err := encode("got-{shard}.hgc"); err != nil {
			t.Fatal(err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*.tmp")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	for i := range 4 {
		grove(t, "encode", a, b, "-m", m, "--shard", fmt.Sprintf("%d/4", i+1), "-o", filepath.Join(dir, "want-{shard}.hgc"))
	}
	sameFiles(t, filepath.Join(dir, "got-{shard}.hgc"), filepath.Join(dir, "want-{shard}.hgc"))
	wantError(t, encode("got.hgc"), "status 1", "{shard}")
	wantError(t, encode("got-{shard}.txt"), "status 1", ".parquet", ".hgc")
}

// Bad rows are left out when asked, and the others keep their numbers.
func TestSkipBad(t *testing.T) {
	dir := t.TempDir()
	data(t, dir, "a", 1, 100)
	m := train(t, dir, "m.hgm", 8, 1)
	path := filepath.Join(dir, "b.csv")
	names := "f0,f1,f2,f3,f4,f5,f6,f7\n"
	write(t, path, names+"1,2,3,4,5,6,7,8\nx,2,3,4,5,6,7,8\n8,7,6,5,4,3,2,1\n")
	out := mustPipe(t, "encode", path, "--model", m, "--shards", "2", "--skip-bad",
		"--output", filepath.Join(dir, "{shard}.parquet"))
	if !strings.Contains("\n"+out, "\n1 ") || !strings.Contains(out, ": 2 ") {
		t.Error(out)
	}
	rows, err := parquet.ReadFile[struct {
		ID string `parquet:"id"`
	}](filepath.Join(dir, "00002-of-00002.parquet"))
	if err != nil || len(rows) != 1 || rows[0].ID != "2" {
		t.Errorf("%v, %v", rows, err)
	}
}

// Vectors of pictures are those of hashgrove features --shard.
func TestFeaturesIsFeatures(t *testing.T) {
	dir := t.TempDir()
	folder, extractor := pictures(t, dir, 17), filepath.Join(dir, "gist")
	grove(t, "features", folder, "--kind", "gist", "--size", "16", "--save", extractor, "--quiet")
	for i := range 3 {
		grove(t, "features", folder, "--use", extractor, "--size", "16", "--shard", fmt.Sprintf("%d/3", i+1),
			"-o", filepath.Join(dir, "want-{shard}.npy"), "--quiet")
	}
	mustPipe(t, "features", folder, "--use", extractor, "--size", "16", "--shards", "3",
		"--output", filepath.Join(dir, "got-{shard}.npy"))
	for _, ending := range []string{".npy", ".labels.txt", ".ids.txt"} {
		sameFiles(t, filepath.Join(dir, "got-{shard}"+ending), filepath.Join(dir, "want-{shard}"+ending))
	}
	data(t, dir, "a", 1, 3)
	_, err := pipe("features", filepath.Join(dir, "a.npy"), "--use", extractor,
		"--output", filepath.Join(dir, "x-{shard}.npy"))
	wantError(t, err, "status 1", "a.npy", fmt.Sprintf(" %d ", dims))
}

// A push that failed in the middle and is run again leaves every item once.
func TestPush(t *testing.T) {
	server := pgtest.Start(t)
	dir := t.TempDir()
	items := data(t, dir, "a", 1, 300)
	data(t, dir, "b", 2, 100)
	m := train(t, dir, "m.hgm", 16, 1)
	whole, err := os.ReadFile(filepath.Join(dir, "b.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "b.jsonl"), string(whole)+"{\"id\": \"last\", \"vector\": \"none\"}\n")
	push := func(model string, more ...string) error {
		_, err := pipe(append([]string{"push", filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.jsonl"), "--model", model,
			"--shards", "5", "--engine", server.URL, "--table", "shop", "--batch", "30"}, more...)...)
		return err
	}
	wantError(t, push(m, "--password-variable", "HASHGROVE_TEST_PASSWORD"), "HASHGROVE_TEST_PASSWORD")
	t.Setenv("HASHGROVE_TEST_PASSWORD", pgtest.Password)
	secret := []string{"--password-variable", "HASHGROVE_TEST_PASSWORD"}
	err = push(m, secret...)
	wantError(t, err, "status 1", "b.jsonl")
	if strings.Contains(err.Error(), pgtest.Password) {
		t.Error("the error holds the password")
	}
	write(t, filepath.Join(dir, "b.jsonl"), string(whole))
	for range 2 {
		if err := push(m, secret...); err != nil {
			t.Fatal(err)
		}
	}
	e, err := engine.Open(t.Context(), engine.Target{URL: server.URL, Password: pgtest.Password, Table: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if info, err := e.Info(t.Context()); err != nil || info.Bits != 16 {
		t.Fatalf("%+v, %v", info, err)
	}
	if n, err := e.Count(t.Context()); err != nil || n != 400 {
		t.Errorf("%d items: %v", n, err)
	}
	found := 0
	err = e.Read(t.Context(), index.IDs(index.Text("a-17"), index.Text("b-99")), func(b *index.Batch) error {
		found += len(b.IDs)
		it := b.Item(0)
		if it.ID == index.Text("a-17") && (it.Label != items[17].Label || len(it.Tags) != len(items[17].Tags)) {
			t.Errorf("item %+v, want %+v", it, items[17])
		}
		return nil
	})
	if err != nil || found != 2 {
		t.Errorf("%d of two items were read: %v", found, err)
	}
	other := train(t, dir, "other.hgm", 16, 2)
	wantError(t, push(other, secret...), "status 1", fingerprint(t, m), fingerprint(t, other))
	if n, err := e.Count(t.Context()); err != nil || n != 400 {
		t.Errorf("%d items after a refusal: %v", n, err)
	}
}
