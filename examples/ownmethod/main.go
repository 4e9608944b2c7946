// Ownmethod plugs in its own method: one bit for each class, which is 1 for rows nearer to its mean than to that of
// all. The model is saved, encodes and searches like any other.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"

	"hashgrove"
)

// classMeans implements hashgrove.Method.
type classMeans struct{}

// Train returns a hyperplane for each class, halfway between the mean of the class and the mean of all rows.
func (classMeans) Train(ctx context.Context, rows *hashgrove.TrainingRows) ([]hashgrove.Hyperplane, error) {
	if rows.Classes == nil {
		return nil, errors.New("class means need classes")
	}
	n, sum, all := make([]float32, len(rows.Classes)), make([][]float32, len(rows.Classes)), make([]float32, rows.Dim)
	for c := range sum {
		sum[c] = make([]float32, rows.Dim)
	}
	row := 0
	for chunk, err := range rows.Chunks(ctx) {
		if err != nil {
			return nil, err
		}
		for _, x := range chunk.X {
			class := rows.Class[row]
			n[class]++
			for j, v := range x {
				sum[class][j] += v
				all[j] += v / float32(rows.Rows)
			}
			row++
		}
	}
	planes := make([]hashgrove.Hyperplane, len(rows.Classes))
	for c := range planes {
		plane := hashgrove.Hyperplane{Weight: make([]float32, rows.Dim)}
		for j := range plane.Weight {
			mean := sum[c][j] / n[c]
			plane.Weight[j] = mean - all[j]
			plane.Threshold += plane.Weight[j] * (mean + all[j]) / 2
		}
		planes[c] = plane
	}
	return planes, nil
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
