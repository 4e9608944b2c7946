package dataset

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"hashgrove/internal/vectors"
)

func TestNpyWriterRoundTrip(t *testing.T) {
	m := vectors.Matrix{Rows: 30_000, Cols: 7, Data: make([]float32, 210_000)} // several chunks
	rng := rand.New(rand.NewPCG(2, 2))
	for i := range m.Data {
		m.Data[i] = rng.Float32()
	}
	path := filepath.Join(t.TempDir(), "out.npy")
	if saved, err := SaveNpy(t.Context(), m, path, nil); err != nil || saved != (Saved{Rows: m.Rows}) {
		t.Fatalf("%+v, %v", saved, err)
	}
	got, err := vectors.Read(t.Context(), setOpen(t, Spec{Paths: []string{path}}))
	if err != nil || got.X.Cols != 7 || !slices.Equal(got.X.Data, m.Data) {
		t.Errorf("%d x %d come back, %v", got.X.Rows, got.X.Cols, err)
	}
}
