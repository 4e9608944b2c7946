// Ownmethod plugs in its own method: one bit for each direction from the mean of all rows to the mean of a class. The
// model is saved, encodes and searches like any other.
package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"hashgrove"
	"hashgrove/method"
)

// classMeans implements method.Method.
type classMeans struct{}

var _ method.Method = classMeans{}

// Train returns a linear projection with a row of weights for each class.
func (classMeans) Train(ctx context.Context, d *method.Data) (*method.Model, error) {
	if err := d.Trainable(); err != nil {
		return nil, err
	}
	classes, dim := len(d.Labels.Names), d.Dim()
	sum, mean := make([]float32, classes*dim), make([]float32, dim)
	for chunk, err := range d.Chunks(ctx) {
		if err != nil {
			return nil, err
		}
		for i := range chunk.X.Rows {
			class := int(d.Labels.Class[chunk.First+i])
			for j, v := range chunk.X.Row(i) {
				sum[class*dim+j] += v
				mean[j] += v / float32(d.Rows)
			}
		}
	}
	for c, n := range d.Labels.Counts() {
		for j := range dim {
			sum[c*dim+j] = sum[c*dim+j]/float32(n) - mean[j]
		}
	}
	return &method.Model{Encoder: &method.Projection{Mean: mean, Weight: sum, Threshold: make([]float32, classes)}}, nil
}

func main() {
	ctx := context.Background()
	x, labels := animals(90)
	m, err := hashgrove.Train(ctx, hashgrove.Rows(x, labels),
		hashgrove.Options{Custom: classMeans{}, Method: "class-means"})
	check(err)

	for _, class := range []int{0, 1, 2} {
		code, err := m.Encode(x[class])
		check(err)
		fmt.Printf("%-5s %d bits: %v\n", labels[class], m.Bits(), code)
	}
}

// animals draws vectors of three classes in turn.
func animals(n int) (x [][]float32, labels []string) {
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range n {
		row := make([]float32, 6)
		for j := range row {
			row[j] = float32(rng.NormFloat64())
			if j%3 == i%3 {
				row[j] += 6
			}
		}
		x, labels = append(x, row), append(labels, []string{"bird", "cat", "dog"}[i%3])
	}
	return x, labels
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
