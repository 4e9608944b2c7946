package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// smallest is the definition of a sketch.
func smallest(hashes []uint64) []uint64 {
	all := slices.Clone(hashes)
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(len(all), sketchSize)]
}

func randomHashes(rng *rand.Rand, n int) []uint64 {
	h := make([]uint64, n)
	for i := range h {
		h[i] = rng.Uint64()
	}
	return h
}

func TestSketchKeepsTheSmallestHashes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{1, 5, sketchSize - 1, sketchSize, sketchSize + 1, 4 * sketchSize, 20000} {
		a, b := randomHashes(rng, n), randomHashes(rng, n/2)
		a = append(a, a[:n/3]...) // repeated rows
		s := NewSketch(a)
		if !slices.Equal(s.hashes, smallest(a)) {
			t.Fatalf("%d rows: not the smallest hashes", n)
		}
		want := smallest(slices.Concat(a, b))
		if m := s.Merge(NewSketch(b)); !slices.Equal(m.hashes, want) {
			t.Fatalf("%d rows: merged, not the smallest hashes of both", n)
		}
		if m := (*Sketch)(nil).Merge(s); !slices.Equal(m.hashes, s.hashes) {
			t.Fatalf("%d rows: merged with nothing, something else", n)
		}
	}
	if NewSketch(nil) != nil || NewSketch(nil).Len() != 0 {
		t.Error("a sketch of nothing")
	}
}

func TestSketchEstimatesTheShare(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for _, n := range []int{10, sketchSize - 1, 30000} {
		learned := randomHashes(rng, n)
		s := NewSketch(learned)
		for _, parts := range []int{1, 2, 4, 10} {
			base := slices.Concat(learned[:n/2], randomHashes(rng, (parts-1)*(n/2)))
			want := 1 / float64(parts)
			got, rows := s.Share(base)
			tolerance := 0.0 // exact
			if n >= sketchSize {
				tolerance = 4 * math.Sqrt(want*(1-want)/float64(rows)) // standard errors of a random sample
			}
			if rows == 0 || math.Abs(got-want) > tolerance+1e-12 {
				t.Errorf("%d rows learned: share %v of %d rows, really %v", n, got, rows, want)
			}
		}
		if got, _ := s.Share(randomHashes(rng, 5000)); got != 0 {
			t.Errorf("share %v of rows that were never seen", got)
		}
	}
	if _, rows := (*Sketch)(nil).Share([]uint64{1}); rows != 0 {
		t.Error("no sketch knows something")
	}
}
