package search_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"hashgrove/api"
	"hashgrove/client"
	"hashgrove/internal/index"
	"hashgrove/internal/search"
	"hashgrove/internal/store"
	"hashgrove/internal/testkit/searchtest"
	"hashgrove/internal/vectors"
	"hashgrove/server"
)

// vectorTable is the vectors of a fixture, in memory.
func vectorTable(w *searchtest.Fixture) *search.Table {
	t, b, rows := search.NewTable(), index.NewBatch(w.Bits()), [][]float32(nil)
	for i, id := range w.Items.IDs {
		if x, ok := w.Vectors[api.ID(id.String())]; ok {
			b.Append(w.Items.Item(i))
			rows = append(rows, x)
		}
	}
	t.Set(b, rows, nil)
	return t
}

// vectorPass returns the same in a source that is read from start to end.
func vectorPass(w *searchtest.Fixture) *search.Pass {
	var t vectors.Table
	t.X.Cols = searchtest.Dimension
	for id, x := range w.Vectors {
		t.X.Rows, t.X.Data, t.IDs = t.X.Rows+1, append(t.X.Data, x...), append(t.IDs, string(id))
	}
	return &search.Pass{Open: func(context.Context) (vectors.Source, error) { return t, nil }}
}

// TestIndexInMemory runs the suite with many segments and with tables.
func TestIndexInMemory(t *testing.T) {
	for name, config := range map[string]index.Config{"planned": {}, "tables": {Tables: 2}} {
		t.Run(name, func(t *testing.T) {
			searchtest.Run(t, func(t *testing.T, w *searchtest.Fixture) api.Searcher {
				x := index.New(w.Bits(), w.Model.Fingerprint(), config)
				if err := x.Add(t.Context(), w.Items); err != nil {
					t.Fatal(err)
				}
				return &search.Items{Snapshot: x.Snapshot(), Model: w.Model, Vectors: vectorTable(w)}
			}, searchtest.Abilities{Full: true})
		})
	}
}

// file writes the fixture to an index file.
func file(t *testing.T, w *searchtest.Fixture) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "items.hgi")
	o := store.Options{Model: w.Model, Bits: w.Bits(), Fingerprint: w.Model.Fingerprint(), Items: w.Items}
	s, err := store.Create(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestIndexOnDisk runs the suite with items that stay in their file, and with vectors that are read in one pass.
func TestIndexOnDisk(t *testing.T) {
	searchtest.Run(t, func(t *testing.T, w *searchtest.Fixture) api.Searcher {
		s, err := store.Open(t.Context(), file(t, w), store.OpenOptions{ReadOnly: true, OnDisk: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return onDisk{s, w}
	}, searchtest.Abilities{Full: true})
}

// onDisk selects the items that a filter needs for each request.
type onDisk struct {
	*store.Store
	fixture *searchtest.Fixture
}

func (x onDisk) Search(ctx context.Context, r *api.Request) (*api.Answer, error) {
	f, err := search.ParseFilter(r.Where)
	if err != nil {
		return nil, err
	}
	selected, err := x.Select(ctx, f, nil)
	if err != nil {
		return nil, search.Coded(err)
	}
	items := &search.Items{
		Snapshot: selected.Snapshot, Model: x.fixture.Model, Vectors: vectorPass(x.fixture), Find: selected.Items, Get: x.Get,
	}
	return items.Search(ctx, r)
}

// TestService runs the suite through HTTP and the client.
func TestService(t *testing.T) {
	searchtest.Run(t, func(t *testing.T, w *searchtest.Fixture) api.Searcher {
		o := server.CollectionOptions{Name: "items", Path: file(t, w), Vectors: vectorFile(t, w), IDColumn: "id"}
		s, err := server.New(t.Context(), server.Options{
			Collections: []server.CollectionOptions{o}, Limits: server.Limits{K: 1 << 20, Hits: 1 << 30},
		})
		if err != nil {
			t.Fatal(err)
		}
		h := httptest.NewServer(s.Handler())
		t.Cleanup(func() {
			h.Close()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return (&client.Client{URL: h.URL}).Collection("items")
	}, searchtest.Abilities{Full: true})
}

// vectorFile writes the vectors of the fixture, and one of an unknown item, as CSV.
func vectorFile(t *testing.T, w *searchtest.Fixture) string {
	t.Helper()
	rows := [][]string{{"id", "a", "b", "c", "d", "e"}, {"elsewhere", "1", "2", "3", "4", "5"}}
	for id, x := range w.Vectors {
		row := []string{string(id)}
		for _, v := range x {
			row = append(row, strconv.FormatFloat(float64(v), 'g', -1, 32))
		}
		rows = append(rows, row)
	}
	var b bytes.Buffer
	path := filepath.Join(t.TempDir(), "vectors.csv")
	if err := csv.NewWriter(&b).WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}
