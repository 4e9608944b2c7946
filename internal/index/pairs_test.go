package index

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"hashgrove/internal/hamming"
)

// pairsOf is the definition: the double loop over the items in order of their ids.
func pairsOf(items []Item, width, r int) (pairs []Pair) {
	slices.SortFunc(items, func(a, b Item) int { return a.ID.Compare(b.ID) })
	for i, a := range items {
		for _, b := range items[i+1:] {
			d := 0
			for bit := range width {
				d += int((a.Code[bit>>6] ^ b.Code[bit>>6]) >> (63 - bit&63) & 1)
			}
			if d <= r {
				pairs = append(pairs, Pair{a.ID, b.ID, d})
			}
		}
	}
	return pairs
}

// groupsOfPairs joins groups until every pair is within one.
func groupsOfPairs(items []Item, pairs []Pair) (groups [][]ID) {
	in := map[ID]int{}
	for i, it := range items {
		in[it.ID] = i
	}
	for _, p := range pairs {
		from, to := max(in[p.A], in[p.B]), min(in[p.A], in[p.B])
		for id, g := range in {
			if g == from {
				in[id] = to
			}
		}
	}
	members := make([][]ID, len(items))
	for _, it := range items {
		members[in[it.ID]] = append(members[in[it.ID]], it.ID)
	}
	for _, ids := range members {
		if len(ids) > 1 {
			groups = append(groups, ids)
		}
	}
	return groups
}

func collectPairs(t *testing.T, p *NearPairs) (pairs []Pair) {
	t.Helper()
	for pair, err := range p.All(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		pairs = append(pairs, pair)
	}
	return pairs
}

// TestPairsEqualTheDoubleLoop compares pairs and groups with their definition: for clusters, equal codes, several segments,
// deleted items, detail and any number of cores.
func TestPairsEqualTheDoubleLoop(t *testing.T) {
	for seed := range uint64(16) {
		rng := rand.New(rand.NewPCG(seed, 99))
		width := []int{8, 33, 64, 70, 128, 300}[rng.IntN(6)]
		detail := 0
		var print hamming.Fingerprint
		if rng.IntN(4) == 0 {
			detail = 1 + rng.IntN(5)
			print = hamming.Fingerprint{1}.WithDetail(detail)
		}
		centres := randomCodes(1+rng.IntN(40), width, seed)
		x := New(width, print, Config{Tables: -1})
		for range 3 {
			b := NewBatch(width)
			for range rng.IntN(300) {
				b.Append(randomItem(rng, centres))
			}
			if err := x.Upsert(ctx, b); err != nil {
				t.Fatal(err)
			}
		}
		if rng.IntN(2) == 0 {
			if _, err := x.Delete(ctx, Int(3), Int(50), Text("k7")); err != nil {
				t.Fatal(err)
			}
		}
		s := x.Snapshot()
		var items []Item
		all, _ := s.Matches(Filter{})
		for _, h := range all {
			items = append(items, s.Item(h))
		}
		r := []int{0, 1, 2, 3, 4, 8, width, width + 1}[rng.IntN(8)]
		want := pairsOf(items, width-detail, r)
		what := fmt.Sprintf("seed %d: %d items of %d bits, %d of detail, radius %d", seed, len(items), width, detail, r)
		for _, o := range []PairOptions{{}, {Threads: 1}, {Threads: 5, Most: len(want) + 1}} {
			o.Radius = r
			p, err := s.Pairs(ctx, o)
			if err != nil {
				t.Fatal(err)
			}
			if got := collectPairs(t, p); p.Count != len(want) || !slices.Equal(got, want) {
				t.Fatalf("%s, %+v: %d pairs, counted %d, want %d", what, o, len(got), p.Count, len(want))
			}
		}
		if len(want) > 1 {
			if p, err := s.Pairs(ctx, PairOptions{Radius: r, Most: 1}); err != nil || p.Count != len(want) {
				t.Fatalf("%s: counted %d of too many pairs, want %d (%v)", what, p.Count, len(want), err)
			}
		}
		g, err := s.PairGroups(ctx, PairOptions{Radius: r})
		if err != nil {
			t.Fatal(err)
		}
		groups := groupsOfPairs(items, want)
		if got := slices.Collect(g.All()); g.Count != len(groups) || !reflect.DeepEqual(got, groups) {
			t.Fatalf("%s: %d groups, want %d", what, len(got), len(groups))
		}
	}
}

// TestPairsOfManyCodes has enough codes for tables of every number of parts, and for buckets that all cores share.
func TestPairsOfManyCodes(t *testing.T) {
	const n = shared + 2000
	for _, radius := range []int{1, 3} {
		rng := rand.New(rand.NewPCG(uint64(radius), 3))
		b := NewBatch(64)
		for i := range n {
			code := rng.Uint64()
			if i%7 == 0 { // half of the codes near 0, which make one bucket of a table
				code = 1 << rng.IntN(64)
			} else if i > 10 && i%3 == 0 {
				code = b.Codes.Row(i - 9)[0] ^ 1<<rng.IntN(64)
			}
			b.Append(Item{ID: Int(int64(i)), Code: []uint64{code}})
		}
		x := New(64, hamming.Fingerprint{}, Config{Tables: -1})
		if err := x.Add(ctx, b); err != nil {
			t.Fatal(err)
		}
		want := 0
		for i := range n {
			for k := i + 1; k < n; k++ {
				if hamming.Distance(b.Codes.Row(i), b.Codes.Row(k)) <= radius {
					want++
				}
			}
		}
		seg, _ := x.Snapshot().whole(ctx)
		for parts := radius; parts <= radius+2; parts++ { // whatever choose takes
			j := newJoin(seg, 64, PairOptions{Radius: radius})
			j.masks = choices(64, parts, radius)
			p := &NearPairs{join: j}
			if err := p.collect(ctx, math.MaxInt32); err != nil || p.Count != want {
				t.Errorf("radius %d, %d parts: %d pairs, want %d (%v)", radius, parts, p.Count, want, err)
			}
		}
		if p, err := x.Snapshot().Pairs(ctx, PairOptions{Radius: radius}); err != nil || p.Count != want {
			t.Errorf("radius %d: %d pairs, want %d (%v)", radius, p.Count, want, err)
		}
	}
}

func TestPairsEndWithTheContext(t *testing.T) {
	x := New(64, hamming.Fingerprint{}, Config{Tables: -1})
	b := NewBatch(64)
	for i := range 5000 {
		b.Append(Item{ID: Int(int64(i)), Code: []uint64{uint64(i) << 30}})
	}
	if err := x.Add(ctx, b); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(ctx)
	o := PairOptions{Radius: 2, Progress: func(int, int) { cancel() }}
	if _, err := x.Snapshot().Pairs(ended, o); !errors.Is(err, context.Canceled) {
		t.Errorf("pairs after the end of the context: %v", err)
	}
	if _, err := x.Snapshot().PairGroups(ended, o); !errors.Is(err, context.Canceled) {
		t.Errorf("groups after the end of the context: %v", err)
	}
}
