package model

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/vectors"
)

var update = flag.Bool("update", false, "write golden files that are missing")

// golden is what a model file of an older version must still give.
type golden struct {
	Fingerprint string      `json:"fingerprint"`
	Vectors     [][]float32 `json:"vectors"`
	Codes       []string    `json:"codes"`
}

// TestBackwardCompatibility opens model files of every version since the first. A file that is there is never
// written again: -update only adds those that are missing.
func TestBackwardCompatibility(t *testing.T) {
	if *update {
		for name, m := range samples() {
			if err := addGolden(filepath.Join("testdata", "backcompat", fmt.Sprintf("v%d-%s", versionOf(m), name)), m); err != nil {
				t.Fatal(err)
			}
		}
	}
	files, _ := filepath.Glob("testdata/backcompat/*.hgm")
	if len(files) < 22 {
		t.Fatalf("only the files %v", files)
	}
	for _, file := range files {
		m, err := ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		text, err := os.ReadFile(file[:len(file)-len(".hgm")] + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var want golden
		if err := json.Unmarshal(text, &want); err != nil || len(want.Vectors) == 0 {
			t.Fatalf("%s: %v", file, err)
		}
		if got := m.Fingerprint().Full(); got != want.Fingerprint {
			t.Errorf("%s: fingerprint %s, want %s", file, got, want.Fingerprint)
		}
		for i, x := range want.Vectors {
			if got, err := hexCode(m, x); err != nil || got != want.Codes[i] {
				t.Errorf("%s: vector %d has code %s, want %s (%v)", file, i, got, want.Codes[i], err)
			}
		}
	}
}

func hexCode(m *Model, x []float32) (string, error) {
	codes := hamming.NewCodes(1, m.Encoder.Bits())
	m.Encoder.run(output{codes: codes}, vectors.Matrix{Rows: 1, Cols: len(x), Data: x})
	alone, err := m.EncodeRow(x)
	if err == nil && hamming.Distance(alone, codes.Row(0)) != 0 {
		err = errors.New("batch and single row differ")
	}
	return hex.EncodeToString(codes.AppendBytes(nil, 0)), err
}

func addGolden(stem string, m *Model) error {
	if _, err := os.Stat(stem + ".hgm"); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	g := golden{Fingerprint: m.Fingerprint().Full()}
	x := randomRows(rand.New(rand.NewPCG(8, 8)), m.Encoder, 20)
	for i := range x.Rows {
		code, err := hexCode(m, x.Row(i))
		if err != nil {
			return err
		}
		g.Vectors, g.Codes = append(g.Vectors, x.Row(i)), append(g.Codes, code)
	}
	text, err := json.Marshal(g)
	if err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(filepath.Dir(stem), 0o755), WriteFile(stem+".hgm", m), os.WriteFile(stem+".json", append(text, '\n'), 0o644))
}
