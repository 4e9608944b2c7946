package server_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"testing"

	"hashgrove/api"
	"hashgrove/server"
)

// TestBlankFiltersDeleteNothing: what a program sends that has no condition left.
func TestBlankFiltersDeleteNothing(t *testing.T) {
	w := newShop(t, nil)
	for _, blank := range []string{"", " ", "\t\n"} {
		for _, dry := range []bool{false, true} {
			w.refused(400, "POST", "/v1/collections/shop/delete", map[string]any{"where": blank, "dry_run": dry})
		}
	}
	var a struct{ Deleted int }
	w.get(&a, "POST", "/v1/collections/shop/delete", map[string]any{"where": "has id"})
	if a.Deleted != shopItems+1 {
		t.Errorf("%d deleted after blank filters, want all %d", a.Deleted, shopItems+1)
	}
}

// packed returns values as base64.
func packed(rows ...[]float32) string {
	return base64.StdEncoding.EncodeToString([]byte(packFloats(slices.Concat(rows...)...)))
}

// TestWritesBringVectors: after a write a search by id is a search by the vector that was written, and so are rerankings
// and the vector that is sent; after a write of a code, and after a reload of a file with other codes, there is none.
func TestWritesBringVectors(t *testing.T) {
	w := newShop(t, nil)
	const shop = "/v1/collections/shop"
	hits := func(query string, value any, options map[string]any) (found []api.Hit) {
		body := map[string]any{query: value, "k": 9}
		maps.Copy(body, options)
		var a api.Answer
		w.get(&a, "POST", shop+"/search", body)
		return a.Results[0].Hits
	}
	same := func(when string, id any, vector []float32) {
		t.Helper()
		for _, o := range []map[string]any{{"rank": "margins"}, {"rerank": "euclidean"}, {"ties": "vectors"}, nil} {
			if a, b := hits("id", id, o), hits("vector", vector, o); !reflect.DeepEqual(a, b) {
				t.Errorf("%s, %v:\nby id     %+v\nby vector %+v", when, o, a, b)
			}
		}
		var a struct{ Vector []float32 }
		w.get(&a, "GET", fmt.Sprintf("%s/vector/%v", shop, id), nil)
		if !slices.Equal(a.Vector, vector) {
			t.Errorf("%s: the vector is %v, want %v", when, a.Vector, vector)
		}
	}
	far := func(by float32) []float32 { return []float32{by, -by, by, -by} }
	same("at the start", 5, w.row(5))
	w.get(new(any), "PUT", shop+"/items/5", map[string]any{"vector": far(9)})
	same("put", 5, far(9))
	w.get(new(any), "POST", shop+"/items", map[string]any{"ids": []int{5, 6}, "vectors_base64": packed(far(-9), w.row(5))})
	same("packed", 5, far(-9))
	same("packed", 6, w.row(5))
	w.refused(409, "POST", shop+"/items", map[string]any{"ids": []int{7, 5}, "vectors": [][]float32{far(9), far(9)}, "mode": "add"})
	same("refused", 5, far(-9))
	same("refused", 7, w.row(7))
	w.get(new(any), "DELETE", shop+"/items/5", nil)
	w.get(new(any), "PUT", shop+"/items/5", map[string]any{"vector": w.row(8)})
	same("deleted and put", 5, w.row(8))
	w.get(new(any), "PATCH", shop+"/items/5", map[string]any{"label": "caps"})
	same("patched", 5, w.row(8))
	w.get(new(any), "PUT", shop+"/items/5", map[string]any{"code": "0ff0000000000000"})
	w.refused(404, "GET", shop+"/vector/5", nil)
	w.refused(400, "POST", shop+"/search", map[string]any{"id": 5, "rerank": "euclidean"})

	w.get(new(any), "PUT", shop+"/items/9", map[string]any{"vector": w.row(10)})
	other := w.files.shop + ".new" // the file on disk is as the service started with, but item 5 came with a code since
	writeIndex(t, other, w.model, shopBatch(t, w.model))
	if err := os.Rename(other, w.files.shop); err != nil {
		t.Fatal(err)
	}
	w.get(new(any), "POST", shop+"/reload", nil)
	same("reloaded", 5, w.row(5))
	same("reloaded", 9, w.row(9))
}

// TestVectorsOfAnotherDay: the file of vectors that a service is started with is older than an item.
func TestVectorsOfAnotherDay(t *testing.T) {
	w := newShop(t, nil)
	w.get(new(any), "PUT", "/v1/collections/shop/items/5", map[string]any{"vector": []float32{9, -9, 9, -9}})
	ok(t, w.Close())
	again := serve(t, func(o *server.Options) {
		o.Collections = []server.CollectionOptions{{Name: "shop", Path: w.files.shop, Vectors: w.files.vectors}}
	})
	again.must(t, 404, "GET", shop+"/vector/5", "")
	var a struct{ Vector []float32 }
	ok(t, json.Unmarshal([]byte(again.must(t, 200, "GET", shop+"/vector/6", "")), &a))
	if !slices.Equal(a.Vector, w.row(6)) {
		t.Errorf("the vector of another item is %v", a.Vector)
	}
}
