package index

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestShortlisted: a shortlist has ten times as many items as are wanted, and no fewer than 100.
func TestShortlisted(t *testing.T) {
	for k, want := range map[int]int{0: 100, 1: 100, 10: 100, 11: 110, 1000: 10_000} {
		if got := Shortlisted(k); got != want {
			t.Errorf("%d items for %d, want %d", got, k, want)
		}
	}
	if Shortlisted(math.MaxInt) < MaxItems/10*10 {
		t.Error("not all items for all")
	}
}

// TestShortlistIsMetOnce goes through all items but one, as a pass over a file of vectors does: each item that is on the
// list is met once, at its distance, and the one that was left out is known to be missing.
func TestShortlistIsMetOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 2))
	c := clustered(500, 64, 7, 1)
	s, q := indexed(t, c, 2), clustered(1, 64, 7, 1).Row(0)
	for range 30 {
		o := Options{Shortlist: 1 + rng.IntN(80)}
		if rng.IntN(2) == 0 {
			o.Rank, o.Margins = ByMargins, someMargins(rng, 64, 1)
		}
		all, err := s.Search(ctx, q, c.Len(), o)
		if err != nil {
			t.Fatal(err)
		}
		ranked := func(h Hit) int {
			if o.Rank == ByMargins {
				return h.MarginDistance
			}
			return h.Distance
		}
		n := o.Shortlist
		for ranked(all.Hits[n]) == ranked(all.Hits[n-1]) {
			n++ // the list takes whole distances
		}
		l, err := s.Shortlist(ctx, s.single(q), math.MaxInt, o)
		if err != nil || l.Len(0) != n {
			t.Fatalf("%d on the list, want %d: %v", l.Len(0), n, err)
		}
		for i, want := range all.Hits[1:] {
			h, met := l.Meet(want.ID)
			if _, again := l.Meet(want.ID); !met || again {
				t.Fatalf("%v is met %v, and again %v", want.ID, met, again)
			}
			if got, on := l.Measured(0, h); on != (i+1 < n) || on && ranked(got) != ranked(want) {
				t.Fatalf("hit %d of %d is on the list: %v, %v, want %v", i+1, n, on, got, want)
			}
		}
		if unmet := l.Unmet(0, 5); len(unmet) != 1 || unmet[0].ID != all.Hits[0].ID {
			t.Fatalf("%v are missing, want %v", unmet, all.Hits[0])
		}
	}
}
