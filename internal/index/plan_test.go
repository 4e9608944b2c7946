package index

import (
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
		for r, want := range map[int]Method{2: Tables, 30: Scan} {
			got, err := s.Within(ctx, centres.Row(0), r, Options{Explain: true, Threads: 1})
			if err != nil || len(got.Plan) != 1 || got.Plan[0].Method != string(want) {
				t.Errorf("radius %d: %v, %v", r, got.Plan, err)
			}
		}
		got, _ := s.Search(ctx, b.Codes.Row(7), 10, Options{Filter: IDs(Int(7), Int(8)), Explain: true})
		if len(got.Hits) != 2 || placeless(got.Hits)[0] != (Hit{ID: Int(7)}) || got.Plan[0].Method != string(List) {
			t.Errorf("%v, %v", got.Hits, got.Plan)
		}
	}
}
