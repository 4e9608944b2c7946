package workshop

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hashgrove"
	"hashgrove/internal/store"
	"hashgrove/internal/vectors"
)

// TestTheWorkshopTrainsAsGoDoes: the model of an upload is the one that Go makes of the rows that it was learned from.
func TestTheWorkshopTrainsAsGoDoes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	head, lines, rows := "kind,a,b,c\n", []string{}, vectors.Matrix{Cols: 3}
	for i := range 240 {
		line := fmt.Sprintf("k%d", i%3)
		for j := range 3 {
			v := float32(i) + float32(1000*rng.IntN(50)) + float32((i+j)%3*9000)
			rows.Data = append(rows.Data, v)
			line += fmt.Sprint(",", v)
		}
		rows.Rows++
		lines = append(lines, line+"\n")
	}
	b := newBench(t, Options{})
	b.must("POST", "/v1/try?name=rows.csv", head+strings.Join(lines, ""))
	b.must("POST", "/v1/try/1/train", `{"label":"kind","bits":8}`)
	b.wait("1", stateDone)
	s, err := store.Open(t.Context(), b.attached["try-1"].Path, store.OpenOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m, err := s.Model()
	if err != nil {
		t.Fatal(err)
	}
	learned, n := head, 0
	vectors.HashRows(rows, func(i int, h vectors.RowHash) {
		if share, _ := m.Info.Sketch.Share([]uint64{h.Short()}); share == 1 {
			learned += lines[i]
			n++
		}
	})
	if n < 100 || n > 200 {
		t.Fatalf("%d of 240 rows were learned from", n)
	}
	path := filepath.Join(t.TempDir(), "learned.csv")
	if err := os.WriteFile(path, []byte(learned), 0o666); err != nil {
		t.Fatal(err)
	}
	data, err := hashgrove.Open(path, hashgrove.Columns{Label: "kind"})
	if err != nil {
		t.Fatal(err)
	}
	made, err := hashgrove.Train(t.Context(), data, hashgrove.Options{
		Bits: 8, DetailBits: 3, Effort: "quick", Validation: new(0.0),
	})
	if err != nil || made.Fingerprint() != m.Fingerprint().Full() {
		t.Errorf("Go trains another model: %v", err)
	}
	if have, want := m.Info, made.Expert().Info; strings.Join(have.Features, "") != "abc" || have.Label != want.Label {
		t.Errorf("it remembers %q and %q", have.Features, have.Label)
	}
}
