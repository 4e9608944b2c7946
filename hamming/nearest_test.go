package hamming

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
)

// nearestBySorting is the definition: all distances, sorted by (distance, position), cut.
func nearestBySorting(c Codes, q []uint64, k, r int) []Near {
	var all []Near
	for i := range c.Len() {
		if d := Distance(q, c.Row(i)); d <= r {
			all = append(all, Near{uint32(i), uint32(d)})
		}
	}
	slices.SortFunc(all, compare)
	return all[:min(k, len(all))]
}

// clustered codes lie around a few centres, so that many distances are equal.
func clustered(n, bits, centres int, seed uint64) Codes {
	rng := rand.New(rand.NewPCG(seed, 1))
	from, c := random(centres, bits, seed), NewCodes(n, bits)
	for i := range n {
		copy(c.Row(i), from.Row(rng.IntN(centres)))
		for range rng.IntN(4) {
			b := rng.IntN(bits)
			c.SetBit(i, b, !c.Bit(i, b))
		}
	}
	return c
}

func TestNearestEqualsSorting(t *testing.T) {
	for _, bits := range []int{1, 8, 64, 100, 256} {
		for _, n := range []int{0, 1, 700} {
			for _, c := range []Codes{random(n, bits, 3), clustered(n, bits, 5, 4)} {
				queries := clustered(65, bits, 5, 4)
				for _, k := range []int{0, 1, 100, n + 1} {
					for _, threads := range []int{1, 3} {
						got, err := c.Nearest(context.Background(), queries, k, threads)
						if err != nil {
							t.Fatal(err)
						}
						for _, q := range []int{0, 64} {
							if want := nearestBySorting(c, queries.Row(q), k, bits); !slices.Equal(got[q], want) {
								t.Fatalf("%d codes of %d bits, k = %d: %v, want %v", n, bits, k, got[q], want)
							}
						}
					}
				}
			}
		}
	}
}

func TestNearestInParts(t *testing.T) {
	c := clustered(2*codesPerTurn+77, 64, 50, 9)
	q := clustered(1, 64, 50, 9)
	want, _ := c.Nearest(context.Background(), q, 300, 1)
	got, _ := c.Nearest(context.Background(), q, 300, 4)
	if !slices.Equal(got[0], want[0]) {
		t.Error("parts changed the answer")
	}
}

func TestWithinIsInOrder(t *testing.T) {
	c := clustered(5000, 64, 3, 5)
	for _, r := range []int{-1, 0, 1, 5, 32, 64, 100} {
		got := c.Within(c.Row(17), r)
		if want := nearestBySorting(c, c.Row(17), c.Len(), r); !slices.Equal(got, want) {
			t.Errorf("radius %d: %d codes, want %d", r, len(got), len(want))
		}
	}
}
