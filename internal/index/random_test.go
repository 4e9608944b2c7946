package index

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/hamming"
)

// auto lets the planner choose.
const auto = Strategy("")

// placeless is hits without their places in a snapshot, which nobody compares.
func placeless(hits []Hit) []Hit {
	hits = slices.Clone(hits)
	for i := range hits {
		hits[i].place = place{}
	}
	return hits
}

// one searches for one query.
func (s *Snapshot) one(q []uint64, k, r int, o Options) (Result, error) {
	results, err := s.Search(ctx, hamming.Codes{Bits: s.bits, Words: len(q), Data: q}, k, r, o)
	if err != nil {
		return Result{}, err
	}
	return results[0], nil
}

// randomItem has a code near one of a few centres, so that codes repeat and distances tie; a single centre is far
// away, so that hardly any code repeats.
func randomItem(rng *rand.Rand, centres hamming.Codes) Item {
	it := Item{ID: Int(int64(rng.IntN(300))), Code: slices.Clone(centres.Row(rng.IntN(centres.Len())))}
	if rng.IntN(3) == 0 {
		it.ID = Text(fmt.Sprintf("k%d", rng.IntN(100)))
	}
	flips := 3
	if centres.Len() == 1 {
		flips = centres.Bits
	}
	for range rng.IntN(flips) {
		b := rng.IntN(centres.Bits)
		it.Code[b/64] ^= 1 << (63 - b%64)
	}
	it.Label = []string{"", "a", "b", "c"}[rng.IntN(4)]
	for range rng.IntN(3) {
		it.Tags = append(it.Tags, fmt.Sprintf("t%d", rng.IntN(4)))
	}
	it.Attributes = map[string]Value{}
	if rng.IntN(2) == 0 {
		it.Attributes["price"] = Number(float64(rng.IntN(20)))
	}
	if rng.IntN(3) == 0 {
		it.Attributes["kind"] = String([]string{"new", "old", "used"}[rng.IntN(3)])
	}
	if rng.IntN(3) == 0 {
		format := []string{
			"2024-01-0%d", "2024-01-0%dT00:00", "2024-01-0%d 09:30:00", "2024-01-0%dT23:30:00Z", "2024-01-0%dT02:00:00+02:00",
			"2024-01-0%dT23:30:00-0100",
		}[rng.IntN(6)]
		it.Attributes["added"] = String(fmt.Sprintf(format, 1+rng.IntN(9)))
	}
	if rng.IntN(3) == 0 {
		it.Attributes["new"] = String([]string{"true", "false"}[rng.IntN(2)])
	}
	return it
}

func randomCodes(n, bits int, seed uint64) hamming.Codes {
	rng := rand.New(rand.NewPCG(seed, 77))
	c := hamming.NewCodes(n, bits)
	for i := range n {
		for b := range bits {
			c.SetBit(i, b, rng.IntN(2) == 1)
		}
	}
	return c
}

// change makes a random write.
func change(t *testing.T, rng *rand.Rand, centres hamming.Codes, x *Index) {
	t.Helper()
	b := NewBatch(centres.Bits)
	for range rng.IntN(60) {
		b.Append(randomItem(rng, centres))
	}
	var err error
	switch rng.IntN(6) {
	case 0, 1, 2:
		err = x.Upsert(ctx, b)
	case 3:
		_, err = x.Delete(ctx, b.IDs...)
	case 4:
		_, err = x.DeleteWhere(ctx, IDs(b.IDs...))
	default:
		err = x.Compact(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
}
