package hashgrove_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"

	"hashgrove/api"

	"hashgrove"
)

func Example() {
	vectors, labels := points(0)
	items, names := points(0.5)
	query, path := []float32{108, 9}, filepath.Join(os.TempDir(), "points.hgm")
	defer os.Remove(path)

	ctx := context.Background()
	t, err := hashgrove.Train(ctx, hashgrove.Rows(vectors, labels), hashgrove.Options{Bits: 64})
	check(err)
	check(t.Save(path))
	ix, err := hashgrove.NewIndex(ctx, t.Model, hashgrove.Rows(items, names))
	check(err)
	hits, err := api.Nearest(ctx, ix, query, 3)
	check(err)
	for _, h := range hits {
		fmt.Println(h.ID, h.Label, h.Distance)
	}
	// Output:
	// 1 far 0
	// 3 far 0
	// 5 far 0
}

// points are twenty near the origin and twenty far from it, in turn, all moved to the right by shift.
func points(shift float32) (vectors [][]float32, labels []string) {
	for i := range 20 {
		x := float32(i) + shift
		vectors = append(vectors, []float32{x, float32(i * 7 % 20)}, []float32{100 + x, float32(i * 3 % 20)})
		labels = append(labels, "near", "far")
	}
	return vectors, labels
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// An index in a file, as a service keeps it open.
func ExampleOpenIndex() {
	vectors, labels := points(0)
	items, names := points(0.5)
	ctx, query, path := context.Background(), []float32{108, 9}, filepath.Join(os.TempDir(), "points.hgi")
	defer os.Remove(path)
	m, err := hashgrove.Train(ctx, hashgrove.Rows(vectors, labels), hashgrove.Options{Bits: 16})
	check(err)
	made, err := hashgrove.CreateIndex(ctx, path, m.Model, nil)
	check(err)
	check(made.Close())

	ix, err := hashgrove.OpenIndex(ctx, path)
	check(err)
	defer ix.Close()
	check(ix.Upsert(ctx, hashgrove.Rows(items, names)))
	found, err := ix.Search(ctx, &api.Request{
		Query: api.Query{Vector: query}, Options: api.Options{K: new(3), Where: `label = "far"`},
	})
	check(err)

	hits := found.Results[0].Hits
	fmt.Println(len(hits), "of", ix.Len(), "items, the first of them", hits[0].Label)
	// Output: 3 of 40 items, the first of them far
}

// Bit lengths: with FastHash a prefix of a code is a code.
func ExampleModel_Shorter() {
	vectors, labels := points(0)
	m, err := hashgrove.Train(context.Background(), hashgrove.Rows(vectors, labels), hashgrove.Options{Bits: 16, Trees: hashgrove.TreeOptions{Rounds: 10}})
	check(err)
	code, _ := m.Encode([]float32{108, 9})
	first, err := m.Shorter(8)
	check(err)
	short, _ := first.Encode([]float32{108, 9})
	fmt.Println(len(code), len(short), code[0] == short[0])
	// Output: 2 1 true
}

// hardLoss wants dissimilar pairs to differ in three quarters of the bits, where the hinge wants half.
type hardLoss struct{}

func (hardLoss) Dissimilar(d, k int) int64 { return int64(max(0, 3*k-4*d) * max(0, 3*k-4*d) / 4) }

// A loss of your own for Step 1.
func ExampleLoss() {
	x, labels := clusters(300)
	t, err := hashgrove.Train(context.Background(), hashgrove.Rows(x, labels), hashgrove.Options{
		Bits: 8, FastHash: hashgrove.FastHashOptions{CustomLoss: hardLoss{}, Loss: "hard"},
	})
	fmt.Println(t.Report.NewItems.MAP > 0.9, err)
	// Output: true <nil>
}

// means is a learner that looks at how far the means of both values of the bit are apart in each column.
type means struct{}

func (means) Fit(_ context.Context, c *hashgrove.BinnedColumns, bit []int8, _ []float64) (hashgrove.BinnedPlane, error) {
	h := hashgrove.BinnedPlane{Weight: make([]int32, c.Dim)}
	for j := range c.Dim {
		var sum, n [2]int64
		for row, bin := range c.Column(j) {
			side := (bit[row] + 1) / 2
			sum[side], n[side] = sum[side]+int64(bin), n[side]+1
		}
		low, high := sum[0]/max(n[0], 1), sum[1]/max(n[1], 1)
		h.Weight[j] = int32(high - low)
		h.Bias -= (high - low) * (high + low) / 2 // halfway between both means
	}
	return h, nil
}

// A learner of your own for Step 2.
func ExampleLearner() {
	x, labels := clusters(300)
	t, err := hashgrove.Train(context.Background(), hashgrove.Rows(x, labels), hashgrove.Options{
		Bits: 8, FastHash: hashgrove.FastHashOptions{CustomLearner: means{}, Learner: "means"},
	})
	fmt.Println(t.Report.NewItems.MAP > 0.9, err)
	// Output: true <nil>
}

// clusters makes up vectors of three classes.
func clusters(n int) (x [][]float32, labels []int) {
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range n {
		row := make([]float32, 9)
		for j := range row {
			if row[j] = float32(rng.NormFloat64()); j/3 == i%3 {
				row[j] += 3
			}
		}
		x, labels = append(x, row), append(labels, i%3)
	}
	return x, labels
}
