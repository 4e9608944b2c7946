package index

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/hamming"
)

// TestLabelledEqualsThePlainList changes indexes at random; all items with labels must be there, in the same order in
// every layout.
func TestLabelledEqualsThePlainList(t *testing.T) {
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 16))
		width := []int{8, 64, 70}[seed%3]
		centres := randomCodes(4, width, seed)
		layouts := []*Index{
			New(width, hamming.Fingerprint{}, Config{Tables: -1}), New(width, hamming.Fingerprint{}, Config{Tables: 2}),
		}
		for range 30 {
			change(t, rng, centres, layouts)
			want, counts := []string{}, map[string]int{}
			for _, it := range itemsOf(t, layouts[0]) {
				if it.Label != "" {
					want = append(want, fmt.Sprint(it.Code, it.Label))
					counts[it.Label]++
				}
			}
			slices.Sort(want)
			var first []string
			for _, x := range layouts {
				l := x.Snapshot().Labelled(1 << 20)
				got := []string{}
				for i, n := range l.Label {
					got = append(got, fmt.Sprint(l.Codes.Row(i), l.Names[n]))
				}
				if first == nil {
					first = slices.Clone(got)
				}
				if !slices.Equal(got, first) {
					t.Fatalf("seed %d: the order depends on the layout", seed)
				}
				slices.Sort(got)
				if !slices.Equal(got, want) || !slices.Equal(l.Names, slices.Sorted(maps.Keys(counts))) {
					t.Fatalf("seed %d: %d items, want %d; %v", seed, len(got), len(want), l.Names)
				}
				for n, name := range l.Names {
					if l.Counts[n] != counts[name] {
						t.Fatalf("%d items with %q, want %d", l.Counts[n], name, counts[name])
					}
				}
				few := x.Snapshot().Labelled(5) // the first ones
				if !slices.Equal(few.Codes.Data, l.Codes.Data[:len(few.Codes.Data)]) || len(few.Label) != min(5, len(l.Label)) {
					t.Fatalf("seed %d: a sample of %d is not the beginning", seed, len(few.Label))
				}
			}
		}
	}
}
