package feature_test

import (
	"context"
	"fmt"
	"log"

	"hashgrove/internal/picture"
	"hashgrove/internal/picture/feature"
	"hashgrove/internal/vectors"
)

// GIST features of a picture with upright stripes, and which orientation answers most to it.
func ExampleNewGIST() {
	gist, err := feature.NewGIST(feature.GISTOptions{Size: 32, Orientations: []int{4}, Blocks: 2})
	if err != nil {
		log.Fatal(err)
	}
	shape := picture.Shape{Width: 32, Height: 32, Channels: 1}
	pixels := make([]uint8, shape.Values())
	for i := range pixels {
		pixels[i] = uint8(255 * (i / 4 % 2)) // upright stripes, four pixels wide
	}
	x := vectors.Matrix{Rows: 1, Cols: gist.Dim(), Data: make([]float32, gist.Dim())}
	if err := gist.Extract(context.Background(), []picture.Picture{shape.Picture(pixels, nil)}, x, 1); err != nil {
		log.Fatal(err)
	}
	best := 0
	for o := range 4 { // the first of each orientation's four blocks
		if x.Data[4*o] > x.Data[4*best] {
			best = o
		}
	}
	fmt.Printf("%d values, the greatest for orientation %d of 4\n", gist.Dim(), best)
	// Output: 16 values, the greatest for orientation 0 of 4
}
