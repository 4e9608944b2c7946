package server_test

import (
	"path/filepath"
	"testing"

	"hashgrove"
	"hashgrove/api"
	"hashgrove/server"
)

// detailedWorld starts a server with the collection "look", whose codes have 16 bits of the class and 5 of detail.
func detailedWorld(t *testing.T) *world {
	t.Helper()
	x, labels := worldData()
	rows := make([][]float32, x.Rows)
	for i := range rows {
		rows[i] = x.Row(i)
	}
	data := hashgrove.Rows(rows, labels)
	made, err := hashgrove.Train(ctx, data,
		hashgrove.Options{Bits: worldBits, DetailBits: 5, Effort: "paper", Rounds: 10, Depth: 3})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "look.hgi")
	ix, err := hashgrove.CreateIndex(ctx, path, made.Model, data)
	if err != nil {
		t.Fatal(err)
	}
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	return newWorld(t, func(o *server.Options) {
		o.Collections = append(o.Collections, server.CollectionOptions{Name: "look", Path: path})
	})
}

// TestDetailIsServed: a collection says which bits are detail and what it ranks by, and its answers count them apart.
func TestDetailIsServed(t *testing.T) {
	w := detailedWorld(t)
	var about api.Description
	w.get(&about, "GET", "/v1/collections/look", nil)
	if about.Bits != worldBits+5 || about.DetailBits != 5 {
		t.Errorf("%d bits, %d of detail", about.Bits, about.DetailBits)
	}
	if len(about.Rankings) != 3 {
		t.Fatalf("it ranks by %v", about.Rankings)
	}
	var found api.Answer
	w.get(&found, "GET", "/v1/collections/look/search?id=3&k=20", nil)
	if found.Rank != about.Rankings[0] {
		t.Errorf("ranked by %s instead of %v", found.Rank, about.Rankings)
	}
	for _, rank := range about.Rankings {
		if rank == api.Margins {
			continue // needs vectors
		}
		w.get(&found, "GET", "/v1/collections/look/search?id=3&k=20&rank="+rank, nil)
		for _, h := range found.Results[0].Hits {
			if h.DetailDistance == nil || h.MarginDistance == nil || h.Distance > worldBits || *h.DetailDistance > 5 {
				t.Fatalf("ranked by %s: %+v", rank, h)
			}
		}
	}
	var plain api.Summary
	w.get(&plain, "GET", "/v1/collections/shop", nil)
	if plain.DetailBits != 0 {
		t.Errorf("a collection without detail has %d bits of it", plain.DetailBits)
	}
}
