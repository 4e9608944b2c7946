package dictionary_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"hashgrove/internal/feature"
	"hashgrove/internal/feature/dictionary"
	"hashgrove/internal/picture"
)

// A codebook of eight words, learned from noise, makes vectors of 14 cells with eight values each.
func ExampleLearn() {
	rng := rand.New(rand.NewPCG(1, 1))
	var pictures []picture.Picture
	for range 20 {
		p := picture.Picture{Width: 16, Height: 16, Channels: 1, Pix: make([]uint8, 16*16)}
		for i := range p.Pix {
			p.Pix[i] = uint8(rng.IntN(256))
		}
		pictures = append(pictures, p)
	}
	options := feature.CodebookOptions{Words: 8, Patch: 4, Patches: 500, Iterations: 3, Seed: 1}
	book, err := dictionary.Learn(context.Background(), options, pictures, 0, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(book.Kind(), book.Dim())
	// Output: codebook 112
}
