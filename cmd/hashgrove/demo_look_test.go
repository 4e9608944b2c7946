package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/compare"
	"hashgrove/internal/hamming"
	"hashgrove/internal/method"
	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// lookOfOrders is the definition of demoCommand.nearestOfClass: the share of the nearest items of the class among the
// first ten of many random orders of the ties.
func lookOfOrders(distance [][]int, alike [][]int, rng *rand.Rand, orders int) float64 {
	sum := 0.0
	for range orders {
		for q, row := range distance {
			order := rng.Perm(len(row))
			slices.SortStableFunc(order, func(a, b int) int { return row[a] - row[b] })
			for _, item := range order[:10] {
				if slices.Contains(alike[q], item) {
					sum += 1 / float64(len(alike[q]))
				}
			}
		}
	}
	return sum / float64(orders*len(distance))
}

func TestNearestOfClassEqualsTheDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	part := func(rows int) *compare.Part {
		x, labels := vectors.Matrix{Rows: rows, Cols: 6}, make([]string, rows)
		for i := range rows {
			labels[i] = []string{"a", "b"}[i%2]
			for range x.Cols {
				x.Data = append(x.Data, float32(i%2)+float32(rng.NormFloat64()))
			}
		}
		p, err := compare.Read(t.Context(), vectors.WithLabels(x, labels), nil)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	data := &compare.Data{Base: part(200), New: part(80), Queries: part(25)}
	m, err := method.Train(t.Context(), "lsh", data.Base.Data, method.Options{Bits: 5, Detail: 4})
	if err != nil {
		t.Fatal(err)
	}
	m.Ranking = nil // by Hamming distance
	c := &demoCommand{app: &app{threads: 2}}
	for _, m := range []*model.Model{m, {Encoder: model.ClassPart(m.Encoder)}} {
		queries, err := m.Encode(t.Context(), data.Queries.X, 1)
		if err != nil {
			t.Fatal(err)
		}
		items, err := m.Encode(t.Context(), data.New.X, 1)
		if err != nil {
			t.Fatal(err)
		}
		weights := hamming.EqualWeights(items.Bits, m.DetailBits())
		var distance, alike [][]int
		for q := range queries.Len() {
			row := make([]int, items.Len())
			for i := range row {
				row[i] = hamming.WeightedDistance(queries.Row(q), items.Row(i), weights)
			}
			distance, alike = append(distance, row), append(alike, mostAlike(data, q, 10))
		}
		got, err := c.nearestOfClass(t.Context(), m, data)
		if want := lookOfOrders(distance, alike, rng, 2000); err != nil || math.Abs(got-want) > 0.01 {
			t.Errorf("%d bits of detail: %v, want about %v, %v", m.DetailBits(), got, want, err)
		}
	}
}
