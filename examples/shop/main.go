// Shop is the whole way in one program: it learns codes for the items of a shop, reads how good they are, keeps them in
// an index file with prices, searches with a filter, and serves the index to a client. "go doc -all hashgrove" and the
// documents of packages api, server and client say all that it needs to know.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"

	"hashgrove"
	"hashgrove/api"
	"hashgrove/client"
	"hashgrove/server"
)

func main() {
	folder, err := os.MkdirTemp("", "shop")
	check(err)
	defer os.RemoveAll(folder)
	ctx := context.Background()
	vectors, kinds, attributes := items(600)

	// Learn codes of 32 bits from the kinds of the items. A part of them is held out: the report says what to expect of
	// items that come later.
	trained, err := hashgrove.Train(ctx, hashgrove.Rows(vectors, kinds), hashgrove.Options{Bits: 32, Effort: "quick"})
	check(err)
	report := trained.Report
	fmt.Printf("%s learned %d bits from %d items\n", report.Title, report.Bits, report.LearnedRows)
	if later := report.NewItems; later != nil {
		fmt.Printf("%d items held out find their kind with a MAP of %.2f; by chance it would be %.2f\n", later.Rows, later.MAP, later.Chance)
	}
	for _, note := range report.Notes {
		if note.Doubt {
			fmt.Println("doubt:", note.Text)
		}
	}
	check(trained.Save(filepath.Join(folder, "shop.hgm")))

	// Another program would load the model, and put items into an index file.
	m, err := hashgrove.LoadModel(filepath.Join(folder, "shop.hgm"))
	check(err)
	path := filepath.Join(folder, "shop.hgi")
	ix, err := hashgrove.CreateIndex(ctx, path, m, hashgrove.Rows(vectors, kinds).WithAttributes(attributes))
	check(err)
	query := api.Request{Query: api.Query{Vector: vectors[1]}, Options: api.Options{K: new(3), Where: "price < 20"}}
	answer, err := ix.Search(ctx, &query)
	check(err)
	show("cheap, from the file:", answer)

	// A filter on what no item has is an error with a code.
	query.Where = "colour = \"red\""
	if _, err := ix.Search(ctx, &query); errors.Is(err, api.ErrFilter) {
		fmt.Println("refused:", err)
	}
	check(ix.Close()) // one program at a time has the file

	// Serve the file, and search it as a client would from elsewhere.
	serving, err := server.New(ctx, server.Options{
		Collections: []server.CollectionOptions{{Name: "shop", Path: path}}, Hosts: server.Loopback(),
	})
	check(err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- serving.Serve(ctx, listener, nil) }()
	shop := (&client.Client{URL: "http://" + listener.Addr().String()}).Collection("shop")
	query.Where = `label = "boots" and price between 20 and 40`
	answer, err = shop.Search(ctx, &query)
	check(err)
	show("boots, from the service:", answer)
	stop()
	check(<-ended)
	check(serving.Close())
}

// show prints the hits of the first query.
func show(what string, a *api.Answer) {
	fmt.Println(what)
	for _, hit := range a.Results[0].Hits {
		fmt.Printf("  item %s, %s at %v, %d bits away\n", hit.ID, hit.Label, hit.Attributes["price"], hit.Distance)
	}
}

// items makes up vectors of three kinds, and prices.
func items(n int) (vectors [][]float32, kinds []string, attributes []map[string]any) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		kind, x := i%3, make([]float32, 16)
		for j := range x {
			x[j] = float32(rng.NormFloat64())
			if j%3 == kind {
				x[j] += 1.5
			}
		}
		vectors, kinds = append(vectors, x), append(kinds, []string{"boots", "coats", "hats"}[kind])
		attributes = append(attributes, map[string]any{"price": 5 + i%50})
	}
	return vectors, kinds, attributes
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
