package inference

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

// Sums of pair weights stay below 2^62, whatever factor happens to be 4.
func TestWeightsThatOverflowAreRefused(t *testing.T) {
	const great = 1 << (strconv.IntSize - 15) // 2^49 where int has 64 bits, and no matter where it has 32
	for _, c := range []struct {
		name string
		n    int
		bits int
		o    Options
		ok   bool
	}{
		{"2^61", 1 << 25, 1024, Options{Loss: KSH, SimilarWeight: 1, DissimilarWeight: 1}, true},
		{"2^63 by a weight of 4", 1 << 25, 1024, Options{Loss: KSH, SimilarWeight: 4, DissimilarWeight: 1}, false},
		{"2^63 by the hinge", 1 << 25, 1024, Options{Loss: Hinge, SimilarWeight: 1, DissimilarWeight: 1}, false},
		{"2^63 with 2 bits", 1 << 30, 2, Options{Loss: KSH, SimilarWeight: 2, DissimilarWeight: 1}, false},
		{"2^61 with 2 bits", 1 << 29, 2, Options{Loss: KSH, SimilarWeight: 2, DissimilarWeight: 1}, true},
		{"4 rows", 4, 1024, Options{Loss: KSH, SimilarWeight: great, DissimilarWeight: 1}, strconv.IntSize == 32},
	} {
		if err := c.o.check(c.n, c.bits); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// A block with more undecided groups than a cut takes is minimised in parts: its energy never rises, every part is at
// its minimum after its turn, and the number of parts is told. With room for all groups it is one exact cut.
func TestLargeBlocksAreCutInParts(t *testing.T) {
	inParts, exact, worse := 0, 0, 0
	for _, kind := range []string{"classes", "tags"} {
		for turn := range 200 {
			r := rand.New(rand.NewPCG(uint64(turn), 8))
			y := kinds(t, r, 14)[kind]
			inf, s := pushSome(t, r, y, Options{SimilarWeight: 3}, 5)
			w, q := s.matrix(), inf.p.(*grouped)
			q.setWeights(inf.weights(1))
			if err := q.reset(ctx); err != nil {
				t.Fatal(err)
			}
			for v := range q.z {
				if r.IntN(2) == 0 {
					flip(q, v)
				}
			}
			q.cut.most = 1 + r.IntN(3)
			z := make([]int8, y.Len())
			for b, block := range rowBlocks(q) {
				rowSigns(q, z)
				before := energy(w, z)
				best, _ := smallestByTrying(w, z, block)
				q.parts.Store(0)
				if _, err := q.solve(ctx, b); err != nil {
					t.Fatal(err)
				}
				rowSigns(q, z)
				after := energy(w, z)
				switch {
				case after > before:
					t.Fatalf("%s, block %v: the energy rose from %d to %d", kind, block, before, after)
				case inf.Parts() == 0 && after != best:
					t.Fatalf("%s, block %v: energy %d instead of %d, but no parts are told", kind, block, after, best)
				case inf.Parts() == 0:
					exact++
				default:
					inParts++
				}
				if after > best {
					worse++
				}
			}
		}
	}
	if inParts < 50 || exact < 50 || worse == 0 {
		t.Errorf("%d blocks in parts, %d whole, %d above their minimum: the test shows little", inParts, exact, worse)
	}
}
