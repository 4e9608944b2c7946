package fasthash_test

import (
	"context"
	"fmt"
	"log"

	"hashgrove/internal/fasthash"
	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// Eight bits of points in two clouds, which a single bit can tell apart.
func Example() {
	ctx := context.Background()
	points := vectors.Matrix{Rows: 8, Cols: 2, Data: []float32{1, 2, 2, 1, 1, 1, 2, 2, 8, 9, 9, 8, 8, 8, 9, 9}}
	labels := []string{"low", "low", "low", "low", "high", "high", "high", "high"}
	data, err := supervision.Scan(ctx, vectors.WithLabels(points, labels), supervision.ScanOptions{})
	if err != nil {
		log.Fatal(err)
	}
	options := fasthash.Options{Bits: 8, Trees: boost.Options{Rounds: 5, MinNode: -1}} // everything else as in the paper
	m, err := fasthash.Method{Options: options}.Train(ctx, data)
	if err != nil {
		log.Fatal(err)
	}
	low, _ := m.EncodeRow([]float32{1.5, 1.5})
	high, _ := m.EncodeRow([]float32{8.5, 8.5})
	fmt.Println("different codes:", low[0] != high[0])
	// Output: different codes: true
}
