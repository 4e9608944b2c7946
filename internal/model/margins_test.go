package model

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/vectors"
)

// checkMargins compares margins of all numbers of rows with the definition, and their signs with the bits.
func checkMargins(t *testing.T, e Encoder, x vectors.Matrix) {
	t.Helper()
	if err := e.Check(); err != nil {
		t.Fatal(err)
	}
	m := &Model{Encoder: e}
	for _, rows := range []int{1, 7, 8, 300, x.Rows} {
		part := x.Slice(0, min(rows, x.Rows))
		got, err := m.Margins(context.Background(), part, 2)
		if err != nil || got.Rows != part.Rows || got.Cols != e.Bits() {
			t.Fatalf("%d x %d margins: %v", got.Rows, got.Cols, err)
		}
		codes, err := m.Encode(context.Background(), part, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i := range part.Rows {
			for k := range e.Bits() {
				v, want := got.Row(i)[k], settle(slowMargin(e, k, x.Row(i)))
				if v != want {
					t.Fatalf("%d rows: row %d, bit %d has the margin %v, want %v", rows, i, k, v, want)
				}
				if negative := math.Signbit(float64(v)); negative == codes.Bit(i, k) && v != 0 {
					t.Fatalf("row %d, bit %d is %v with the margin %v", i, k, codes.Bit(i, k), v)
				}
			}
		}
	}
}

func TestMarginsFollowTheDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for _, c := range []struct{ bits, dim, depth, trees int }{
		{3, 5, 1, 1}, {8, 12, 3, 61}, {70, 40, 4, 130}, {2, 300, 6, 40}, {1, 9, 8, 33},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			e := randomTrees(rng, c.bits, c.dim, c.depth, c.trees)
			checkMargins(t, e, randomRows(rng, e, 310))
		})
	}
	planes := randomHyperplanes(rng, 17, 33)
	checkMargins(t, planes, randomRows(rng, planes, 301))
	projection := randomProjection(rng, 65, 19, true)
	checkMargins(t, projection, randomRows(rng, projection, 301))
	mapped := sampleMapped(rng)
	var names []string
	for name := range mapped {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			e := mapped[name]
			checkMargins(t, e, vectors.Matrix{Rows: 301, Cols: e.Dim(), Data: randomFloats(rng, 301*e.Dim())})
		})
	}
}
