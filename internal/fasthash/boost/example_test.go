package boost_test

import (
	"context"
	"fmt"
	"log"

	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/vectors"
)

// Trees that predict a bit from quantised columns.
func Example() {
	ctx := context.Background()
	points := vectors.Matrix{Rows: 6, Cols: 2, Data: []float32{10, 200, 20, 210, 30, 190, 220, 40, 230, 30, 210, 20}}
	ranges := vectors.NewRanges(points.Cols)
	if err := ranges.Read(ctx, points); err != nil {
		log.Fatal(err)
	}
	quantizer, err := ranges.Quantizer()
	if err != nil {
		log.Fatal(err)
	}
	columns, err := vectors.Quantize(ctx, points, points.Rows, quantizer, 0)
	if err != nil {
		log.Fatal(err)
	}
	trainer, err := boost.New(columns, boost.Options{Rounds: 3, MinNode: -1}, 0)
	if err != nil {
		log.Fatal(err)
	}
	z := []int8{-1, -1, -1, 1, 1, 1}
	_, output, mistakes, err := trainer.Fit(ctx, z, nil, 1, 0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(output, mistakes)
	// Output: [-1 -1 -1 1 1 1] 0
}
