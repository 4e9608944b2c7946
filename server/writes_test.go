package server_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hashgrove/api"
	"hashgrove/server"
)

// TestBlankFiltersDeleteNothing: what a program sends that has no condition left.
func TestBlankFiltersDeleteNothing(t *testing.T) {
	w := newWorld(t, nil)
	for _, blank := range []string{"", " ", "\t\n"} {
		for _, dry := range []bool{false, true} {
			w.refused(400, "POST", "/v1/collections/shop/delete", map[string]any{"where": blank, "dry_run": dry})
		}
	}
	var a struct{ Deleted int }
	w.get(&a, "POST", "/v1/collections/shop/delete", map[string]any{"where": "has id"})
	if a.Deleted != worldRows {
		t.Errorf("%d deleted after blank filters, want all %d", a.Deleted, worldRows)
	}
}

// packed returns values as base64.
func packed(rows ...[]float32) string {
	var b []byte
	for _, row := range rows {
		for _, v := range row {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
	}
	return base64.StdEncoding.EncodeToString(b)
}

// TestEveryKeyOfItemsHasAnEffect sends all sets of keys: items one by one, or ids with exactly one of vectors, packed
// vectors and codes. Whatever is accepted is stored, and everything else is refused with the name of a key.
func TestEveryKeyOfItemsHasAnEffect(t *testing.T) {
	w := newWorld(t, nil)
	values := map[string]any{
		"items":   []any{map[string]any{"id": "x", "code": "0ff0", "label": "l0", "tags": []string{"t0"}, "attributes": map[string]any{"price": 1}}},
		"ids":     []any{"x"},
		"vectors": [][]float32{w.x.Row(3)}, "vectors_base64": packed(w.x.Row(4)), "codes": []string{"f00f"},
		"labels": []string{"l1"}, "tags": [][]string{{"t1"}}, "attributes": []any{map[string]any{"price": 2}},
		"mode": "upsert",
	}
	codes, err := w.model.Encode(ctx, w.x, 0)
	if err != nil {
		t.Fatal(err)
	}
	code := func(row int) string { return fmt.Sprintf("%04x", codes.Row(row)[0]>>48) }
	keys, sources := slices.Sorted(maps.Keys(values)), []string{"codes", "vectors", "vectors_base64"}
	const path = "/v1/collections/shop/items"
	for set := range 1 << len(keys) {
		body, given := map[string]any{}, 0
		for i, key := range keys {
			if set>>i&1 == 1 {
				body[key] = values[key]
				if slices.Contains(sources, key) {
					given++
				}
			}
		}
		has := func(key string) bool { return body[key] != nil }
		single := has("items") && given == 0 && !has("ids") && !has("labels") && !has("tags") && !has("attributes")
		if !single && (has("items") || !has("ids") || given != 1) {
			message := w.refused(400, "POST", path, body)
			if !slices.ContainsFunc(keys, func(key string) bool { return strings.Contains(message, key) }) {
				t.Errorf("%v: the refusal names no key: %s", body, message)
			}
			continue
		}
		if status, _, _ := w.call("DELETE", path+"/x", nil); status != 200 && status != 404 {
			t.Fatalf("delete: %d", status)
		}
		var a struct{ Item api.Item }
		w.get(&a, "POST", path, body)
		w.get(&a, "GET", path+"/x", nil)
		want := api.Item{ID: "x", Code: "0ff0", Label: "l0", Tags: []string{"t0"}, Attributes: map[string]any{"price": 1.0}}
		if !single {
			want = api.Item{ID: "x", Code: map[bool]string{true: "f00f"}[has("codes")]}
			if has("vectors") {
				want.Code = code(3)
			} else if has("vectors_base64") {
				want.Code = code(4)
			}
			if has("labels") {
				want.Label = "l1"
			}
			if has("tags") {
				want.Tags = []string{"t1"}
			}
			if has("attributes") {
				want.Attributes = map[string]any{"price": 2.0}
			}
		}
		if !reflect.DeepEqual(a.Item, want) {
			t.Errorf("%v\nstored %+v\n  want %+v", body, a.Item, want)
		}
	}
	for _, wrong := range []map[string]any{ // the bodies that were found to be stored otherwise, or to panic
		{"items": []any{map[string]any{}}, "vectors_base64": packed(w.x.Row(4))},
		{"items": []any{map[string]any{"id": "y", "code": "0ff0"}}, "ids": []any{}, "codes": []string{"0000", "zz"}},
		{"items": []any{map[string]any{"id": "y", "code": "", "vector": w.x.Row(3)}}},
		{"items": []any{map[string]any{"vector": w.x.Row(3)}}},
		{"items": []any{map[string]any{"id": "y"}}},
		{"items": []any{}}, {"ids": []any{}, "codes": []string{}},
		{"ids": []any{"y"}, "codes": []string{}}, {"ids": []any{"y"}, "codes": []string{"0ff0", "f00f"}},
		{"ids": []any{"y"}, "codes": []string{"0ff0"}, "labels": []string{}},
		{"ids": []any{"y"}, "vectors_base64": ""}, {"ids": []any{"y"}, "vectors_base64": packed(w.x.Row(3), w.x.Row(4))},
	} {
		w.refused(400, "POST", path, wrong)
	}
	w.refused(404, "GET", path+"/y", nil)
}

// TestWritesBringVectors: after a write a search by id is a search by the vector that was written, and so are rerankings
// and the vector that is sent; after a write of a code, and after a reload of a file with other codes, there is none.
func TestWritesBringVectors(t *testing.T) {
	w := newWorld(t, nil)
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
	far := func(by float32) []float32 { return []float32{by, -by, by, by, -by, by} }
	same("at the start", 5, w.x.Row(5))
	w.get(new(any), "PUT", shop+"/items/5", map[string]any{"vector": far(9)})
	same("put", 5, far(9))
	w.get(new(any), "POST", shop+"/items", map[string]any{"ids": []int{5, 6}, "vectors_base64": packed(far(-9), w.x.Row(5))})
	same("packed", 5, far(-9))
	same("packed", 6, w.x.Row(5))
	w.refused(409, "POST", shop+"/items", map[string]any{"ids": []int{7, 5}, "vectors": [][]float32{far(9), far(9)}, "mode": "add"})
	same("refused", 5, far(-9))
	same("refused", 7, w.x.Row(7))
	w.get(new(any), "DELETE", shop+"/items/5", nil)
	w.get(new(any), "PUT", shop+"/items/5", map[string]any{"vector": w.x.Row(8)})
	same("deleted and put", 5, w.x.Row(8))
	w.get(new(any), "PATCH", shop+"/items/5", map[string]any{"label": "caps"})
	same("patched", 5, w.x.Row(8))
	w.get(new(any), "PUT", shop+"/items/5", map[string]any{"code": "0ff0"})
	w.refused(404, "GET", shop+"/vector/5", nil)
	w.refused(400, "POST", shop+"/search", map[string]any{"id": 5, "rerank": "euclidean"})

	w.get(new(any), "PUT", shop+"/items/9", map[string]any{"vector": w.x.Row(10)})
	other := w.path + ".new" // the file on disk is as the service started with, but item 5 came with a code since
	w.fill(other, w.model)
	if err := os.Rename(other, w.path); err != nil {
		t.Fatal(err)
	}
	w.get(new(any), "POST", shop+"/reload", nil)
	same("reloaded", 5, w.x.Row(5))
	same("reloaded", 9, w.x.Row(9))
}

// TestVectorsOfAnotherDay: the file of vectors that a service is started with is older than an item.
func TestVectorsOfAnotherDay(t *testing.T) {
	w := newWorld(t, nil)
	w.get(new(any), "PUT", "/v1/collections/shop/items/5", map[string]any{"vector": []float32{9, -9, 9, 9, -9, 9}})
	ok(t, w.Close())
	again := serve(t, func(o *server.Options) {
		o.Collections = []server.CollectionOptions{{Name: "shop", Path: w.path, Vectors: w.vectorsFile}}
	})
	again.must(t, 404, "GET", shop+"/vector/5", "")
	var a struct{ Vector []float32 }
	ok(t, json.Unmarshal([]byte(again.must(t, 200, "GET", shop+"/vector/6", "")), &a))
	if !slices.Equal(a.Vector, w.x.Row(6)) {
		t.Errorf("the vector of another item is %v", a.Vector)
	}
}
