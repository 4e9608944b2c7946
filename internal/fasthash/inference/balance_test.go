package inference

import (
	"math"
	"math/rand/v2"
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
