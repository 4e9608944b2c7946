package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"hashgrove"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

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
	o := hashgrove.Options{Bits: 6, Rounds: 5}
	whole, err := trainTimed(context.Background(), d, o)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := whole.seconds(3), whole.seconds(6); !(0 < a && a < b) || whole.resumed != 0 {
		t.Errorf("%v s for 3 bits and %v s for 6, %d resumed", a, b, whole.resumed)
	}
	checkpoint := filepath.Join(t.TempDir(), "model.ckpt")
	ctx, cancel := context.WithCancel(context.Background())
	o.Checkpoint = checkpoint
	o.Progress = func(p hashgrove.Progress) {
		if p.Bit == 4 {
			cancel()
		}
	}
	if _, err := trainTimed(ctx, d, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted with %v", err)
	}
	o.Progress = nil
	resumed, err := trainTimed(context.Background(), d, o)
	if err != nil {
		t.Fatal(err)
	}
	if resumed.resumed < 3 {
		t.Errorf("only %d bits were resumed", resumed.resumed)
	}
	if resumed.model.Fingerprint() != whole.model.Fingerprint() {
		t.Error("the resumed training gave another model")
	}
	for i, s := range resumed.times.Seconds {
		if s <= 0 {
			t.Errorf("the time of bit %d is lost", i+1)
		}
	}
	if err := discard(checkpoint); err != nil {
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
