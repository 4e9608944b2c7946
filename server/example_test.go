package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"hashgrove"
	"hashgrove/server"
)

// An index of codes, served and searched over HTTP.
func Example() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "shop.hgi")
	items := hashgrove.Codes([]hashgrove.Code{{0xf0}, {0x0f}}).WithIDs([]string{"boot", "hat"}).WithLabels([]string{"shoes", "hats"})
	ix, err := hashgrove.CreateIndex(ctx, path, nil, items)
	if err != nil {
		panic(err)
	}
	if err := ix.Close(); err != nil {
		panic(err)
	}

	s, err := server.New(ctx, server.Options{Collections: []server.CollectionOptions{{Name: "shop", Path: path}}})
	if err != nil {
		panic(err)
	}
	defer s.Close()
	h := httptest.NewServer(s.Handler())
	defer h.Close()

	r, err := http.Get(h.URL + "/v1/collections/shop/search?code=f1&k=1")
	if err != nil {
		panic(err)
	}
	defer r.Body.Close()
	answer, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	_, hits, _ := strings.Cut(string(answer), `"hits":`)
	hits, _, _ = strings.Cut(hits, "]")
	fmt.Println(hits + "]")
	// Output: [{"id":"boot","distance":1,"label":"shoes"}]
}
