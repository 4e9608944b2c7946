package index_test

import (
	"context"
	"fmt"
	"log"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// Items come and go while an index is searched, with a filter or without.
func Example() {
	ctx := context.Background()
	x := index.New(8, hamming.Fingerprint{}, index.Config{})
	b := index.NewBatch(8)
	for i, code := range []uint64{0b0000_0000, 0b0000_0001, 0b0000_0011, 0b1111_1111} {
		b.Append(index.Item{
			ID: index.Int(int64(i)), Code: []uint64{code << 56}, Label: []string{"boots", "hats"}[i%2],
			Attributes: map[string]index.Value{"price": index.Number(float64(10 * i))},
		})
	}
	if err := x.Add(ctx, b); err != nil {
		log.Fatal(err)
	}
	if _, err := x.Delete(ctx, index.Int(1)); err != nil {
		log.Fatal(err)
	}

	filter, err := index.Parse(`label = "boots" or price > 20`)
	if err != nil {
		log.Fatal(err)
	}
	s := x.Snapshot()
	found, err := s.Search(ctx, []uint64{0b0000_0111 << 56}, 2, index.Options{Filter: filter})
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range found.Hits {
		it := s.Item(h)
		fmt.Println(h.ID, h.Distance, it.Label, it.Attributes["price"])
	}
	// Output:
	// 2 1 boots 20
	// 0 3 boots 0
}

// The nearest of four codes, by the number of bits that differ.
func ExampleFromCodes() {
	codes := hamming.NewCodes(0, 8)
	codes.Append([]byte{0b0000_0000, 0b1111_0000, 0b1111_1111, 0b1100_0000})

	found, err := index.FromCodes(codes).Search(context.Background(), []uint64{0b1110_0000 << 56}, 2, index.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range found.Hits {
		fmt.Printf("code %v differs in %d bits\n", h.ID, h.Distance)
	}
	// Output:
	// code 1 differs in 1 bits
	// code 3 differs in 1 bits
}
