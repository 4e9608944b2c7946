package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/parquet-go/parquet-go"

	"hashgrove/internal/dataset"
	"hashgrove/internal/model"
	"hashgrove/internal/testkit/picturetest"
	"hashgrove/internal/vectors"
)

func TestMain(m *testing.M) {
	flag.Parse()
	sdk.Init()
	os.Exit(m.Run())
}

// grovePath builds the command that results are compared with.
var grovePath = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "hashgrove-beam-test-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "hashgrove")
	build := exec.Command("go", "build", "-o", path, "./cmd/hashgrove")
	build.Dir = "../../../.."
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

// grove runs hashgrove.
func grove(t *testing.T, args ...string) string {
	t.Helper()
	path, err := grovePath()
	if err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		t.Fatalf("hashgrove %v: %v\n%s", args, err, errOut.String())
	}
	return out.String()
}

// pipe runs a pipeline on the local runner.
func pipe(args ...string) (out string, err error) {
	var stdout, stderr bytes.Buffer
	if status := run(context.Background(), &stdout, &stderr, args); status != 0 {
		return stdout.String(), fmt.Errorf("status %d: %s", status, stderr.String())
	}
	return stdout.String(), nil
}

func mustPipe(t *testing.T, args ...string) string {
	t.Helper()
	out, err := pipe(args...)
	if err != nil {
		t.Fatalf("hashgrove-beam %v: %v", args, err)
	}
	return out
}

// item is a row of the test data.
type item struct {
	ID     string    `json:"id" parquet:"id"`
	Label  string    `json:"label" parquet:"label"`
	Tags   []string  `json:"tags" parquet:"tags,list"`
	Vector []float32 `json:"vector" parquet:"vector,list"`
}

const dims = 8

// data writes rows of five classes around points of their own: a NumPy file with labels beside it, JSON lines, Parquet.
func data(t *testing.T, dir, name string, seed uint64, rows int) []item {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 7))
	items := make([]item, rows)
	x := vectors.Matrix{Rows: rows, Cols: dims}
	var lines, labels bytes.Buffer
	for i := range items {
		class := rng.IntN(5)
		items[i] = item{ID: fmt.Sprint(name, "-", i), Label: fmt.Sprint("class", class)}
		for tag := range 4 {
			if rng.IntN(3) > 0 {
				items[i].Tags = append(items[i].Tags, fmt.Sprint("tag", (class+tag)%6))
			}
		}
		for d := range dims {
			items[i].Vector = append(items[i].Vector, float32(rng.NormFloat64())+float32((class*(d+3))%5))
		}
		x.Data = append(x.Data, items[i].Vector...)
		tags := `"` + strings.Join(items[i].Tags, `", "`) + `"`
		if len(items[i].Tags) == 0 {
			tags = ""
		}
		fmt.Fprintf(&lines, "{\"id\": %q, \"label\": %q, \"tags\": [%s], \"vector\": %s}\n", items[i].ID, items[i].Label,
			tags, strings.ReplaceAll(fmt.Sprint(items[i].Vector), " ", ", "))
		fmt.Fprintln(&labels, items[i].Label)
	}
	path := filepath.Join(dir, name)
	if _, err := dataset.SaveNpy(t.Context(), x, path+".npy", dataset.Float32, nil); err != nil {
		t.Fatal(err)
	}
	write(t, path+".labels", labels.String())
	write(t, path+".jsonl", lines.String())
	if err := parquet.WriteFile(path+".parquet", items); err != nil {
		t.Fatal(err)
	}
	return items
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

// train learns a model from the file a of a folder.
func train(t *testing.T, dir, name string, bits int, seed int) string {
	t.Helper()
	path := filepath.Join(dir, name)
	grove(t, "train", filepath.Join(dir, "a.jsonl"), "--label", "label", "--skip-bad", "--bits", fmt.Sprint(bits),
		"--seed", fmt.Sprint(seed), "-o", path, "--quiet")
	return path
}

// pictures writes a folder of small pictures, in folders of their classes.
func pictures(t *testing.T, dir string, n int) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 3))
	folder := filepath.Join(dir, "pictures")
	for i := range n {
		class := filepath.Join(folder, fmt.Sprint("class", i%3))
		if err := os.MkdirAll(class, 0o777); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(class, fmt.Sprintf("%d.png", i)), picturetest.PNG(noise{rng.Uint64()}))
	}
	return folder
}

// sameFiles compares what two patterns with {shard} stand for.
func sameFiles(t *testing.T, got, want string) {
	t.Helper()
	g, _ := filepath.Glob(strings.ReplaceAll(got, "{shard}", "*"))
	w, _ := filepath.Glob(strings.ReplaceAll(want, "{shard}", "*"))
	if len(g) != len(w) || len(g) == 0 {
		t.Fatalf("%d files %s and %d files %s", len(g), got, len(w), want)
	}
	for i := range g {
		a, err1 := os.ReadFile(g[i])
		b, err2 := os.ReadFile(w[i])
		if err1 != nil || err2 != nil || !bytes.Equal(a, b) {
			t.Errorf("%s and %s differ: %v, %v", g[i], w[i], err1, err2)
		}
	}
}

// fingerprint is the beginning of the fingerprint of a model.
func fingerprint(t *testing.T, path string) string {
	t.Helper()
	m, err := model.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return m.Fingerprint().Full()[:16]
}

// wantError checks that an error names facts: files, numbers, fingerprints.
func wantError(t *testing.T, err error, facts ...string) {
	t.Helper()
	for _, fact := range facts {
		if err == nil || !strings.Contains(err.Error(), fact) {
			t.Errorf("the error %v does not name %q", err, fact)
		}
	}
	if err != nil && strings.Contains(err.Error(), "caused by") {
		t.Errorf("the error shows the plan of a bundle: %v", err)
	}
}

func TestCommandLine(t *testing.T) {
	for _, args := range [][]string{
		{}, {"dance"}, {"encode"}, {"encode", "a.npy"}, {"encode", "a.npy", "--model", "m.hgm"},
		{"encode", "--model", "m.hgm", "--output", "x-{shard}.hgc"}, {"encode", "a.npy", "--nonsense"},
		{"push", "a.npy", "--model", "m.hgm"}, {"features", "pictures", "--output", "x-{shard}.npy"},
		{"eval", "--model", "m.hgm", "--base", "a", "--output", "r.json"},
		{"eval", "a.npy", "--model", "m.hgm", "--base", "a", "--queries", "q", "--output", "r.json"},
		{"eval", "--model", "m.hgm", "--base", "a", "--queries", "q", "--output", "r.json", "--precision-at", "0"},
	} {
		if _, err := pipe(args...); err == nil || !strings.HasPrefix(err.Error(), "status 2: hashgrove-beam: ") {
			t.Errorf("%v: %v", args, err)
		}
	}
	var help bytes.Buffer
	if status := run(t.Context(), io.Discard, &help, []string{"--help"}); status != 0 {
		t.Errorf("status %d", status)
	}
	for _, want := range []string{"Usage: hashgrove-beam encode", "-shards", "-runner", "-endpoint"} {
		if !strings.Contains(help.String(), want) {
			t.Errorf("the help does not have %s", want)
		}
	}
}
