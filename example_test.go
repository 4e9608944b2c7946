package hashgrove_test

import (
	"context"
	"fmt"
	"log"

	"hashgrove"
)

func Example() {
	vectors := [][]float32{{1, 2}, {2, 1}, {1, 1}, {2, 2}, {1, 3}, {8, 9}, {9, 8}, {8, 8}, {9, 9}, {8, 7}}
	labels := []string{"low", "low", "low", "low", "low", "high", "high", "high", "high", "high"}

	ctx := context.Background()
	m, err := hashgrove.Train(ctx, hashgrove.Rows(vectors, labels), hashgrove.Options{Bits: 16})
	if err != nil {
		log.Fatal(err)
	}
	ix, err := hashgrove.NewIndex(ctx, m, hashgrove.Rows(vectors, labels))
	if err != nil {
		log.Fatal(err)
	}
	hits, err := ix.Search(ctx, []float32{8.5, 8.5}, 3)
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range hits {
		fmt.Println(h.ID, h.Label, h.Distance)
	}
	// Output:
	// 5 high 0
	// 6 high 0
	// 7 high 0
}

// Bit lengths: with FastHash a prefix of a code is a code.
func ExampleModel_Shorter() {
	vectors := [][]float32{{1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}, {0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 5}}
	classes := []int{0, 0, 0, 0, 0, 1, 1, 1, 1, 1}
	m, err := hashgrove.Train(context.Background(), hashgrove.Rows(vectors, classes), hashgrove.Options{Bits: 16, Rounds: 10})
	if err != nil {
		log.Fatal(err)
	}
	code, _ := m.Encode([]float32{3, 0})
	short, _ := m.Shorter(8).Encode([]float32{3, 0})
	fmt.Println(len(code), len(short), code[0] == short[0])
	// Output: 2 1 true
}
