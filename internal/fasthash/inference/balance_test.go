package inference

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/message"
)

// Fields of any bit, also where rows of a group differ, are sums over pairs.
func TestFieldsOfAnyBit(t *testing.T) {
	grid(t, 30, 2, BlockGC, func(t *testing.T, r *rand.Rand, y affinity.Matrix, o Options) {
		inf, s := pushSome(t, r, y, o, []int{0, 2, 5}[r.IntN(3)])
		w := s.matrix()
		h, got := make([]int8, y.Len()), make([]float64, y.Len())
		for i := range h {
			h[i] = int8(2*r.IntN(2) - 1)
		}
		if err := inf.Fields(ctx, h, got); err != nil {
			t.Fatal(err)
		}
		for i := range w {
			want := int64(0)
			for j := range w {
				want += w[i][j] * int64(h[j])
			}
			if math.Abs(got[i]-float64(want)) > 1e-6 {
				t.Fatalf("row %d: field %v, want %d", i, got[i], want)
			}
		}
	})
}

func TestBalanceNeedsClasses(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, kind := range []string{"tags", "pairs"} {
		_, err := New(kinds(t, r, 20)[kind], 8, Options{BalanceClasses: true}, 1)
		if !message.Is(err, "no-classes") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// Candidate 0 is what Infer infers; others follow from their numbers alone.
func TestCandidates(t *testing.T) {
	y := kinds(t, rand.New(rand.NewPCG(2, 3)), 60)["tags"]
	inf, err := New(y, 8, Options{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	var first [6][]int8
	different := 0
	for turn := range 2 {
		for c := range first {
			z, err := inf.InferCandidate(ctx, c)
			if err != nil {
				t.Fatal(err)
			}
			if turn == 0 {
				first[c] = slices.Clone(z)
				if !slices.Equal(z, first[0]) {
					different++
				}
			} else if !slices.Equal(z, first[c]) {
				t.Errorf("candidate %d is another one the second time", c)
			}
		}
	}
	if z, err := inf.Infer(ctx); err != nil || !slices.Equal(z, first[0]) {
		t.Errorf("candidate 0 is not the bit without candidates; error %v", err)
	}
	if different == 0 {
		t.Error("all candidates are equal")
	}
}
