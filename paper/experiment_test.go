package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hashgrove"
	"hashgrove/internal/message"
	"hashgrove/internal/testkit/needs"
)

// TestShortRuns runs every experiment in its short form, twice: the second time everything comes from the cache.
func TestShortRuns(t *testing.T) {
	needs.Check(t, "takes seconds")
	cache := t.TempDir()
	for _, e := range all {
		var tables [2]*Table
		for i := range tables {
			made := 0
			runner := &Runner{Cache: cache, Short: true, Seed: 1, Say: func(format string, _ ...any) {
				if format != inCache {
					made++
				}
			}}
			table, err := e.Run(context.Background(), runner)
			if err != nil {
				t.Fatalf("%s: %v", e.Name, err)
			}
			if len(table.Rows) == 0 || i == 1 && made > 0 {
				t.Errorf("%s: run %d made %d stages for %d rows", e.Name, i+1, made, len(table.Rows))
			}
			if len(table.Failures) > 0 {
				t.Errorf("%s: failed %q", e.Name, table.Failures)
			}
			for _, row := range table.Rows {
				if len(row) != len(table.Head) {
					t.Errorf("%s: a row of %d cells under a head of %d", e.Name, len(row), len(table.Head))
				}
			}
			tables[i] = table
		}
		var a, b bytes.Buffer
		now := time.Now()
		if err := tables[0].Markdown(&a, "x", now); err != nil {
			t.Fatal(err)
		}
		if err := tables[1].Markdown(&b, "x", now); err != nil {
			t.Fatal(err)
		}
		if a.String() != b.String() || !strings.Contains(a.String(), "| "+tables[0].Head[0]+" |") {
			t.Errorf("%s: the second run gave another table:\n%s%s", e.Name, a.String(), b.String())
		}
		dir := t.TempDir()
		if err := tables[0].WriteFigures(dir); err != nil {
			t.Fatal(err)
		}
		for _, f := range tables[0].Figures {
			b, err := os.ReadFile(filepath.Join(dir, f.Name+".svg"))
			if err != nil || !bytes.Contains(b, []byte("<svg")) || !strings.Contains(a.String(), "("+f.Name+".svg)") {
				t.Errorf("%s: figure %s: %v", e.Name, f.Name, err)
			}
		}
	}
}

func quiet(string, ...any) {}

func TestMissingDataIsSaid(t *testing.T) {
	runner := &Runner{Data: filepath.Join(t.TempDir(), "nothing"), Cache: t.TempDir(), Say: quiet}
	for name, want := range map[string]string{
		"cifar10-features": "data_batch_1.bin", "iaprtc12-ksh": "ids.txt",
	} {
		e, err := find(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Run(context.Background(), runner); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := find("table99")
	if d := message.Differs(err, "no-such-experiment", "table99", "cifar10-features"); d != "" {
		t.Error(d)
	}
}

// small is a table of three quick rows, one of which cannot be.
func small(ctx context.Context, runner *Runner) (*Table, error) {
	rows := []row{methodRow(codebook(800), 200, "lsh", hashgrove.Options{}, paperRow{}),
		methodRow(codebook(800), 200, "nothing", hashgrove.Options{}, paperRow{}), methodRow(codebook(800), 200, "splh",
			hashgrove.Options{}, paperRow{})}
	return runner.table(ctx, cifar10, "Small", "", rows)
}

func TestAFailedRowLeavesTheOthers(t *testing.T) {
	runner := &Runner{Cache: t.TempDir(), Short: true, Seed: 1, Say: quiet}
	table, err := small(context.Background(), runner)
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Failures) != 1 || !strings.Contains(table.Failures[0], `"nothing"`) {
		t.Errorf("failed: %q", table.Failures)
	}
	for i, want := range []bool{true, false, true} {
		if got := table.values[i].MAP > 0; got != want || len(table.Rows) != 3 || (table.Rows[i][14] != "-") != want {
			t.Errorf("row %d: %v", i, table.Rows[i])
		}
	}
	runner.Rows = []int{3}
	if table, err = small(context.Background(), runner); err != nil || len(table.Rows) != 1 || table.Rows[0][3] != "SPLH" {
		t.Errorf("the third row alone: %v, %v", table.Rows, err)
	}
}

// What was done before an interruption is not done again.
func TestInterruptionKeepsRows(t *testing.T) {
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	made := map[string]int{}
	runner := &Runner{Cache: t.TempDir(), Short: true, Seed: 1, Say: func(format string, args ...any) {
		if strings.HasSuffix(format, ": %.1f s") {
			made[args[0].(string)]++
			if args[0] == "codebook11200-cifar10-150-8-lsh" {
				cancel(stop)
			}
		}
	}}
	if _, err := small(ctx, runner); !errors.Is(err, stop) {
		t.Fatalf("interrupted with %v", err)
	}
	if table, err := small(context.Background(),
		runner); err != nil || table.values[0].MAP == 0 || table.values[2].MAP == 0 {
		t.Fatalf("after the interruption: %v", err)
	}
	for name, n := range made {
		if n != 1 {
			t.Errorf("%s was made %d times", name, n)
		}
	}
	if made["codebook11200-cifar10-150-8-splh"] != 1 {
		t.Errorf("made %v", made)
	}
}
