// Pictures learns codes from decoded pictures. The model records how pictures become vectors, so encoding a new picture
// takes nothing but the model.
package main

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"log"
	"math/rand/v2"

	"hashgrove/api"

	"hashgrove"
)

func main() {
	ctx := context.Background()
	pictures, labels := patterns(1, 90)
	options := hashgrove.Options{
		Bits: 16, Pictures: hashgrove.PictureOptions{Size: 32, Features: "gist320", Mirror: true},
		Trees: hashgrove.TreeOptions{Rounds: 20},
	}
	m, err := hashgrove.Train(ctx, hashgrove.Images(pictures, labels), options)
	check(err)
	ix, err := hashgrove.NewIndex(ctx, m.Model, hashgrove.Images(pictures, labels))
	check(err)

	queries, wanted := patterns(2, 3)
	for i, q := range queries {
		code, err := m.EncodeImage(q)
		check(err)
		found, err := ix.Search(ctx, &api.Request{Query: api.Query{PackedCode: code}, Options: api.Options{K: new(3)}})
		check(err)
		hits := found.Results[0].Hits
		fmt.Printf("%-7s code %v, nearest: %s %s %s\n", wanted[i], code, hits[0].Label, hits[1].Label, hits[2].Label)
	}
}

// patterns draws pictures of stripes and checks, each with its own colours; a real program decodes files instead.
func patterns(seed uint64, n int) (pictures []image.Image, labels []string) {
	rng := rand.New(rand.NewPCG(seed, 9))
	for i := range n {
		light := color.RGBA{uint8(150 + rng.IntN(100)), uint8(150 + rng.IntN(100)), uint8(150 + rng.IntN(100)), 255}
		dark := color.RGBA{uint8(rng.IntN(80)), uint8(rng.IntN(80)), uint8(rng.IntN(80)), 255}
		img, step := image.NewRGBA(image.Rect(0, 0, 60, 40)), 4+rng.IntN(3)
		for y := range 40 {
			for x := range 60 {
				img.Set(x, y, []color.RGBA{light, dark}[[]int{x / step, y / step, x/step + y/step}[i%3]%2])
			}
		}
		pictures, labels = append(pictures, img), append(labels, []string{"upright", "flat", "checked"}[i%3])
	}
	return pictures, labels
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
