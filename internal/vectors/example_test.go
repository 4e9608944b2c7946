package vectors_test

import (
	"context"
	"fmt"
	"log"

	"hashgrove/internal/vectors"
)

// A matrix is a source of rows; Select leaves some of them out.
func ExampleSelect() {
	m := vectors.Matrix{Rows: 3, Cols: 2, Data: []float32{1, 2, 3, 4, 5, 6}}
	for chunk, err := range vectors.Select(m, []bool{true, false, true}).Chunks(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		for i := range chunk.X.Rows {
			fmt.Println(chunk.X.Row(i))
		}
	}
	// Output:
	// [1 2]
	// [5 6]
}

// The values of a column become one of 256 bins between its least and its greatest value.
func ExampleQuantize() {
	ctx := context.Background()
	m := vectors.Matrix{Rows: 3, Cols: 1, Data: []float32{-1, 0, 1}}
	ranges := vectors.NewRanges(m.Cols)
	if err := ranges.Read(ctx, m); err != nil {
		log.Fatal(err)
	}
	q, err := ranges.Quantizer()
	if err != nil {
		log.Fatal(err)
	}
	columns, err := vectors.Quantize(ctx, m, m.Rows, q, 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(columns.Column(0))
	// Output: [0 128 255]
}
