package server_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"hashgrove"
	"hashgrove/server"
)

func gapRows() (x [][]float32, labels []string) {
	rng := rand.New(rand.NewPCG(8, 8))
	for i := range 120 {
		row := make([]float32, 5)
		for j := range row {
			if row[j] = float32(rng.NormFloat64()) + float32((i%3)*(j%2)*2); i%2 == 0 && rng.IntN(3) == 0 {
				row[j] = float32(math.NaN())
			}
		}
		x, labels = append(x, row), append(labels, fmt.Sprint("c", i%3))
	}
	return x, labels
}

// serveGaps starts a service whose collection, gaps, has vectors of which every second has missing values.
func serveGaps(t *testing.T) (*service, *hashgrove.Model, [][]float32) {
	x, labels := gapRows()
	data := hashgrove.Rows(x, labels).WithMissing()
	m, err := hashgrove.Train(ctx, data, hashgrove.Options{
		Bits: 32, Trees: hashgrove.TreeOptions{Rounds: 5}, FastHash: hashgrove.FastHashOptions{LinearColumns: "off"},
	})
	ok(t, err)
	table := "id,1,2,3,4,5\n"
	for i, row := range x {
		table += fmt.Sprint(i) + strings.NewReplacer("[", ",", "null", "", "]", "\n").Replace(jsonVector(row))
	}
	dir := t.TempDir()
	o := server.CollectionOptions{Name: "gaps", Path: filepath.Join(dir, "gaps.hgi"), Vectors: filepath.Join(dir, "gaps.csv")}
	ix, err := hashgrove.CreateIndex(ctx, o.Path, m.Model, data)
	ok(t, err)
	ok(t, ix.Close())
	ok(t, os.WriteFile(o.Vectors, []byte(table), 0o600))
	return serve(t, func(all *server.Options) { all.Collections = append(all.Collections, o) }), m.Model, x
}

// jsonVector writes a vector as JavaScript does: what is no number becomes null.
func jsonVector(x []float32) string {
	var parts []string
	for _, v := range x {
		if v != v {
			parts = append(parts, "null")
		} else {
			parts = append(parts, fmt.Sprint(v))
		}
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// TestNullIsMissing: null in a vector is a missing value for a model that takes them, with the same code as NaN has
// elsewhere, and refused with row and column by any other model.
func TestNullIsMissing(t *testing.T) {
	const gaps = "/v1/collections/gaps"
	s, m, x := serveGaps(t)
	var rows []string
	for _, row := range x {
		rows = append(rows, jsonVector(row))
	}
	var a struct{ Codes []string }
	ok(t, json.Unmarshal([]byte(s.must(t, 200, "POST", gaps+"/encode", `{"vectors":[`+strings.Join(rows, ",")+`]}`)), &a))
	for i, row := range x {
		var packed struct{ Codes []string }
		ok(t, json.Unmarshal([]byte(s.must(t, 200, "POST", gaps+"/encode", packFloats(row...), "Content-Type", "application/octet-stream")), &packed))
		code, err := m.Encode(row)
		ok(t, err)
		if want := code.String(); a.Codes[i] != want || packed.Codes[0] != want {
			t.Errorf("row %d: JSON %s, packed %s, the model %s", i, a.Codes[i], packed.Codes[0], want)
		}
	}
	s.must(t, 200, "PUT", gaps+"/items/new", `{"vector":`+rows[0]+`}`)
	s.must(t, 200, "POST", gaps+"/search", `{"vector":`+rows[0]+`,"explain":true}`)
	for path, body := range map[string]string{
		"/encode": `{"vectors":[[1,2,3,4],[1,2,null,4]]}`, "/search": `{"vector":[1,2,null,4]}`, "/items": `{"items":[{"id":1,"vector":[1,2,null,4]}]}`,
		"/explain": `{"query":{"vector":[1,2,null,4]},"id":7}`,
	} {
		if text := s.must(t, 400, "POST", shop+path, body); !strings.Contains(text, "column 2") || path == "/encode" && !strings.Contains(text, "vectors[1]") {
			t.Errorf("%s: %s", path, text)
		}
	}
	// Vectors of items with missing values are written with null, and come last in a reranking.
	if text := s.must(t, 200, "GET", gaps+"/vector/0", ""); !strings.Contains(text, "null") {
		t.Errorf("a vector with missing values: %s", text)
	}
	var found struct {
		Results []struct{ Hits []map[string]any }
	}
	ok(t, json.Unmarshal([]byte(s.must(t, 200, "POST", gaps+"/search", `{"vector":[1,2,3,4,5],"rerank":"euclidean","k":120}`)), &found))
	last := false
	for _, h := range found.Results[0].Hits {
		if _, scored := h["score"]; scored && last {
			t.Errorf("item %v with a score comes after one without", h["id"])
		} else {
			last = last || !scored
		}
	}
	if len(found.Results[0].Hits) != 120 || !last {
		t.Errorf("%d hits, some of them without a score: %v", len(found.Results[0].Hits), last)
	}
}

// TestLostRaces: of many clients that add one id at the same time one wins and the others are told so.
func TestLostRaces(t *testing.T) {
	s := serve(t, nil)
	for round := range 10 {
		var won, lost atomic.Int32
		many(12, func(int) {
			a, err := s.call("POST", shop+"/items", fmt.Sprintf(`{"mode":"add","items":[{"id":"race %d","code":"0f00000000000000"}]}`, round))
			switch {
			case err == nil && a.StatusCode == http.StatusOK:
				won.Add(1)
			case err == nil && a.StatusCode == http.StatusConflict:
				lost.Add(1)
			}
		})
		if won.Load() != 1 || lost.Load() != 11 {
			t.Errorf("round %d: %d have won and %d lost", round, won.Load(), lost.Load())
		}
	}
}

// TestPathsAreNotTold: an error tells clients nothing about files of the machine; the log has it.
func TestPathsAreNotTold(t *testing.T) {
	s := serve(t, nil)
	folder := filepath.Dir(s.files.shop)
	ok(t, os.Rename(s.files.shop, s.files.shop+".old"))
	for _, c := range [][3]string{{"PUT", "/items/1", `{"vector":[1,2,3,4]}`}, {"DELETE", "/items/1", ""}, {"POST", "/delete", `{"ids":[1]}`}} {
		if text := s.must(t, 503, c[0], shop+c[1], c[2]); strings.Contains(text, folder) || strings.Contains(text, ".hgi") {
			t.Errorf("%v: %s", c, text)
		}
	}
	if !strings.Contains(s.log.String(), "shop.hgi") {
		t.Error("the log does not name the file")
	}
	s.must(t, 200, "GET", shop+"/search?id=7", "")
}

// TestVectorsWithAFileOfIDs: vectors without ids of their own belong to items by a file of ids, and a row that cannot be
// read leaves its item without a vector.
func TestVectorsWithAFileOfIDs(t *testing.T) {
	dir := t.TempDir()
	ids := filepath.Join(dir, "ids.txt")
	table, list := "a,b,c,d\n", ""
	x, _ := shopRows()
	for i := 20; i > 0; i-- {
		row := x[i-1]
		table += fmt.Sprintf("%v,%v,%v,%v\n", row[0], row[1], row[2], row[3])
		list += fmt.Sprintln(i)
	}
	ok(t, os.WriteFile(filepath.Join(dir, "x.csv"), []byte(table+"1,2,x,4\n"), 0o600))
	ok(t, os.WriteFile(ids, []byte(list+"300\n"), 0o600))
	s := serve(t, func(o *server.Options) {
		o.Collections[0].Vectors, o.Collections[0].IDs = filepath.Join(dir, "x.csv"), ids
	})
	var got struct{ Vector []float32 }
	ok(t, json.Unmarshal([]byte(s.must(t, 200, "GET", shop+"/vector/20", "")), &got))
	if len(got.Vector) != 4 || got.Vector[0] != x[19][0] {
		t.Errorf("item 20 has the vector %v, want %v", got.Vector, x[19])
	}
	s.must(t, 404, "GET", shop+"/vector/300", "")
}
