package index

import (
	"math"
	"math/rand/v2"
	"testing"

	"hashgrove/internal/hamming"
)

// TestPlannerChoosesByTheCodes: tables for clustered codes, none for random ones; a radius matters too.
func TestPlannerChoosesByTheCodes(t *testing.T) {
	n := 200_000
	rng := rand.New(rand.NewPCG(1, 9))
	centres := randomCodes(2000, 64, 5)
	for _, clustered := range []bool{true, false} {
		b := &Batch{IDs: make([]ID, n), Codes: hamming.NewCodes(n, 64)}
		for i := range n {
			b.IDs[i] = Int(int64(i))
			b.Codes.Data[i] = rng.Uint64()
			if clustered {
				b.Codes.Data[i] = centres.Data[rng.IntN(2000)] ^ 1<<rng.IntN(64) ^ 1<<rng.IntN(64)
			}
		}
		x := New(64, hamming.Fingerprint{}, Config{})
		if err := x.Add(ctx, b); err != nil {
			t.Fatal(err)
		}
		s := x.Snapshot()
		if has := s.Memory().Tables > 0; has != clustered {
			t.Fatalf("clustered %v, tables %v", clustered, has)
		}
		if !clustered {
			continue
		}
		for r, want := range map[int]Strategy{2: Tables, 30: Scan} {
			if got := s.views[0].chooseStrategy(auto, newWant(math.MaxInt, r, 64, 0), n, 1); got != want {
				t.Errorf("radius %d: %v", r, got)
			}
		}
		if got := s.views[0].chooseStrategy(auto, newWant(10, math.MaxInt, 64, 0), 2, 1); got != List {
			t.Errorf("two items are compared by %v", got)
		}
	}
}
