package supervision_test

import (
	"context"
	"fmt"
	"log"

	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// Scan reads the rows once and numbers their classes.
func ExampleScan() {
	m := vectors.Matrix{Rows: 4, Cols: 1, Data: []float32{1, 2, 3, 4}}
	rows := vectors.WithLabels(m, []string{"hats", "boots", "hats", "coats"})
	data, err := supervision.Scan(context.Background(), rows, supervision.ScanOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(data.Kind(), data.Labels.Names, data.Labels.Class)
	for _, warning := range data.Warnings {
		fmt.Println(warning)
	}
	// Output:
	// classes [boots coats hats] [2 0 2 1]
	// 2 of 3 classes have a single row
}
