package server_test

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

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
	if about.Bits != worldBits+5 || about.DetailBits != 5 || len(about.BitsState) != worldBits+5 {
		t.Errorf("%d bits, %d of detail, and the state of %d", about.Bits, about.DetailBits, len(about.BitsState))
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

// TestQualityIsOfTheClass: labels judge the bits of the class, with detail or without.
func TestQualityIsOfTheClass(t *testing.T) {
	w := detailedWorld(t)
	var of [2]struct {
		Live struct {
			MAP       float64
			Distances struct{ Same []int }
		}
	}
	for i, name := range []string{"look", "shop"} {
		for range 600 {
			status, _, b := w.call("GET", "/v1/collections/"+name+"/quality", nil)
			if status == 200 {
				if err := json.Unmarshal(b, &of[i]); err != nil {
					t.Fatal(err)
				}
				break
			}
			if status != 202 {
				t.Fatalf("%d %s", status, b)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	if n := len(of[0].Live.Distances.Same); n != worldBits+1 {
		t.Errorf("distances go up to %d", n-1)
	}
	if of[0].Live.MAP != of[1].Live.MAP || of[0].Live.MAP == 0 {
		t.Errorf("MAP %v with detail and %v without", of[0].Live.MAP, of[1].Live.MAP)
	}
}
