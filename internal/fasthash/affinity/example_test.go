package affinity_test

import (
	"fmt"
	"log"

	"hashgrove/internal/fasthash/affinity"
)

// Rows of one class are similar, all others are not.
func ExampleByClass() {
	y, err := affinity.ByClass([]int32{0, 0, 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(y.At(0, 1), y.At(0, 2), y.At(0, 0))
	fmt.Println(y.Counts())
	// Output:
	// 1 -1 0
	// 1 2
}

// A list of pairs says nothing about all other pairs.
func ExampleFromPairs() {
	y, err := affinity.FromPairs(4, []affinity.Pair{{A: 0, B: 1, Y: 1}, {A: 2, B: 1, Y: -1}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(y.At(1, 0), y.At(1, 2), y.At(0, 3))
	// Output: 1 -1 0
}
