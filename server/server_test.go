package server_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/search"
	"hashgrove/internal/store"
	"hashgrove/server"
)

// found is what the tests look at in an answer to a search.
type found struct {
	Collection, Fingerprint, Rank string
	Items, Bits                   int
	Results                       []struct {
		Query, Label, Code string
		Hits               []hit
		Tied, Compared     int
		TiedHits           int `json:"tied_hits"`
		Why                map[string]any
	}
}

type hit struct {
	ID             int
	Distance       int
	MarginDistance *int `json:"margin_distance"`
	Score          *float64
	Label          string
	Tags           []string
	Attributes     map[string]any
}

// TestFormsOfQueries sends the same query in every form that HTTP has; package search compares answers with the definition.
func TestFormsOfQueries(t *testing.T) {
	w := newShop(t, nil)
	if st, err := store.Open(ctx, w.files.shop, store.OpenOptions{ReadOnly: true, Wait: -1}); err == nil {
		t.Error("the file of a collection that can be written is not locked")
		_ = st.Close()
	}
	const path = "/v1/collections/shop/search"
	where := `price < 200 and tag in ("tag 1", "tag 2")`
	query := url.Values{"k": {"7"}, "where": {where}}.Encode()
	var want found
	w.get(&want, "POST", path, map[string]any{"id": 5, "k": 7, "where": where})
	packed, err := hex.DecodeString(want.Results[0].Code)
	if err != nil || len(want.Results[0].Hits) != 7 || want.Collection != "shop" || want.Items != shopItems+1 ||
		want.Fingerprint != w.model.Fingerprint().String() {
		t.Fatalf("%+v, %v", want, err)
	}
	one := packFloats(w.row(5)...)
	for name, ask := range map[string]func(a *found){
		"base64": func(a *found) {
			w.get(a, "POST", path, map[string]any{"code_base64": base64.StdEncoding.EncodeToString(packed), "k": 7, "where": where})
		},
		"queries": func(a *found) {
			w.get(a, "POST", path, map[string]any{"queries": []any{map[string]any{"id": "5"}}, "k": 7, "where": where})
		},
		"address": func(a *found) { w.get(a, "GET", path+"?id=5&"+query, nil) },
		"floats":  func(a *found) { w.get(a, "POST", path+"?"+query, []byte(one)) },
		"npy": func(a *found) {
			w.get(a, "POST", path+"?"+query, npy("(1, 4)", w.row(5)...), "Content-Type", "application/x-npy")
		},
	} {
		var a found
		ask(&a)
		if len(a.Results) != 1 || !reflect.DeepEqual(a.Results[0].Hits, want.Results[0].Hits) || a.Results[0].Code != want.Results[0].Code {
			t.Errorf("%s: %+v, want %+v", name, a.Results, want.Results)
		}
	}
}

func TestEncodingEqualsTheModel(t *testing.T) {
	w := newShop(t, nil)
	var values []float32
	var digits []string
	var packed []byte
	for _, row := range w.x {
		code, err := w.model.EncodeRow(row)
		ok(t, err)
		values, digits = append(values, row...), append(digits, search.HexCode(code, 64))
		packed = binary.BigEndian.AppendUint64(packed, code[0])
	}
	floats, array := []byte(packFloats(values...)), npy("(300, 4)", values...)
	const path = "/v1/collections/shop/encode"
	var a struct {
		Codes   []string
		Margins [][]float32
		Bits    int
	}
	w.get(&a, "POST", path, map[string]any{"vectors": w.x, "margins": true})
	if !slices.Equal(a.Codes, digits) || len(a.Margins) != len(w.x) || a.Bits != 64 {
		t.Errorf("JSON: %d codes, %d margins", len(a.Codes), len(a.Margins))
	}
	if _, h, b := w.call("POST", path, floats, "Accept", "application/octet-stream"); !bytes.Equal(b, packed) ||
		h.Get("Hashgrove-Fingerprint") != w.model.Fingerprint().String() {
		t.Error("packed codes differ")
	}
	_, _, b := w.call("POST", path, array, "Content-Type", "application/x-npy", "Accept", "application/octet-stream")
	if !bytes.Equal(b, packed) {
		t.Error("the codes of a NumPy array differ")
	}
	w.refused(406, "POST", path, floats, "Accept", "text/html")
	w.refused(400, "POST", path, map[string]any{"vectors": [][]float32{{1, 2, 3, 4}, {1}}})
	w.refused(400, "POST", path, map[string]any{})
}

func TestItemsCanBeChanged(t *testing.T) {
	w := newShop(t, nil)
	const items = "/v1/collections/shop/items"
	var put struct{ Written int }
	w.get(&put, "PUT", items+"/a%2Fb%20%22c%22", map[string]any{"vector": w.row(1), "label": "new", "attributes": map[string]any{"price": 1}})
	if put.Written != 1 {
		t.Errorf("%+v", put)
	}
	w.get(&put, "PUT", items+"/a%2Fb%20%22c%22", map[string]any{"code": "ffff000000000000", "tags": []string{"x"}})
	var one struct {
		Item struct {
			ID, Code, Label string
			Tags            []string
			Attributes      map[string]any
		}
	}
	w.get(&one, "GET", items+"/a%2Fb%20%22c%22", nil)
	if it := one.Item; it.ID != `a/b "c"` || it.Code != "ffff000000000000" || it.Label != "new" || it.Attributes["price"] != 1.0 {
		t.Errorf("%+v", it)
	}
	var n struct {
		Updated, Missing, Deleted, Written int
		DryRun                             bool `json:"dry_run"`
		MoreIDs                            int  `json:"more_ids"`
		IDs                                []any
	}
	w.get(&n, "PATCH", items+"/5", map[string]any{"label": "old", "attributes": map[string]any{"price": 7}})
	w.get(&n, "PATCH", items, map[string]any{"items": []any{map[string]any{"id": 6, "label": "old"}, map[string]any{"id": "nobody", "label": "old"}}})
	if n.Updated != 1 || n.Missing != 1 {
		t.Errorf("%+v", n)
	}
	var list struct {
		Items []struct {
			ID    any
			Label string
		}
		Total int
		Next  any
	}
	w.get(&list, "GET", items+"?limit=2&where="+url.QueryEscape(`label = "old"`), nil)
	if list.Total != 2 || len(list.Items) != 2 || list.Next != nil {
		t.Errorf("%+v", list)
	}
	w.get(&list, "PATCH", items+"/9", map[string]any{"label": "Left Boot", "tags": []string{"Hiver É"}, "attributes": map[string]any{"maker": "Müller"}})
	for text, want := range map[string]int{"FT BO": 1, "hiver é": 1, "üLL": 1, `/b "`: 1, "nowhere": 0, "%": 0, "old": 2} {
		list.Items = nil
		w.get(&list, "GET", items+"?contains="+url.QueryEscape(text), nil)
		if list.Total != want || len(list.Items) != want {
			t.Errorf("%q is in %+v", text, list)
		}
	}
	w.get(&list, "GET", items+"?contains=o&where="+url.QueryEscape(`label = "old"`), nil)
	if list.Total != 2 {
		t.Errorf("with a filter: %+v", list)
	}
	w.refused(400, "GET", items+"?contains=", nil)
	w.refused(400, "GET", items+"?contains="+strings.Repeat("x", 5000), nil)
	seen := 0
	for page := "?limit=50"; ; {
		list.Next = nil
		list.Items = nil
		w.get(&list, "GET", items+page, nil)
		if seen += len(list.Items); list.Next == nil {
			break
		}
		page = "?limit=50&after=" + url.QueryEscape(fmt.Sprint(list.Next))
	}
	if seen != (shopItems+1)+1 {
		t.Errorf("pages have %d items", seen)
	}
	w.get(&n, "POST", "/v1/collections/shop/delete", map[string]any{"where": `label = "old"`, "dry_run": true})
	if n.Deleted != 2 || !n.DryRun || len(n.IDs) != 2 || n.MoreIDs != 0 {
		t.Errorf("a dry run: %+v", n)
	}
	w.get(&n, "POST", "/v1/collections/shop/delete", map[string]any{"where": `has id`, "dry_run": true})
	if n.Deleted != (shopItems+1)+1 || len(n.IDs) != 100 || n.MoreIDs != n.Deleted-100 {
		t.Errorf("%d of %d ids are listed, and %d are said to be left out", len(n.IDs), n.Deleted, n.MoreIDs)
	}
	w.get(&n, "POST", "/v1/collections/shop/delete", map[string]any{"where": `label = "old"`})
	w.refused(404, "GET", items+"/5", nil)
	w.get(&n, "POST", "/v1/collections/shop/delete", map[string]any{"ids": []any{7, "none"}})
	if n.Deleted != 1 {
		t.Errorf("%+v", n)
	}
	w.get(&n, "DELETE", items+"/8", nil)
	w.refused(404, "DELETE", items+"/8", nil)
	columns := map[string]any{
		"ids": []any{1000, 1001}, "vectors_base64": packed(w.row(1), w.row(2)),
		"labels": []string{"p", "q"}, "mode": "add",
	}
	w.get(&n, "POST", items, columns)
	if n.Written != 2 {
		t.Errorf("%+v", n)
	}
	w.refused(409, "POST", items, columns)
	// What was acknowledged is in the file.
	backup := filepath.Join(t.TempDir(), "backup.hgi")
	_, _, b := w.call("GET", "/v1/collections/shop/backup", nil)
	if err := os.WriteFile(backup, b, 0o666); err != nil {
		t.Fatal(err)
	}
	report, err := store.Verify(ctx, backup, nil)
	if err != nil || report.Items != (shopItems+1)+1-2-1-1+2 {
		t.Errorf("backup: %+v, %v", report, err)
	}
	var described struct {
		Items        int
		RecentWrites []map[string]any `json:"recent_writes"`
	}
	w.get(&described, "GET", "/v1/collections/shop", nil)
	if described.Items != report.Items || len(described.RecentWrites) < 6 {
		t.Errorf("%+v", described)
	}
}

func TestReloadTakesTheNewFile(t *testing.T) {
	w := newShop(t, nil)
	next := filepath.Join(t.TempDir(), "next.hgi")
	shorter := w.model.Prefix(12)
	writeIndex(t, next, shorter, shopBatch(t, shorter))
	var a struct {
		Bits        int
		Fingerprint string
	}
	w.get(&a, "POST", "/v1/collections/shop/reload", nil) // nothing has changed
	if a.Bits != 64 {
		t.Fatalf("%+v", a)
	}
	stop, failed := make(chan struct{}), make(chan string, 1)
	go func() {
		defer close(failed)
		for {
			select {
			case <-stop:
				return
			default:
			}
			r, err := http.Get(w.url + "/v1/collections/shop/search?id=3")
			if err != nil || r.StatusCode != 200 {
				failed <- fmt.Sprint(r, err)
				return
			}
			_ = r.Body.Close()
		}
	}()
	if err := os.Rename(next, w.files.shop); err != nil {
		t.Fatal(err)
	}
	w.refused(503, "DELETE", "/v1/collections/shop/items/3", nil) // the old file lost its name
	w.get(&a, "POST", "/v1/collections/shop/reload", nil)
	close(stop)
	if text, ok := <-failed; ok {
		t.Errorf("a search during the reload: %s", text)
	}
	if a.Bits != 12 || a.Fingerprint != shorter.Fingerprint().String() {
		t.Errorf("%+v", a)
	}
	var n struct{ Deleted int }
	w.get(&n, "DELETE", "/v1/collections/shop/items/3", nil)
	if err := os.WriteFile(w.files.shop+".new", []byte("not an index"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(w.files.shop+".new", w.files.shop); err != nil {
		t.Fatal(err)
	}
	w.refused(503, "POST", "/v1/collections/shop/reload", nil)
	w.get(&a, "GET", "/v1/collections/shop", nil) // the old items stay
}

func TestReadOnly(t *testing.T) {
	w := newShop(t, func(o *server.Options) { o.ReadOnly, o.Folder = true, "" })
	w.refused(403, "DELETE", "/v1/collections/shop/items/3", nil)
	w.refused(403, "PUT", "/v1/collections/shop/items/3", `{"code": "ffff000000000000"}`)
	st, err := store.Open(ctx, w.files.shop, store.OpenOptions{ReadOnly: true})
	if err != nil {
		t.Fatal("another reader:", err)
	}
	_ = st.Close()
	var a struct {
		Access   string
		ReadOnly bool `json:"read_only"`
	}
	if w.get(&a, "GET", "/v1/server", nil); a.Access != "read" || !a.ReadOnly {
		t.Errorf("%+v", a)
	}
}

func TestFacetsModelAndReasons(t *testing.T) {
	w := newShop(t, nil)
	var f struct {
		Items        int
		Labels, Tags []struct {
			Value string
			Count int
		}
		Attributes []struct {
			Name, Kind string
			Min, Max   any
			Histogram  []int
			Distinct   int
		}
	}
	w.get(&f, "GET", "/v1/collections/shop/facets?where="+url.QueryEscape(`label = "boots"`), nil)
	if f.Items != 101 || len(f.Labels) != 1 || f.Labels[0].Count != 101 || len(f.Tags) != 5 || len(f.Attributes) != 4 ||
		f.Attributes[1].Min != 0.0 || f.Attributes[1].Max != 57.0 || len(f.Attributes[1].Histogram) != 20 {
		t.Errorf("%+v", f)
	}
	w.refused(400, "GET", "/v1/collections/shop/facets?where=nothing%3D1", nil)
	w.refused(400, "GET", "/v1/collections/shop/facets?top=0", nil)
	var m struct {
		Kind       string
		Dims, Bits int
		Info       map[string]any
		Importance []struct {
			Name  string
			Share float64
		}
	}
	w.get(&m, "GET", "/v1/collections/shop/model", nil)
	sum := 0.0
	for _, i := range m.Importance {
		sum += i.Share
	}
	if m.Kind != "trees" || m.Dims != 4 || math.Abs(sum-1) > 1e-9 || m.Info["sketch"] != nil {
		t.Errorf("%+v, shares %g", m, sum)
	}
	var e struct {
		Distance int
		Bits     []struct {
			Bit, Query, Item int
			Agree            bool
			MarginQuery      *float64 `json:"margin_query"`
			MarginItem       *float64 `json:"margin_item"`
			Reasons          []map[string]any
		}
		Columns []map[string]any
	}
	w.get(&e, "POST", "/v1/collections/shop/explain", map[string]any{"query": map[string]any{"vector": w.row(1)}, "id": 3})
	differ, reasons := 0, 0
	for _, b := range e.Bits {
		if reasons += len(b.Reasons); b.Agree != (b.Query == b.Item) || b.MarginQuery == nil || b.MarginItem == nil ||
			(*b.MarginQuery >= 0) != (b.Query == 1) || (*b.MarginItem >= 0) != (b.Item == 1) {
			t.Errorf("%+v", b)
		}
		if !b.Agree {
			differ++
		}
	}
	if differ != e.Distance || differ == 0 || reasons == 0 || len(e.Columns) == 0 {
		t.Errorf("%d bits differ, distance %d, %d reasons", differ, e.Distance, reasons)
	}
	w.refused(404, "POST", "/v1/collections/shop/explain", `{"query": {"id": 1}, "id": 5000}`)
	w.refused(400, "POST", "/v1/collections/shop/explain", `{"query": {"id": 1}}`)
}
