package client_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"hashgrove"
	"hashgrove/api"
	"hashgrove/client"
	"hashgrove/internal/store"
	"hashgrove/server"
)

// rows returns vectors around three points.
func rows(n int) (x [][]float32, labels []string) {
	rng := rand.New(rand.NewPCG(4, 4))
	for i := range n {
		row := make([]float32, 4)
		for j := range row {
			row[j] = float32(rng.NormFloat64())/2 + float32((i%3)*(j%2)*2)
		}
		x, labels = append(x, row), append(labels, []string{"boots", "sandals", "hats"}[i%3])
	}
	return x, labels
}

// start serves a collection shop of 60 items, with ids from 0 on, in a folder, and returns its address and how to end it.
func start(dir, token string) (address string, stop func(), err error) {
	ctx := context.Background()
	x, labels := rows(60)
	paths := map[string]string{}
	for name, detail := range map[string]int{"shop": 0, "style": 3} {
		options := hashgrove.Options{Bits: 16, DetailBits: detail, Trees: hashgrove.TreeOptions{Rounds: 3}, FastHash: hashgrove.FastHashOptions{LinearColumns: "off"}}
		m, err := hashgrove.Train(ctx, hashgrove.Rows(x, labels), options)
		if err != nil {
			return "", nil, err
		}
		paths[name] = filepath.Join(dir, name+".hgi")
		ix, err := hashgrove.CreateIndex(ctx, paths[name], m.Model, hashgrove.Rows(x, labels))
		if err != nil {
			return "", nil, err
		}
		if err := ix.Close(); err != nil {
			return "", nil, err
		}
	}
	table := "a,b,c,d\n"
	for _, row := range x {
		table += fmt.Sprintf("%v,%v,%v,%v\n", row[0], row[1], row[2], row[3])
	}
	vectors := filepath.Join(dir, "vectors.csv")
	if err := os.WriteFile(vectors, []byte(table), 0o600); err != nil {
		return "", nil, err
	}
	s, err := server.New(ctx, server.Options{
		Collections: []server.CollectionOptions{
			{Name: "shop", Path: paths["shop"], Vectors: vectors}, {Name: "style", Path: paths["style"]},
		}, WriteToken: token, Folder: filepath.Join(dir, "made"),
	})
	if err != nil {
		return "", nil, err
	}
	h := httptest.NewServer(s.Handler())
	return h.URL, func() { h.Close(); _ = s.Close() }, nil
}

func Example() {
	dir, err := os.MkdirTemp("", "shop")
	check(err)
	defer os.RemoveAll(dir)
	address, stop, err := start(dir, "") // elsewhere: hashgrove serve shop.hgi
	check(err)
	defer stop()

	ctx := context.Background()
	shop := (&client.Client{URL: address}).Collection("shop")
	err = shop.Put(ctx, api.NewItem{ID: "new", Vector: []float32{0, 2, 0, 2}, Label: "sandals"})
	check(err)
	found, err := shop.Search(ctx, &api.Request{Query: api.Query{ID: "new"}, Options: api.Options{K: new(3), Where: `label = "sandals"`}})
	check(err)
	fmt.Println(len(found.Results[0].Hits), "of", found.Items, "items, the first at distance", found.Results[0].Hits[0].Distance)
	// Output: 3 of 61 items, the first at distance 0
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func connect(t *testing.T) (*client.Client, *client.Collection) {
	t.Helper()
	address, stop, err := start(t.TempDir(), "a-secret-token")
	ok(t, err)
	t.Cleanup(stop)
	c := &client.Client{URL: address + "/", Token: "a-secret-token"}
	return c, c.Collection("shop")
}

// TestRead asks for all that there is; package search runs the suite of all searchers over the client.
func TestRead(t *testing.T) {
	c, shop := connect(t)
	ctx := t.Context()
	x, _ := rows(60)
	s, err := c.Server(ctx)
	if err != nil || s.Access != "write" || !s.TokenNeeded || !reflect.DeepEqual(s.Collections, []string{"shop", "style"}) || s.Limits.K == 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	list, err := c.Collections(ctx)
	if err != nil || len(list) != 2 || list[0].Items != 60 || list[0].Dims != 4 || list[0].Health != "ok" {
		t.Fatalf("%+v, %v", list, err)
	}
	codes, err := shop.EncodeVectors(ctx, x)
	ok(t, err)
	encoded, err := shop.Encode(ctx, api.EncodeRequest{Vectors: x, Margins: true})
	ok(t, err)
	if len(codes) != 60 || len(encoded.Codes) != 60 || len(encoded.Margins[59]) != 16 {
		t.Fatalf("%d, %d codes, margins %v", len(codes), len(encoded.Codes), encoded.Margins)
	}
	for i := range x {
		if hex.EncodeToString(codes[i]) != encoded.Codes[i] {
			t.Errorf("row %d: codes %x, %s", i, codes[i], encoded.Codes[i])
		}
	}
	why, err := shop.Explain(ctx, api.ExplainRequest{Query: api.Query{Vector: x[0]}, ID: "1"})
	if err != nil || len(why.Bits) != 16 || why.ID != "1" {
		t.Errorf("%+v, %v", why, err)
	}
	if v, err := shop.Vector(ctx, "5"); err != nil || !reflect.DeepEqual(v, x[5]) {
		t.Errorf("%v, %v", v, err)
	}
}

// TestChanges does what the state machine of package store does not.
func TestChanges(t *testing.T) {
	_, shop := connect(t)
	ctx := t.Context()
	x, _ := rows(60)
	ok(t, shop.Put(ctx, api.NewItem{
		ID: "a/../b c?", Vector: x[0], Label: "boots", Tags: []string{"x", "y"}, Attributes: map[string]any{"price": 3.5, "maker": "Grove"},
	}))
	it, err := shop.Item(ctx, "a/../b c?")
	ok(t, err)
	if it.Label != "boots" || it.Attributes["price"] != 3.5 || it.Attributes["maker"] != "Grove" || len(it.Tags) != 2 {
		t.Errorf("%+v", it)
	}
	var refused *client.Error
	_, err = shop.AddMany(ctx, []api.NewItem{{ID: "102", Code: it.Code}, {ID: "5", PackedCode: []byte{1, 2}}})
	if !errors.As(err, &refused) || refused.Status != http.StatusConflict || refused.RequestID == "" || !strings.Contains(err.Error(), "5") {
		t.Errorf("%v", err)
	}
	page, err := shop.Items(ctx, `label = "boots"`, 3, "")
	if err != nil || len(page.Items) != 3 || page.Total != 21 || page.Next == "" {
		t.Errorf("%+v, %v", page, err)
	}
	facets, err := shop.Facets(ctx, "", 2)
	if err != nil || len(facets.Labels) != 2 || facets.Items != 61 || len(facets.Attributes) != 2 {
		t.Errorf("%+v, %v", facets, err)
	}
	would, err := shop.DeleteMany(ctx, api.DeleteRequest{Where: new(`label = "boots"`), DryRun: true})
	if err != nil || would.Deleted != 21 || !would.DryRun || len(would.IDs) != 21 {
		t.Errorf("%+v, %v", would, err)
	}
	d, err := shop.Describe(ctx)
	if err != nil || d.Items != 61 || len(d.RecentWrites) == 0 || d.File.Bytes == 0 {
		t.Errorf("%+v, %v", d, err)
	}
	if s, err := shop.Reload(ctx); err != nil || s.Items != 61 {
		t.Errorf("%+v, %v", s, err)
	}
	var copied bytes.Buffer
	size, err := shop.Backup(ctx, &copied)
	ok(t, err)
	path := filepath.Join(t.TempDir(), "copy.hgi")
	ok(t, os.WriteFile(path, copied.Bytes(), 0o600))
	if r, err := store.Verify(ctx, path, nil); err != nil || r.Items != 61 || size == 0 {
		t.Errorf("%d bytes: %+v, %v", size, r, err)
	}
}

// TestCollections creates, fills and drops collections.
func TestCollections(t *testing.T) {
	ctx := context.Background()
	c, shop := connect(t)
	x, labels := rows(60)
	m, err := hashgrove.Train(ctx, hashgrove.Rows(x, labels), hashgrove.Options{Bits: 8, Trees: hashgrove.TreeOptions{Rounds: 3}, FastHash: hashgrove.FastHashOptions{LinearColumns: "off"}})
	ok(t, err)
	path := filepath.Join(t.TempDir(), "m.hgm")
	ok(t, m.Save(path))
	file, err := os.Open(path)
	ok(t, err)
	defer file.Close()
	made, err := c.Create(ctx, "made", file)
	ok(t, err)
	like, err := c.CreateLike(ctx, "like", "made")
	ok(t, err)
	if made.Bits != 8 || made.Items != 0 || like.Fingerprint != made.Fingerprint || like.Name != "like" {
		t.Errorf("created: %+v, %+v", made, like)
	}
	if _, err := c.CreateLike(ctx, "made", "shop"); !errors.Is(err, api.ErrExists) {
		t.Errorf("a name that exists: %v", err)
	}
	if _, err := shop.Drop(ctx); err == nil {
		t.Error("a collection of the start was dropped")
	}
	err = c.Collection("made").Put(ctx, api.NewItem{ID: "a", Vector: x[0]})
	ok(t, err)
	gone, err := c.Collection("made").Drop(ctx)
	ok(t, err)
	if gone.Items != 1 || gone.Collection != "made" {
		t.Errorf("dropped: %+v", gone)
	}
	if _, err := c.Collection("made").Describe(ctx); err == nil {
		t.Error("a dropped collection is there")
	}
}

func TestRefusals(t *testing.T) {
	c, shop := connect(t)
	ctx := t.Context()
	for name, x := range map[string]struct {
		err    error
		status int
	}{
		"a token that is wrong": {second((&client.Client{URL: c.URL, Token: "wrong"}).Server(ctx)), 401},
		"no collection":         {second(c.Collection("a/b").Describe(ctx)), 404},
		"no item":               {second(shop.Item(ctx, "none")), 404},
		"a filter":              {second(shop.Items(ctx, "(", 0, "")), 400},
		"another model":         {second((&client.Collection{Client: c, Name: "shop", Fingerprint: "0123456789abcdef"}).Describe(ctx)), 409},
		"no such query":         {second(shop.Search(ctx, &api.Request{Query: api.Query{ID: "none"}})), 404},
	} {
		var e *client.Error
		if !errors.As(x.err, &e) || e.Status != x.status || e.Message == "" || e.RequestID == "" {
			t.Errorf("%s: %v", name, x.err)
		}
		if strings.Contains(fmt.Sprint(x.err), "secret") {
			t.Errorf("%s tells the token: %v", name, x.err)
		}
	}
	if _, err := shop.Search(ctx, &api.Request{}); !errors.Is(err, api.ErrInvalid) {
		t.Errorf("nothing to search: %v", err)
	}
	lengths := []api.Query{{Vector: []float32{1, 2}}, {Vector: []float32{1}}}
	if _, err := shop.Search(ctx, &api.Request{Queries: lengths}); !errors.Is(err, api.ErrDimension) {
		t.Errorf("vectors of different lengths: %v", err)
	}
	for _, answer := range []string{"", "<html>bad gateway", `{"error":5}`} {
		h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(http.StatusBadGateway)
			_, _ = w.Write([]byte(answer))
		}))
		_, err := (&client.Client{URL: h.URL}).Server(ctx)
		var e *client.Error
		if !errors.As(err, &e) || e.Status != 502 || e.RetryAfter.Seconds() != 3 || !strings.Contains(err.Error(), "502") {
			t.Errorf("%q: %v", answer, err)
		}
		h.Close()
	}
}

func second[T any](_ T, err error) error { return err }

// TestEndlessCodes: a server that sends codes without an end does not fill the memory of its client.
func TestEndlessCodes(t *testing.T) {
	sent := make(chan int, 1)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n, b := 0, make([]byte, 1<<20)
		for ; n < 1<<10; n++ {
			if _, err := w.Write(b); err != nil {
				break
			}
		}
		sent <- n
	}))
	defer h.Close()
	c := &client.Client{URL: h.URL}
	if _, err := c.Collection("x").EncodeVectors(t.Context(), [][]float32{{1}, {2}}); err == nil {
		t.Error("codes without an end were taken")
	}
	if n := <-sent; n == 1<<10 {
		t.Errorf("a gigabyte was read for two codes")
	}
}
