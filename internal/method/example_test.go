package method_test

import (
	"context"
	"fmt"
	"log"

	"hashgrove/internal/method"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// Any method by its name, from labelled rows to a model that says what made it.
func ExampleTrain() {
	ctx := context.Background()
	points := vectors.Matrix{Rows: 8, Cols: 2, Data: []float32{1, 2, 2, 1, 1, 1, 2, 2, 8, 9, 9, 8, 8, 8, 9, 9}}
	labels := []string{"low", "low", "low", "low", "high", "high", "high", "high"}
	data, err := supervision.Scan(ctx, vectors.WithLabels(points, labels), supervision.ScanOptions{})
	if err != nil {
		log.Fatal(err)
	}
	m, err := method.Train(ctx, "ksh", data, method.Options{Bits: 4})
	if err != nil {
		log.Fatal(err)
	}
	low, _ := m.EncodeRow([]float32{1.5, 1.5})
	high, _ := m.EncodeRow([]float32{8.5, 8.5})
	fmt.Println(m.Info.Method, m.Encoder.Bits(), low[0] != high[0])
	// Output: ksh 4 true
}

// Describe says what a method is.
func ExampleDescribe() {
	d, _ := method.Describe("sdh")
	fmt.Println(d.Title, "-", d.Source)
	// Output: SDH - Shen, Shen, Liu and Shen, CVPR 2015
}
