package inference_test

import (
	"context"
	"fmt"
	"log"

	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/fasthash/inference"
)

// Two bits of six rows in three classes: each bit separates what the bits before it do not.
func Example() {
	y, err := affinity.ByClass([]int32{0, 0, 1, 1, 2, 2})
	if err != nil {
		log.Fatal(err)
	}
	p, err := inference.New(y, 2, inference.Options{}, 1)
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		z, err := p.Infer(context.Background())
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(z)
		p.Push(z) // a hash function that predicts the bit without mistakes
	}
	// Output:
	// [1 1 -1 -1 -1 -1]
	// [-1 -1 -1 -1 1 1]
}
