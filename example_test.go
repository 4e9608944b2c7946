package hashgrove_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"hashgrove/api"

	"hashgrove"
)

func Example() {
	vectors, labels := points(0)
	items, names := points(0.5)
	query, path := []float32{108, 9}, filepath.Join(os.TempDir(), "points.hgm")
	defer os.Remove(path)

	ctx := context.Background()
	t, err := hashgrove.Train(ctx, hashgrove.Rows(vectors, labels), hashgrove.Options{Bits: 64})
	check(err)
	check(t.Save(path))
	ix, err := hashgrove.NewIndex(ctx, t.Model, hashgrove.Rows(items, names))
	check(err)
	hits, err := api.Nearest(ctx, ix, query, 3)
	check(err)
	for _, h := range hits {
		fmt.Println(h.ID, h.Label, h.Distance)
	}
	// Output:
	// 1 far 0
	// 3 far 0
	// 5 far 0
}

// points are twenty near the origin and twenty far from it, in turn, all moved to the right by shift.
func points(shift float32) (vectors [][]float32, labels []string) {
	for i := range 20 {
		x := float32(i) + shift
		vectors = append(vectors, []float32{x, float32(i * 7 % 20)}, []float32{100 + x, float32(i * 3 % 20)})
		labels = append(labels, "near", "far")
	}
	return vectors, labels
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// An index in a file, as a service keeps it open.
func ExampleOpenIndex() {
	vectors, labels := points(0)
	items, names := points(0.5)
	ctx, query, path := context.Background(), []float32{108, 9}, filepath.Join(os.TempDir(), "points.hgi")
	defer os.Remove(path)
	m, err := hashgrove.Train(ctx, hashgrove.Rows(vectors, labels), hashgrove.Options{Bits: 16})
	check(err)
	made, err := hashgrove.CreateIndex(ctx, path, m.Model, nil)
	check(err)
	check(made.Close())

	ix, err := hashgrove.OpenIndex(ctx, path)
	check(err)
	defer ix.Close()
	check(ix.Upsert(ctx, hashgrove.Rows(items, names)))
	found, err := ix.Search(ctx, &api.Request{
		Query: api.Query{Vector: query}, Options: api.Options{K: new(3), Where: `label = "far"`},
	})
	check(err)

	hits := found.Results[0].Hits
	fmt.Println(len(hits), "of", ix.Len(), "items, the first of them", hits[0].Label)
	// Output: 3 of 40 items, the first of them far
}

// Bit lengths: with FastHash a prefix of a code is a code.
func ExampleModel_Shorter() {
	vectors, labels := points(0)
	m, err := hashgrove.Train(context.Background(), hashgrove.Rows(vectors, labels), hashgrove.Options{Bits: 16, Trees: hashgrove.TreeOptions{Rounds: 10}})
	check(err)
	code, _ := m.Encode([]float32{108, 9})
	first, err := m.Shorter(8)
	check(err)
	short, _ := first.Encode([]float32{108, 9})
	fmt.Println(len(code), len(short), code[0] == short[0])
	// Output: 2 1 true
}
