package server_test

import (
	"math"
	"path/filepath"
	"testing"

	"hashgrove/internal/model"
	"hashgrove/internal/store"
)

// TestHeatOfTheModel counts the tests of each pixel tree by tree, and compares with what the service says of its model.
func TestHeatOfTheModel(t *testing.T) {
	w, _ := pictureWorld(t)
	_, _, b := w.call("GET", "/v1/collections/shop/backup", nil)
	path := filepath.Join(t.TempDir(), "copy.hgi")
	if err := writeFile(path, b); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(ctx, path, store.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Model()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	trees, _, ok := model.Behind(m.Encoder)
	if !ok {
		t.Fatal("the model has no trees")
	}
	var tests [8][8]float64
	most := 0.0
	for y := range 8 {
		for x := range 8 {
			for channel := range 3 {
				for k := range trees.Functions {
					e := trees.Functions[k].(*model.Ensemble)
					for split, column := range e.Feature {
						if int(column) == (y*8+x)*3+channel && e.Bin[split] != 255 {
							tests[y][x]++
						}
					}
				}
			}
			most = max(most, tests[y][x])
		}
	}
	var a struct {
		Picture struct{ Width, Height, Channels int }
		Heat    []float64
	}
	w.get(&a, "GET", "/v1/collections/shop/model", nil)
	if a.Picture.Width != 8 || a.Picture.Height != 8 || a.Picture.Channels != 3 || len(a.Heat) != 64 || most == 0 {
		t.Fatalf("%+v, at most %v tests", a, most)
	}
	for i, heat := range a.Heat {
		if want := tests[i/8][i%8] / most; math.Abs(heat-want) > 1e-12 {
			t.Errorf("pixel %d, %d: %g, want %g", i%8, i/8, heat, want)
		}
	}

	var none map[string]any
	newWorld(t, nil).get(&none, "GET", "/v1/collections/shop/model", nil)
	if none["heat"] != nil || none["picture"] != nil {
		t.Error("a model of vectors has a heat of pixels")
	}
}
