package experiments

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestShortRuns runs every experiment in its short form, twice: the second time everything comes from the cache.
func TestShortRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	cache := t.TempDir()
	for _, e := range All {
		var tables [2]*Table
		for i := range tables {
			made := 0
			lab := &Lab{Cache: cache, Short: true, Seed: 1, Say: func(format string, _ ...any) {
				if !strings.Contains(format, "in the cache") {
					made++
				}
			}}
			table, err := e.Run(context.Background(), lab)
			if err != nil {
				t.Fatalf("%s: %v", e.Name, err)
			}
			if len(table.Rows) == 0 || i == 1 && made > 0 {
				t.Errorf("%s: run %d made %d stages for %d rows", e.Name, i+1, made, len(table.Rows))
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
		if a.String() != b.String() || !strings.Contains(a.String(), "| features |") {
			t.Errorf("%s: the second run gave another table:\n%s%s", e.Name, a.String(), b.String())
		}
	}
}

func TestMissingDataIsSaid(t *testing.T) {
	lab := &Lab{Data: filepath.Join(t.TempDir(), "nothing"), Cache: t.TempDir(), Say: func(string, ...any) {}}
	if _, err := CIFAR10Features.Run(context.Background(), lab); err == nil || !strings.Contains(err.Error(), "data_batch_1.bin is not there") {
		t.Errorf("%v", err)
	}
	if _, err := Find("table99"); err == nil || !strings.Contains(err.Error(), "cifar10-features") {
		t.Errorf("%v", err)
	}
}
