package index

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/hamming"
)

// TestTiesAcrossSegments: items at one distance come in order of their ids, whichever segments they are in. Fewer than
// 1,024 items are always one segment, so the batches here are larger, in decreasing sizes.
func TestTiesAcrossSegments(t *testing.T) {
	const bits = 8
	rng := rand.New(rand.NewPCG(28, 3))
	sizes := []int{3300, 1100, 30}
	order := rng.Perm(3300 + 1100 + 30)
	x, next := New(bits, hamming.Fingerprint{}, Config{}), 0
	type item struct {
		id   ID
		code []uint64
	}
	var all []item
	for _, n := range sizes {
		b := NewBatch(bits)
		for range n {
			id := Int(int64(order[next]))
			if order[next]%3 == 0 {
				id = Text(fmt.Sprintf("sku-%d", order[next]))
			}
			it := item{id, []uint64{rng.Uint64() << (64 - bits)}}
			all, next = append(all, it), next+1
			b.Append(Item{ID: it.id, Code: it.code})
		}
		if err := x.Add(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	s := x.Snapshot()
	if len(s.views) != len(sizes) {
		t.Fatalf("%d segments: this test cannot fail", len(s.views))
	}
	for range 20 {
		q := []uint64{rng.Uint64() << (64 - bits)}
		var want []Hit
		for _, it := range all {
			want = append(want, Hit{ID: it.id, Distance: hamming.Distance(q, it.code)})
		}
		slices.SortFunc(want, func(a, b Hit) int {
			return cmp.Or(cmp.Compare(a.Distance, b.Distance), a.ID.Compare(b.ID))
		})
		k := 1 + rng.IntN(400)
		got, err := s.Search(ctx, q, k, Options{})
		if err != nil || !slices.Equal(placeless(got.Hits), want[:k]) {
			t.Fatalf("the %d nearest: %v\n got %v\nwant %v", k, err, placeless(got.Hits), want[:k])
		}
		r := rng.IntN(3)
		within := slices.IndexFunc(want, func(h Hit) bool { return h.Distance > r })
		if got, err = s.Within(ctx, q, r, Options{}); err != nil || !slices.Equal(placeless(got.Hits), want[:within]) {
			t.Fatalf("within %d bits: %v\n got %v\nwant %v", r, err, placeless(got.Hits), want[:within])
		}
	}
}
