package metamorphic

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var (
	seed     = flag.Uint64("seed", 0, "run the sequence of this seed of TestMetamorphic alone")
	many     = flag.Bool("large", false, "with -seed: as the long test makes it, with many items")
	replay   = flag.String("replay", "", "a file with a sequence for TestMetamorphic, as a failure prints it")
	duration = flag.Duration("duration", 3*time.Minute, "how long TestMetamorphic runs with HASHGROVE_LONG=1")
)

// TestMetamorphic runs random sequences: fixed seeds and one new one, and with HASHGROVE_LONG=1 new ones until the time
// is up. A failure prints the seed and the shrunk sequence. The sequences in testdata failed once.
func TestMetamorphic(t *testing.T) {
	ctx, done := t.Context(), counts{}
	defer func() {
		t.Logf("count: metamorphic operations %d", done.operations)
		t.Logf("count: metamorphic questions %d", done.questions)
	}()
	if *replay != "" {
		runFile(ctx, t, *replay, &done)
		return
	}
	if *seed != 0 {
		n := usual
		if *many {
			n = large
		}
		runSeed(ctx, t, *seed, n, &done)
		return
	}
	kept, err := filepath.Glob(filepath.Join("testdata", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range kept {
		runFile(ctx, t, name, &done)
	}
	for n := uint64(0); n < fixedSeeds && !t.Failed(); n++ {
		runSeed(ctx, t, n+1, usual, &done)
	}
	if t.Failed() {
		return
	}
	random := uint64(rand.Uint32())
	t.Logf("the random seed is %d", random)
	runSeed(ctx, t, random, usual, &done)
	if os.Getenv("HASHGROVE_LONG") != "1" {
		return
	}
	for until := time.Now().Add(*duration); time.Now().Before(until) && !t.Failed(); {
		runSeed(ctx, t, uint64(rand.Uint32()), large, &done)
	}
}

// fixedSeeds is the number of sequences that always run.
const fixedSeeds = 12

// runSeed runs the sequence of a seed and shrinks it if it fails.
func runSeed(ctx context.Context, t *testing.T, seed uint64, n size, done *counts) {
	t.Helper()
	s := generate(seed, n)
	c, failed, err := runIn(ctx, t, s, n, every)
	done.operations += c.operations
	done.questions += c.questions
	if err == nil {
		return
	}
	again := fmt.Sprintf("-seed %d", seed)
	if n == large {
		again += " -large"
	}
	s.Steps = s.Steps[:failed+1]
	report(ctx, t, s, n, err, again)
}

// runFile runs a sequence in a file.
func runFile(ctx context.Context, t *testing.T, name string, done *counts) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := parse(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	c, _, err := runIn(ctx, t, s, large, every)
	done.operations += c.operations
	done.questions += c.questions
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// report shrinks a failing sequence and tells how to run it again.
func report(ctx context.Context, t *testing.T, s sequence, n size, err error, again string) {
	t.Helper()
	least := smallest(ctx, t, s, n, every)
	_, _, why := runIn(ctx, t, least, n, every)
	t.Errorf("%s failed: %v\n\nShrunk to %d of the %d steps up to there it fails so: %v\n\n%s\nRun it again with\n"+
		"go test ./internal/testkit/metamorphic -run TestMetamorphic %s\nor keep the lines above in a file and give it as -replay.",
		again, err, len(least.Steps), len(s.Steps), why, least, again)
}

// smallest shrinks a sequence that failed.
func smallest(ctx context.Context, t *testing.T, s sequence, n size, build builder) sequence {
	t.Helper()
	return shrink(s, time.Minute, func(s sequence) bool {
		_, _, err := runIn(ctx, t, s, n, build)
		return err != nil
	})
}

// runIn runs a sequence in a folder of its own, in memory if possible and there are few items: other tests cover what a
// disk keeps.
func runIn(ctx context.Context, t *testing.T, s sequence, n size, build builder) (counts, int, error) {
	t.Helper()
	parent := "/dev/shm"
	if _, err := os.Stat(parent); err != nil || n == large {
		parent = ""
	}
	folder, err := os.MkdirTemp(parent, "metamorphic")
	if err != nil {
		folder, err = os.MkdirTemp("", "metamorphic")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	return run(ctx, s, folder, build)
}

// TestSequencesAreReadBack: the output of a failure can be run again.
func TestSequencesAreReadBack(t *testing.T) {
	for seed := range uint64(50) {
		s := generate(seed, usual)
		text := s.String()
		back, err := parse([]byte(strings.ReplaceAll(text, "\n", "\n        ")))
		if err != nil || back.String() != text || len(back.Steps) != len(s.Steps) {
			t.Fatalf("seed %d: %v\n%s\n%s", seed, err, text, back)
		}
	}
}
