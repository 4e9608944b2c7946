package main

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"hashgrove"
	"hashgrove/api"
	"hashgrove/client"
	"hashgrove/server"
)

// TestOneAnswer asks the command, the service and Go the same questions: their results are equal as JSON, explanations
// and items without vectors among them, and they refuse the same things.
func TestOneAnswer(t *testing.T) {
	indexed(t)
	few := strings.SplitAfterN(string(read(t, "items.csv")), "\n", 302) // the vectors of 300 of 400 items
	write(t, "few.csv", strings.Join(few[:301], ""))
	s, err := server.New(t.Context(), server.Options{Collections: []server.CollectionOptions{
		{Name: "items", Path: "items.hgi", Vectors: "few.csv", IDColumn: "sku"},
	}, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h := httptest.NewServer(s.Handler())
	defer h.Close()
	service := (&client.Client{URL: h.URL}).Collection("items")
	write(t, "copy.hgi", string(read(t, "items.hgi"))) // one that may be written
	ix, err := hashgrove.OpenIndex(t.Context(), "copy.hgi")
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	vectors, err := hashgrove.Open("few.csv", hashgrove.Columns{Label: "category", ID: "sku"})
	if err != nil {
		t.Fatal(err)
	}
	if err := ix.SetVectors(t.Context(), vectors); err != nil {
		t.Fatal(err)
	}
	asked := tableItems(t, "new.csv")[1]
	query := api.Query{Name: asked.id, Label: asked.label}
	for _, v := range asked.vector {
		query.Vector = append(query.Vector, float32(v))
	}
	const rerank = " --rerank few.csv --rerank-id-column sku"
	for _, c := range []struct {
		flags string
		query api.Query
		o     api.Options
	}{
		{" --explain" + rerank + " --rerank-by none", query, api.Options{Explain: true}},
		{" --rank margins -k 400" + rerank, query, api.Options{Rank: api.Margins, Rerank: api.Euclidean, K: new(400)}},
		{" --margins --radius 3 --where 'label = \"hats\"'", query, api.Options{Ties: api.Margins, Radius: new(3), Where: `label = "hats"`}},
		{" --rank margins -k 7 --strategy tables", query, api.Options{Rank: api.Margins, K: new(7), Strategy: "tables"}},
		{" --radius 5 -k 2 --strategy list", query, api.Options{Radius: new(5), K: new(2), Strategy: "list"}},
		{" --shortlist 3" + rerank, query, api.Options{Rerank: api.Euclidean, Shortlist: 3}},
		{" --prefix 8 --shortlist 30 -k 4", query, api.Options{Prefix: 8, Shortlist: 30, K: new(4)}},
		{" --explain -k 3" + rerank + " --rerank-by cosine", api.Query{ID: "items-7"}, api.Options{Rerank: api.Cosine, K: new(3), Explain: true}},
		{" -k 2", api.Query{Code: "ffff", Name: "ffff"}, api.Options{K: new(2)}},
	} {
		line := "search items.hgi"
		switch {
		case c.query.ID != "":
			line += " --id " + string(c.query.ID)
		case c.query.Code != "":
			line += " --code " + c.query.Code
		default:
			line += " new.csv --id-column sku --label category --row 1"
		}
		var command struct{ Results []map[string]any }
		if err := json.Unmarshal([]byte(succeed(t, shellWords(line+c.flags+" --json")...)), &command); err != nil {
			t.Fatal(err)
		}
		for name, searcher := range map[string]api.Searcher{"the service": service, "Go": ix} {
			r := &api.Request{Query: c.query, Options: c.o}
			a, err := searcher.Search(t.Context(), r)
			if err != nil {
				t.Fatalf("%s, %s: %v", c.flags, name, err)
			}
			b, err := json.Marshal(a.Results)
			if err != nil {
				t.Fatal(err)
			}
			var got []map[string]any
			if err := json.Unmarshal(b, &got); err != nil || !reflect.DeepEqual(planless(got), planless(command.Results)) {
				t.Errorf("%s: %s says\n%s\nand the command\n%v", c.flags, name, b, command.Results)
			}
		}
	}
	for name, bad := range map[string]*api.Request{
		"k = 0":                   {Query: query, Options: api.Options{K: new(0)}},
		"a vector, an id, a code": {Query: api.Query{Vector: query.Vector, ID: "items-7", Code: "ffff"}},
	} {
		for _, searcher := range []api.Searcher{service, ix} {
			if _, err := searcher.Search(t.Context(), bad); !errors.Is(err, api.ErrInvalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for _, line := range []string{"search items.hgi --id items-7 -k 0", "search items.hgi new.csv --id items-7 --code ffff"} {
		if o := try(t, shellWords(line)...); o.code != 2 {
			t.Errorf("%s: exit %d", line, o.code)
		}
	}
}

// planless removes how a search was done, which is the searcher's own affair.
func planless(results []map[string]any) []map[string]any {
	for _, r := range results {
		delete(r, "plan")
	}
	return results
}
