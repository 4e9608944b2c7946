package engine

import (
	"math/rand/v2"
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// TestSpread: spread codes differ in half the weighted distance, and give the code back.
func TestSpread(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, of := range []shape{{8, 0}, {64, 0}, {9, 1}, {20, 13}, {96, 32}, {128, 64}, {130, 65}, {1024, 1000}} {
		codes, back := hamming.NewCodes(20, of.bits), hamming.NewCodes(1, of.bits)
		for i := range codes.Len() {
			for b := range of.bits {
				codes.SetBit(i, b, rng.IntN(2) == 0)
			}
		}
		wide := of.spreadAll(codes)
		for i := range codes.Len() {
			class, detail := 0, 0
			for b := range of.bits {
				switch differ := codes.Bit(0, b) != codes.Bit(i, b); {
				case differ && b < of.bits-of.detail:
					class++
				case differ:
					detail++
				}
			}
			want := class
			h := index.Hit{ID: index.Int(3), Distance: class}
			if of.detail > 0 {
				want, h.DetailDistance, h.MarginDistance = 8*class+detail, detail, 16*class+2*detail
			}
			if got := hamming.Distance(wide.Row(0), wide.Row(i)); got != want {
				t.Errorf("%+v: spread codes differ in %d bits, want %d", of, got, want)
			}
			if got := of.hit(h.ID, codes.Row(0), codes.Row(i)); got != h {
				t.Errorf("%+v: %+v, want %+v", of, got, h)
			}
			if got := rankedHit(h.ID, h.MarginDistance, class); of.detail > 0 && got != h {
				t.Errorf("%+v: %+v, want %+v", of, got, h)
			}
			if !of.setBytes(back, wide.AppendBytes(nil, i)) || hamming.Distance(back.Row(0), codes.Row(i)) != 0 {
				t.Errorf("%+v: code %d does not come back", of, i)
			}
		}
		if of.detail > 0 {
			wide.SetBit(0, of.class(), !wide.Bit(0, of.class()))
			if of.gather(back, wide, 0) {
				t.Errorf("%+v: a code whose class bits contradict each other was taken", of)
			}
		}
	}
}
