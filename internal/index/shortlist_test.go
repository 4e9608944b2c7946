package index

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/hamming"
)

// TestRerankItems: all items of a small index, at least two thirds of a large one.
func TestRerankItems(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 1, 4000: 4000, 65_536: 65_536, 90_000: 65_536, 1_000_000: 666_667} {
		if got := RerankItems(n); got != want {
			t.Errorf("%d of %d items, want %d", got, n, want)
		}
	}
}

// TestRerankTakesWholeDistances compares rerankings of random indexes with tied codes with their definition: the items
// up to the distance of the last on the shortlist, by score.
func TestRerankTakesWholeDistances(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 5))
		centres := randomCodes(4, []int{8, 64, 100}[seed%3], seed)
		layouts, list := []*Index{New(centres.Bits, hamming.Fingerprint{}, Config{})}, naive(nil)
		for range 12 {
			change(t, rng, centres, layouts, &list)
		}
		for range 10 {
			c := conditions(rng)
			f, err := Parse(c.filter)
			if err != nil {
				t.Fatal(err)
			}
			o := Options{Filter: f, Shortlist: rng.IntN(3) * rng.IntN(40)}
			if rng.IntN(3) == 0 {
				o.Prefix = 1 + rng.IntN(centres.Bits)
			}
			given := o.Shortlist
			q, k, r := randomItem(rng, centres).Code, 1+rng.IntN(12), math.MaxInt
			if rng.IntN(3) == 0 {
				r = rng.IntN(centres.Bits + 1)
			}
			score := func(h Hit) (float64, error) { return float64(len(h.ID.String()) * 17 % 5), nil }
			if o.Shortlist > 0 {
				o.Shortlist = max(o.Shortlist, k) // which Rerank does by itself
			}
			want := list.rerank(q, centres.Bits, r, c.keep, o)
			slices.SortStableFunc(want, func(a, b Hit) int { return cmp.Compare(a.Score, b.Score) })
			s := layouts[0].Snapshot()
			asked := o
			asked.Shortlist = min(asked.Shortlist, given)
			got, err := s.Rerank(ctx, q, k, r, asked, score)
			if _, refused := errors.AsType[*FilterError](err); refused {
				if c.fits(list) {
					t.Fatalf("where %s: %v", c.filter, err)
				}
				continue
			}
			if err != nil || !c.fits(list) || !slices.Equal(placeless(got.Hits), want[:min(k, len(want))]) {
				t.Fatalf("shortlist %d, prefix %d, radius %d, where %s: %v\n got %v\nwant %v",
					o.Shortlist, o.Prefix, r, c.filter, err, got.Hits, want)
			}
			l, err := s.Shortlist(ctx, s.single(q), r, o)
			if err != nil || l.Len(0) != len(want) {
				t.Fatalf("%d on the list, %v; want %d", l.Len(0), err, len(want))
			}
			meetAll(t, l, list, want)
		}
	}
}

// rerank returns the items of the shortlist by distance and id, with the test's scores.
func (n naive) rerank(q []uint64, bits, r int, keep func(Item) bool, o Options) []Hit {
	first := func(it Item) int { return prefixDistance(q, it.Code, cmp.Or(o.Prefix, bits)) }
	list := n.drop(func(it Item) bool { return !keep(it) || first(it) > r })
	slices.SortFunc(list, func(a, b Item) int { return cmp.Compare(first(a), first(b)) })
	if o.Shortlist > 0 && o.Shortlist < len(list) {
		last := first(list[o.Shortlist-1])
		list = list.drop(func(it Item) bool { return first(it) > last })
	}
	var hits []Hit
	for _, it := range list {
		hits = append(hits, Hit{ID: it.ID, Distance: hamming.Distance(q, it.Code), Score: float64(len(it.ID.String()) * 17 % 5)})
	}
	slices.SortFunc(hits, func(a, b Hit) int { return cmp.Or(a.Distance-b.Distance, a.ID.Compare(b.ID)) })
	return hits
}

// meetAll meets all items but one and compares those on the list.
func meetAll(t *testing.T, l *Shortlist, list naive, want []Hit) {
	t.Helper()
	on := map[ID]int{}
	for _, h := range want {
		on[h.ID] = h.Distance
	}
	met := 0
	for _, it := range list {
		if len(want) > 0 && it.ID == want[0].ID {
			continue
		}
		h, may := l.Meet(it.ID)
		if _, again := l.Meet(it.ID); again {
			t.Fatalf("%v is met twice", it.ID)
		}
		d, there := 0, false
		if may {
			d, there = l.Distance(0, h)
		}
		if distance, ok := on[it.ID]; ok != there || ok && d != distance {
			t.Fatalf("%v: on the list %v at %d, want %v at %d", it.ID, there, d, ok, distance)
		}
		if there {
			met++
		}
	}
	unmet := l.Unmet(0, 5)
	if is := len(unmet) > 0; is != (len(want) > 0) || is && (unmet[0].ID != want[0].ID || met != l.Len(0)-1) {
		t.Fatalf("%v are missing and %d of %d were met; want %v", unmet, met, l.Len(0), want)
	}
}
