package store_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"hashgrove/internal/index"
	"hashgrove/internal/store"
)

// An index in a file: added items are there when it is opened again.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "shop.hgi")

	s, err := store.Create(ctx, path, store.Options{Bits: 64})
	if err != nil {
		log.Fatal(err)
	}
	b := index.NewBatch(64)
	b.Append(index.Item{ID: index.Text("boots-1"), Code: []uint64{0xff}, Label: "boots"})
	b.Append(index.Item{ID: index.Text("hat-1"), Code: []uint64{0xff << 32}, Label: "hats"})
	if err := s.Add(ctx, b); err != nil {
		log.Fatal(err)
	}
	if err := s.Close(); err != nil {
		log.Fatal(err)
	}

	if s, err = store.Open(ctx, path, store.OpenOptions{ReadOnly: true}); err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	x := s.Snapshot()
	found, err := x.Search(ctx, []uint64{0x0f}, 1, index.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range found.Hits {
		fmt.Println(h.ID, h.Distance, x.Item(h).Label)
	}
	// Output: boots-1 4 boots
}

// A short-lived program leaves the items on disk and reads only what it needs.
func ExampleStore_Select() {
	ctx := context.Background()
	s, err := store.Open(ctx, "testdata/backcompat/v1.hgi", store.OpenOptions{ReadOnly: true, OnDisk: true})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	filter := index.Label("label 2")
	x, err := s.Select(ctx, filter, nil)
	if err != nil {
		log.Fatal(err)
	}
	found, err := x.Search(ctx, make([]uint64, 2), 2, index.Options{Filter: filter})
	if err != nil {
		log.Fatal(err)
	}
	items, err := x.Items(ctx, found.Hits)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(items), "of", x.Len(), "items:", items[0].Label)
	// Output: 2 of 40 items: label 2
}
