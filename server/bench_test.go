package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"hashgrove/internal/index"
	"hashgrove/internal/store"
	"hashgrove/server"
)

// BenchmarkSearch measures what the handler costs beside the search itself, without the network.
func BenchmarkSearch(b *testing.B) {
	path := filepath.Join(b.TempDir(), "codes.hgi")
	st, err := store.Create(ctx, path, store.Options{Bits: 64})
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	batch := index.NewBatch(64)
	for i := range 100_000 {
		batch.Append(index.Item{ID: index.Int(int64(i)), Code: []uint64{r.Uint64()}, Label: fmt.Sprint("class", i%10)})
	}
	if err := st.Add(ctx, batch); err != nil {
		b.Fatal(err)
	}
	x := st.Snapshot()
	if err := st.Close(); err != nil {
		b.Fatal(err)
	}
	s, err := server.New(ctx, server.Options{Collections: []server.CollectionOptions{{Name: "codes", Path: path}}})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	h := s.Handler()
	body, err := json.Marshal(map[string]any{"code": fmt.Sprintf("%016x", r.Uint64()), "k": 10})
	if err != nil {
		b.Fatal(err)
	}
	var search float64
	b.Run("index", func(b *testing.B) {
		for b.Loop() {
			if _, err := x.Search(ctx, []uint64{r.Uint64()}, 10, index.Options{Threads: 1, Ties: true}); err != nil {
				b.Fatal(err)
			}
		}
		search = float64(b.Elapsed().Nanoseconds()) / float64(b.N)
	})
	b.Run("handler", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			q := httptest.NewRequest("POST", "/v1/collections/codes/search", strings.NewReader(string(body)))
			q.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, q)
			if w.Code != http.StatusOK {
				text, _ := io.ReadAll(w.Body)
				b.Fatal(w.Code, string(text))
			}
		}
		b.ReportMetric((float64(b.Elapsed().Nanoseconds())/float64(b.N)-search)/1000, "us-beside-the-search")
	})
}
