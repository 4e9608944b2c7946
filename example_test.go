package hashgrove_test

import (
	"context"
	"fmt"
	"log"

	"hashgrove"
)

func Example() {
	vectors, labels := points()

	ctx := context.Background()
	m, err := hashgrove.Train(ctx, hashgrove.Rows(vectors, labels), hashgrove.Options{Bits: 16})
	if err != nil {
		log.Fatal(err)
	}
	ix, err := hashgrove.NewIndex(ctx, m, hashgrove.Rows(vectors, labels))
	if err != nil {
		log.Fatal(err)
	}
	hits, err := ix.Search(ctx, []float32{108, 9}, 3)
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range hits {
		fmt.Println(h.ID, h.Label, h.Distance)
	}
	// Output:
	// 1 far 0
	// 3 far 0
	// 5 far 0
}

// points are twenty near the origin and twenty far from it, in turn.
func points() (vectors [][]float32, labels []string) {
	for i := range 20 {
		vectors = append(vectors, []float32{float32(i), float32(i * 7 % 20)}, []float32{float32(100 + i), float32(i * 3 % 20)})
		labels = append(labels, "near", "far")
	}
	return vectors, labels
}

// Bit lengths: with FastHash a prefix of a code is a code.
func ExampleModel_Shorter() {
	vectors, labels := points()
	m, err := hashgrove.Train(context.Background(), hashgrove.Rows(vectors, labels), hashgrove.Options{Bits: 16, Rounds: 10})
	if err != nil {
		log.Fatal(err)
	}
	code, _ := m.Encode([]float32{108, 9})
	short, _ := m.Shorter(8).Encode([]float32{108, 9})
	fmt.Println(len(code), len(short), code[0] == short[0])
	// Output: 2 1 true
}
