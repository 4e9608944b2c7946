package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hashgrove"
	"hashgrove/internal/dataset"
	"hashgrove/internal/model"
)

// TestTablesTrainAsGoDoes: a row of a table has the model that Go makes of the same file, byte for byte.
func TestTablesTrainAsGoDoes(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	text := &strings.Builder{}
	text.WriteString("kind,a,b,c\n")
	for i := range 300 {
		fmt.Fprintf(text, "k%d,%d,%d,%d\n", i%3, i*7%31+i%3*20, i*11%29, i*13%37-i%3*9)
	}
	path := filepath.Join(dir, "rows.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	set, err := dataset.Open(dataset.Spec{Paths: []string{path}, Label: "kind"})
	if err != nil {
		t.Fatal(err)
	}
	runner := &Runner{Cache: dir, Seed: 1, Say: quiet}
	o := hashgrove.Options{Bits: 8, Effort: "paper", Seed: runner.Seed, Trees: hashgrove.TreeOptions{Rounds: 20}}
	m, _, err := runner.train(ctx, runner.data(set, 1, 0), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := model.WriteFile(filepath.Join(dir, "table.hgm"), m); err != nil {
		t.Fatal(err)
	}
	data, err := hashgrove.OpenData(path, hashgrove.Columns{Label: "kind"})
	if err != nil {
		t.Fatal(err)
	}
	o.Validation = -1
	made, err := hashgrove.Train(ctx, data, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Save(filepath.Join(dir, "go.hgm")); err != nil {
		t.Fatal(err)
	}
	a, errA := os.ReadFile(filepath.Join(dir, "table.hgm"))
	b, errB := os.ReadFile(filepath.Join(dir, "go.hgm"))
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Errorf("Go makes another model: %v, %v", errA, errB)
	}
}
