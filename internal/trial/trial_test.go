package trial

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/eval"
	"hashgrove/internal/fault"
	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/train"
	"hashgrove/internal/vectors"
)

func TestValuesComeBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "value-"+Key("value", 1)+".json")
	if _, ok := Load[[]int](path); ok {
		t.Error("a value that nobody saved was loaded")
	}
	want := []int{3, 1, 2}
	if err := Save(path, want); err != nil {
		t.Fatal(err)
	}
	if got, ok := Load[[]int](path); !ok || !slices.Equal(got, want) {
		t.Errorf("loaded %v, want %v", got, want)
	}
	saved, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	load := func(b []byte) ([]int, bool) {
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		return Load[[]int](path)
	}
	if got, ok := load([]byte("[3, 1")); ok || got != nil {
		t.Errorf("a damaged file was loaded as %v", got)
	}
	for i := range saved {
		changed := slices.Clone(saved)
		changed[i] ^= 1 // another digit, among others
		if got, ok := load(changed); ok || got != nil {
			t.Errorf("with another byte %d it was loaded as %v", i, got)
		}
	}
	if got, ok := load([]byte("[3,1,2]\n")); !ok || !slices.Equal(got, want) {
		t.Errorf("a file of an older version was loaded as %v", got)
	}
	if first, again := Key("a", 1), Key("a", 1); first != again || first == Key("a", 2) || len(first) != 24 {
		t.Error("keys do not tell their inputs apart")
	}
}

func TestPanicIsAnError(t *testing.T) {
	err := Protect("ksh", func() error { panic("index out of range\nstack") })
	d := fault.Differs(err, "internal-error", "ksh", "index out of range")
	if d != "" || strings.Contains(err.Error(), "stack") {
		t.Errorf("a panic became %v: %s", err, d)
	}
	want := errors.New("no")
	if err := Protect("ksh", func() error { return want }); err != want {
		t.Errorf("an error became %v", err)
	}
}

// blobs are rows of three classes.
func blobs(t *testing.T, seed uint64, rows int) *supervision.Data {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	table := vectors.Table{X: vectors.Matrix{Rows: rows, Cols: 4}}
	for i := range rows {
		for j := range 4 {
			table.X.Data = append(table.X.Data, float32(rng.NormFloat64())+float32(3*(i%3)*(j%2)))
		}
		table.Labels = append(table.Labels, string(rune('a'+i%3)))
	}
	d, err := supervision.Scan(context.Background(), table, supervision.ScanOptions{Digest: true})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// An interrupted training resumes to the same model, and its time counts.
func TestInterruptedTrainingResumes(t *testing.T) {
	d := blobs(t, 1, 90)
	o := train.Options{Bits: 6, Rounds: 5}
	whole, err := Train(context.Background(), d, o)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := whole.Seconds(3), whole.Seconds(6); !(0 < a && a < b) || whole.Resumed != 0 {
		t.Errorf("%v s for 3 bits and %v s for 6, %d resumed", a, b, whole.Resumed)
	}
	checkpoint := filepath.Join(t.TempDir(), "model.ckpt")
	ctx, cancel := context.WithCancel(context.Background())
	o.Checkpoint = checkpoint
	o.Progress = func(p train.Progress) {
		if p.Bit == 4 {
			cancel()
		}
	}
	if _, err := Train(ctx, d, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted with %v", err)
	}
	o.Progress = nil
	resumed, err := Train(context.Background(), d, o)
	if err != nil {
		t.Fatal(err)
	}
	if resumed.Resumed < 3 {
		t.Errorf("only %d bits were resumed", resumed.Resumed)
	}
	if resumed.Model.Fingerprint() != whole.Model.Fingerprint() {
		t.Error("the resumed training gave another model")
	}
	for i, s := range resumed.times.Seconds {
		if s <= 0 {
			t.Errorf("the time of bit %d is lost", i+1)
		}
	}
	if err := Discard(checkpoint); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(checkpoint + "*"); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

func TestUnknownTimesAreTheMean(t *testing.T) {
	var c clock
	if c.until(3) != 0 {
		t.Error("a clock that knows nothing tells a time")
	}
	c.times.Seconds = []float64{2, 0, 4}
	for bits, want := range []float64{0, 2, 5, 9, 12} {
		if got := c.until(bits); got != want {
			t.Errorf("%d bits took %v s, want %v", bits, got, want)
		}
	}
}

// Codes do not depend on whether the rows are in memory, and are judged as eval judges them.
func TestBenchJudgesTheCodes(t *testing.T) {
	base, queries := blobs(t, 1, 60), blobs(t, 2, 30)
	lsh, err := Train(context.Background(), base, train.Options{Method: "lsh", Bits: 16})
	if err != nil {
		t.Fatal(err)
	}
	bench, err := NewBench(base, queries, eval.Options{})
	if err != nil {
		t.Fatal(err)
	}
	codes, err := bench.Encode(context.Background(), ModelCoder(lsh.Model))
	if err != nil {
		t.Fatal(err)
	}
	streamed := *base
	streamed.Source = model.Through(base.Source, 1)
	if _, ok := Vectors(&streamed); ok {
		t.Fatal("the stream is in memory: this test cannot fail")
	}
	again, err := ModelCoder(lsh.Model)(context.Background(), &streamed, 1)
	if err != nil || !slices.Equal(again.Data, codes.Base.Data) || codes.Seconds <= 0 {
		t.Errorf("streamed rows have other codes (%v), or no time was taken", err)
	}
	got, err := bench.Judge(context.Background(), codes)
	if err != nil {
		t.Fatal(err)
	}
	truth := eval.ByClass(queries.Labels.Class, base.Labels.Class)
	want, err := eval.Retrieval(context.Background(), codes.Queries, codes.Base, truth, eval.Options{})
	if err != nil || got.MAP != want.MAP || got.MAP < 0.4 {
		t.Errorf("MAP %v, want %v (%v)", got.MAP, want.MAP, err)
	}
}
