package inference

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A tally is the sum of its groups one by one, however many there are, and of every mass.
func TestTallyIsTheSumOneByOne(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	var counted tally
	for turn := range 400 {
		words := r.IntN(4)
		unit, by := 1+r.Int64N(20), r.Int64N(5)-2
		var want, got sums[int64]
		want.reset(64 * words)
		got.reset(64 * words)
		counted.begin(&got, by, unit)
		for range []int{0, 1, 7, 8, 9, 300, 1000}[turn%7] {
			code := make([]uint64, words)
			for w := range code {
				code[w] = r.Uint64() | r.Uint64()<<r.IntN(64) // some bits in nearly all codes
				if turn%3 == 0 {
					code[w] |= 1 << 40 // and one in all: no count may overflow
				}
			}
			mass := unit
			if turn%2 > 0 {
				mass *= 1 + r.Int64N(12)
			}
			want.add(code, by*mass)
			counted.add(code, mass)
		}
		counted.end()
		if got.s != want.s || !slices.Equal(got.set, want.set) {
			t.Fatalf("turn %d: %+v, want %+v", turn, got, want)
		}
	}
}

// The sums of whole numbers, which are counted, and of others are those that the order of the groups gives, to the bit.
func TestSumsOfGroupsHaveTheirOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, p := range []int{0, 3, 70} {
		y := kinds(t, r, 300)["classes"]
		inf, _ := pushSome(t, r, y, Options{noMerge: true}, p)
		q := inf.p.(*grouped)
		for _, scale := range []float64{1, 3, 16, 0.1, 1 << 40} {
			x := make([]float64, len(q.size))
			for g := range x {
				x[g] = scale * float64(r.IntN(7)-3)
			}
			var want sums[float64]
			want.reset(p)
			for g, v := range x {
				want.add(q.bits(int32(g)), v)
			}
			got, err := q.sumAll(ctx, x)
			if err != nil || got.s != want.s || !slices.Equal(got.set, want.set) {
				t.Errorf("%d bits, numbers by %v: %+v, want %+v; error %v", p, scale, got, want, err)
			}
		}
	}
}
