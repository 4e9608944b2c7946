package beam

import (
	"context"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/memfs"

	"hashgrove"
	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
)

// Every row of every file is in exactly one run, in order, whatever the lengths of files and runs are.
func TestDivideHasEveryRowOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	for range 300 {
		var files []countedFile
		var want []Piece // one for each row
		for i := range 1 + rng.IntN(5) {
			rows := rng.IntN(12)
			files = append(files, countedFile{inputFile{Index: i, Path: string(rune('a' + i))}, rows})
			before := len(want)
			for row := range rows {
				want = append(want, Piece{Path: files[i].File.Path, Before: before, Total: rows, From: row, Rows: 1})
			}
		}
		rng.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] }) // as they come from a worker
		shards := rng.IntN(9)
		var got []Piece
		runs := 0
		next := 0
		err := (&divideFn{shards}).ProcessElement(0, func(f *countedFile) bool {
			if next == len(files) {
				return false
			}
			*f = files[next]
			next++
			return true
		}, func(s Shard) {
			runs++
			if s.Number != runs || s.First != len(got) || s.Total != len(want) {
				t.Errorf("%+v after %d rows", s, len(got))
			}
			for _, p := range s.Pieces {
				for row := range p.Rows {
					got = append(got, Piece{Path: p.Path, Before: p.Before, Total: p.Total, From: p.From + row, Rows: 1})
				}
			}
		})
		if err != nil || runs != max(1, shards) || !slices.Equal(got, want) {
			t.Fatalf("%d shards of %v: %v\n%v\nwant\n%v", shards, files, err, got, want)
		}
	}
}

// newModel learns a small model.
func newModel(t *testing.T, path string, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	x, labels := make([][]float32, 60), make([]int, 60)
	for i := range x {
		labels[i] = i % 3
		for range 3 {
			x[i] = append(x[i], float32(rng.NormFloat64())+float32(i%3))
		}
	}
	m, err := hashgrove.Train(t.Context(), hashgrove.Rows(x, labels), hashgrove.Options{Bits: 4, Rounds: 3})
	if err != nil {
		t.Fatal(err)
	}
	if err := model.WriteFile(path, m.Expert()); err != nil {
		t.Fatal(err)
	}
}

// A process loads a model once, however many transforms ask, and refuses one that is not that of the pipeline.
func TestModelIsLoadedOnce(t *testing.T) {
	path, other := filepath.Join(t.TempDir(), "m.hgm"), filepath.Join(t.TempDir(), "other.hgm")
	newModel(t, path, 1)
	newModel(t, other, 2)
	f, err := OpenModel(t.Context(), path)
	if err != nil || f.Bits != 4 {
		t.Fatalf("%+v, %v", f, err)
	}
	swap := func(from string) {
		b, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(path, b, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	right, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	swap(other)
	for range 2 {
		_, err := f.load(t.Context())
		if d := fault.Differs(err, "model-mismatch", path, f.Fingerprint[:16]); d != "" {
			t.Errorf("another model: %s", d)
		}
	}
	if err := os.WriteFile(path, right, 0o666); err != nil {
		t.Fatal(err)
	}
	loaded := make([]*model.Model, 8)
	var workers sync.WaitGroup
	for i := range loaded {
		workers.Go(func() { loaded[i], _ = f.load(context.Background()) })
	}
	workers.Wait()
	swap(other) // nobody reads it any more
	for _, m := range loaded {
		if again, err := f.load(t.Context()); err != nil || m == nil || m != again {
			t.Fatalf("%p and %p, %v", m, again, err)
		}
	}
}

// Files of a file system of Beam are read by way of copies, which are removed, and written whole.
func TestRemoteFiles(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ctx, data := t.Context(), "[1, 2, 3]\n[4, 5, 6]\n[7, 8, 9]\n"
	memfs.Write("memfs://in/b.jsonl", []byte(data))
	memfs.Write("memfs://in/a.jsonl", []byte(data))
	path := filepath.Join(t.TempDir(), "m.hgm")
	newModel(t, path, 1)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	memfs.Write("memfs://in/m.hgm", b)
	in := Input{Paths: []string{"memfs://in/*.jsonl"}}
	if in.Model, err = OpenModel(ctx, "memfs://in/m.hgm"); err != nil {
		t.Fatal(err)
	}
	files, err := in.files(ctx)
	if err != nil || len(files) != 2 || files[0].Path != "memfs://in/a.jsonl" {
		t.Fatalf("%v, %v", files, err)
	}
	var counted []countedFile
	for _, f := range files {
		if err := (&countFn{Input: in}).ProcessElement(ctx, f, func(c countedFile) { counted = append(counted, c) }); err != nil {
			t.Fatal(err)
		}
	}
	encode, written := &encodeFn{Input: in}, []Written{}
	if err := encode.Setup(ctx); err != nil {
		t.Fatal(err)
	}
	w := &writeFn{Output: "memfs://out/codes-{shard}.hgc"}
	for range 2 { // a bundle that is run again writes the same
		err := encode.ProcessElement(ctx, divide(counted, hamming.NewShard(2, 2, 6)), func(c Codes) {
			if err := w.ProcessElement(ctx, c, func(f Written) { written = append(written, f) }); err != nil {
				t.Fatal(err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(written) != 2 || written[0] != written[1] || written[0] != (Written{"memfs://out/codes-00002-of-00002.hgc", 3}) {
		t.Fatalf("%v", written)
	}
	file, err := openRemote(ctx, written[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := hamming.NewReader(file)
	if err != nil || r.Shard.First != 3 || r.Shard.Rows != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := in.files(ctx); err != nil {
		t.Error(err)
	}
	in.Paths = []string{"memfs://in/*.npy"}
	_, err = in.files(ctx)
	if d := fault.Differs(err, "no-files", in.Paths[0]); d != "" {
		t.Error(d)
	}
	if _, _, _, err := in.open(ctx, Piece{Path: "memfs://in/none.jsonl"}, nil); err == nil ||
		!strings.Contains(err.Error(), "memfs://in/none.jsonl") {
		t.Error(err)
	}
	if _, err := io.ReadAll(file); err != nil {
		t.Error(err)
	}
}
