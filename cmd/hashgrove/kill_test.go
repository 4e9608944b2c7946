//go:build unix

package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// killedCommands are commands by what they write. Each is killed again and again; train, push and large builds have tests
// of their own.
var killedCommands = map[string]string{
	"index add items.hgi new.npy --ids new.txt":                                 "items.hgi",
	"index delete items.hgi --ids gone.txt":                                     "items.hgi",
	"index update items.hgi --attributes table.csv":                             "items.hgi",
	"index compact items.hgi":                                                   "items.hgi",
	"index migrate items.hgi -m other.hgm --vectors rows.npy --ids old.txt":     "items.hgi",
	"index build rows.npy -m lsh.hgm --ids old.txt -o built.hgi":                "built.hgi",
	"index backup items.hgi -o items.backup":                                    "items.backup",
	"index restore first.backup -o restored.hgi":                                "restored.hgi",
	"index export items.hgi -o items.jsonl":                                     "items.jsonl",
	"encode rows.npy -m lsh.hgm -o codes.hgc":                                   "codes.hgc",
	"encode rows.npy -m lsh.hgm --shard 2/3 -o codes-{shard}.hgc":               "codes-00002-of-00003.hgc",
	"train rows.npy --method lsh --bits 128 -o new.hgm":                         "new.hgm",
	"merge codes-1.hgc codes-2.hgc -o merged.hgc":                               "merged.hgc",
	"push rows.npy -m lsh.hgm --engine postgres: --bulk b.csv --bulk-form copy": "b.csv",
}

// TestCommandsAfterKill kills commands with SIGKILL at random moments. What each writes is afterwards as it was before or as
// it should become, whole; run again, the command ends well and leaves no other files behind. HASHGROVE_KILLS says how often
// each is killed.
func TestCommandsAfterKill(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes for a few seconds")
	}
	each := 1
	if text := os.Getenv("HASHGROVE_KILLS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		each = n
	}
	t.Setenv("TMPDIR", t.TempDir())
	inputs := killedInputs(t)
	seed := uint64(time.Now().UnixNano())
	if n, err := strconv.ParseUint(os.Getenv("HASHGROVE_SEED"), 10, 64); err == nil {
		seed = n
	}
	t.Logf("seed %d, which HASHGROVE_SEED repeats", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	kills, unchanged, changed := 0, 0, 0
	for _, line := range slices.Sorted(maps.Keys(killedCommands)) {
		output := killedCommands[line]
		args := append(shellWords(line), "--quiet")
		before := written(t, output)
		began := time.Now()
		if out, err := command(args...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		took := time.Since(began)
		after := written(t, output)
		for range each {
			restoreInputs(t, inputs)
			cmd := command(args...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(rng.Float64() * 1.1 * float64(took)))
			_ = cmd.Process.Kill()
			if cmd.Wait() != nil {
				kills++
			}
			switch have := written(t, output); have {
			case after: // before comes second: packing an index does not change its items
				changed++
			case before:
				unchanged++
			default:
				t.Fatalf("seed %d, %s: after a kill %s holds something else than before and after it", seed, line, output)
			}
			again := args
			if written(t, output) == after && before != after && (output != "items.hgi" || strings.Contains(line, "add")) {
				again = nil // it would say, rightly, that all is there
			}
			if again != nil {
				old := time.Now().Add(-time.Hour) // new ones may be of processes that live, and stay
				left, _ := filepath.Glob("*.tmp")
				for _, name := range left {
					if err := os.Chtimes(name, old, old); err != nil {
						t.Fatal(err)
					}
				}
				if out, err := command(again...).CombinedOutput(); err != nil {
					t.Fatalf("seed %d, %s again: %v\n%s", seed, line, err, out)
				}
				if written(t, output) != after {
					t.Fatalf("seed %d, %s again: %s holds something else", seed, line, output)
				}
				noOthers(t, inputs, output)
			}
		}
		restoreInputs(t, inputs)
	}
	t.Logf("%d kills: %d outputs as before, %d complete", kills, unchanged, changed)
	t.Logf("count: kills %d", kills)
	if kills == 0 {
		t.Error("nothing was killed")
	}
}

// killedInputs makes the files that the commands read, and returns what is in them.
func killedInputs(t *testing.T) map[string]string {
	t.Helper()
	t.Chdir(t.TempDir())
	const rows = 12_000
	wideRows(t, "rows.npy", rows, 16)
	wideRows(t, "new.npy", rows/2, 16)
	lines := func(name, format string, from, to int) {
		var b strings.Builder
		if strings.HasSuffix(name, ".csv") {
			b.WriteString("id,price\n")
		}
		for i := from; i < to; i++ {
			fmt.Fprintf(&b, format+"\n", i, i%97)
		}
		write(t, name, b.String())
	}
	lines("old.txt", "old-%[1]d", 0, rows)
	lines("new.txt", "new-%[1]d", 0, rows/2)
	lines("gone.txt", "old-%[1]d", rows/4, rows/2)
	lines("table.csv", "old-%d,%d", 0, rows/2)
	for _, line := range []string{
		"train rows.npy --method lsh --bits 64 -o lsh.hgm", "train rows.npy --method lsh --bits 32 --seed 2 -o other.hgm",
		"index build rows.npy -m lsh.hgm --ids old.txt -o items.hgi", "index backup items.hgi -o first.backup",
		"encode rows.npy -m lsh.hgm --shard 1/2 -o codes-1.hgc", "encode rows.npy -m lsh.hgm --shard 2/2 -o codes-2.hgc",
	} {
		succeed(t, append(shellWords(line), "--quiet")...)
	}
	return contentsOf(t)
}

// restoreInputs makes the folder as it was.
func restoreInputs(t *testing.T, inputs map[string]string) {
	t.Helper()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if inputs[f.Name()] == "" {
			if err := os.RemoveAll(f.Name()); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(t, "items.hgi", inputs["items.hgi"])
}

// written returns what a file holds: the items of an index, the bytes of others, and nothing if it is not there.
func written(t *testing.T, name string) string {
	t.Helper()
	if _, err := os.Stat(name); err != nil {
		return ""
	}
	switch filepath.Ext(name) {
	case ".hgi", ".backup":
		succeed(t, "verify", name)
		return succeed(t, "index", "export", name, "--to", "jsonl", "-o", "-", "--wait", "30s")
	}
	return string(read(t, name))
}

// noOthers reports files that are neither inputs nor the output.
func noOthers(t *testing.T, inputs map[string]string, output string) {
	t.Helper()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if inputs[f.Name()] == "" && f.Name() != output {
			t.Errorf("%s is left behind", f.Name())
		}
	}
}
