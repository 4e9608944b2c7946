package server_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"hashgrove/api"
	"hashgrove/internal/store"
	"hashgrove/internal/testkit/searchtest"
	"hashgrove/server"
)

// TestAnswersWithDetailMatchTheDocument: hits and explanations of codes with detail are as the document says, too.
func TestAnswersWithDetailMatchTheDocument(t *testing.T) {
	w := searchtest.NewFixture(searchtest.Size{Items: 60, Bits: 40, Detail: 16, Rank: api.Expected}, 1)
	path := filepath.Join(t.TempDir(), "detail.hgi")
	s, err := store.Create(t.Context(), path, store.Options{
		Model: w.Model, Bits: w.Bits(), Fingerprint: w.Model.Fingerprint(), Items: w.Items,
	})
	ok(t, err)
	ok(t, s.Close())
	c := newChecked(t, func(o *server.Options) {
		o.Collections = append(o.Collections, server.CollectionOptions{Name: "detail", Path: path})
	})
	const detail = "/v1/collections/detail"
	for _, path := range []string{
		detail, detail + "/model", detail + "/search?id=1", detail + "/search?id=1&rank=hamming&explain=true",
		detail + "/search?id=1&radius=9", detail + "/items?limit=3",
	} {
		c.ask(t, 200, "GET", path, "")
	}
	c.ask(t, 200, "POST", detail+"/search", `{"vector":[1,2,3,-1,0],"rank":"margins","explain":true}`)
	c.ask(t, 200, "POST", detail+"/explain", `{"query":{"id":1},"id":2}`)
	var a api.Answer
	got := c.ask(t, 200, "POST", detail+"/search", `{"vector":[1,2,3,-1,0]}`)
	ok(t, json.Unmarshal(got.body, &a))
	for _, h := range a.Results[0].Hits {
		if a.Rank != api.Expected || h.DetailDistance == nil || h.MarginDistance == nil {
			t.Fatalf("ranked by %s: %s", a.Rank, got.body)
		}
	}
}
