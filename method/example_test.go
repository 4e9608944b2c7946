package method_test

import (
	"context"
	"fmt"
	"log"

	"hashgrove"
	"hashgrove/method"
)

// byMean gives a row a bit for each column: whether it is at least the mean.
type byMean struct{}

// Train implements method.Method.
func (byMean) Train(ctx context.Context, d *method.Data) (*method.Model, error) {
	dim := d.Dim()
	mean, weight := make([]float32, dim), make([]float32, dim*dim)
	for chunk, err := range d.Chunks(ctx) {
		if err != nil {
			return nil, err
		}
		for i := range chunk.X.Rows {
			for j, v := range chunk.X.Row(i) {
				mean[j] += v / float32(d.Rows)
			}
		}
	}
	for j := range dim {
		weight[j*dim+j] = 1
	}
	return &method.Model{Encoder: &method.Projection{Mean: mean, Weight: weight, Threshold: make([]float32, dim)}}, nil
}

func Example() {
	x := [][]float32{{0, 0, 1}, {0, 1, 0}, {1, 1, 1}, {1, 0, 0}}
	m, err := hashgrove.Train(context.Background(), hashgrove.Rows(x, []int{1, 1, 2, 2}),
		hashgrove.Options{Custom: byMean{}, Method: "by-mean"})
	if err != nil {
		log.Fatal(err)
	}
	code, err := m.Encode([]float32{0, 1, 1})
	fmt.Println(m.Bits(), "bits of", m.Expert().Info.Method, code, err)
	// Output: 3 bits of by-mean 60 <nil>
}
