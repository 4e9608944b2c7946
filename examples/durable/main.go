// Durable keeps an index in a file: once Add, Upsert or Delete returns, its changes survive a crash or a power cut.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"hashgrove/api"

	"hashgrove"
)

func main() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "hashgrove")
	check(err)
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "colours.hgi")

	// Shades of four colours, as red, green and blue.
	var shades [][]float32
	var names []string
	for light := range 12 {
		v := float32(120 + 10*light)
		shades = append(shades, []float32{v, 20, 20}, []float32{20, v, 20}, []float32{20, 20, v}, []float32{v, v, 20})
		names = append(names, "red", "green", "blue", "yellow")
	}
	m, err := hashgrove.Train(ctx, hashgrove.Rows(shades, names), hashgrove.Options{Bits: 16,
		Trees: hashgrove.TreeOptions{Rounds: 10}})
	check(err)

	ix, err := hashgrove.CreateIndex(ctx, path, m.Model, hashgrove.Rows(shades, names))
	check(err)
	check(ix.Upsert(ctx, hashgrove.Rows([][]float32{{255, 60, 60}}, []string{"salmon"}).WithIDs([]string{"new"})))
	deleted, err := ix.Delete(ctx, "0", "1")
	check(err)
	check(ix.Close())

	// Another program, another day.
	ix, err = hashgrove.OpenIndex(ctx, path)
	check(err)
	defer ix.Close()
	fmt.Printf("%d items after %d were deleted\n", ix.Len(), deleted)
	hits, err := api.Nearest(ctx, ix, []float32{240, 30, 30}, 3)
	check(err)
	for _, h := range hits {
		fmt.Println(h.Label, h.Distance)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
