// Files learns from a CSV file with a class column and keeps the items in an index file: once Upsert or Delete returns, its
// changes survive a crash or a power cut. Another program searches it with filters on labels and attributes.
package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"hashgrove/api"

	"hashgrove"
)

func main() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "hashgrove")
	check(err)
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "items.csv")
	check(os.WriteFile(path, []byte(table(300)), 0o666))

	items, err := hashgrove.OpenData(path, hashgrove.Columns{Label: "category", ID: "sku"})
	check(err)
	m, err := hashgrove.Train(ctx, items, hashgrove.Options{Bits: 16, Trees: hashgrove.TreeOptions{Rounds: 20}})
	check(err)
	indexFile := filepath.Join(dir, "items.hgi")
	ix, err := hashgrove.CreateIndex(ctx, indexFile, m.Model, items.WithAttributes(prices(300)))
	check(err)
	deleted, err := ix.Delete(ctx, "sku-1", "sku-2")
	check(err)
	check(ix.Close())

	ix, err = hashgrove.OpenIndex(ctx, indexFile)
	check(err)
	defer ix.Close()
	fmt.Printf("%d items after %d were deleted\n", ix.Len(), deleted)

	for _, where := range []string{``, `price < 20`, `label = "coats" and price < 20`} {
		found, err := ix.Search(ctx, &api.Request{
			Query: api.Query{ID: "sku-7"}, Options: api.Options{K: new(3), Where: where},
		})
		check(err)
		hits := found.Results[0].Hits
		fmt.Printf("like sku-7, where %q:\n", where)
		for _, h := range hits {
			fmt.Printf("  %-8s %-6s distance %d, price %v\n", h.ID, h.Label, h.Distance, h.Attributes["price"])
		}
	}
}

// table returns a CSV file such as a shop might have: id, category and an embedding.
func table(rows int) string {
	rng := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString("sku,category,e0,e1,e2,e3,e4,e5\n")
	for i := range rows {
		kind := rng.IntN(3)
		fmt.Fprintf(&b, "sku-%d,%s", i, []string{"boots", "coats", "hats"}[kind])
		for j := range 6 {
			v := rng.NormFloat64()
			if j%3 == kind {
				v += 3
			}
			fmt.Fprintf(&b, ",%.3f", v)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func prices(rows int) []map[string]any {
	list := make([]map[string]any, rows)
	for i := range list {
		list[i] = map[string]any{"price": 10 + i*7%50}
	}
	return list
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
