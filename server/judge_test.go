package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// labelledSnapshot returns n items around a centre for each label; one in a hundred has no label.
func labelledSnapshot(t testing.TB, n, bits int, labels []string, flips int) *index.Snapshot {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(n), uint64(bits)))
	centres := hamming.NewCodes(len(labels), bits)
	for i := range labels {
		for b := range bits {
			centres.SetBit(i, b, rng.IntN(2) == 1)
		}
	}
	b := index.NewBatch(bits)
	for i := range n {
		c := rng.IntN(len(labels))
		code := hamming.Codes{Bits: bits, Words: centres.Words, Data: slices.Clone(centres.Row(c))}
		for range rng.IntN(flips + 1) {
			at := rng.IntN(bits)
			code.SetBit(0, at, !code.Bit(0, at))
		}
		it := index.Item{ID: index.Int(int64(i)), Code: code.Row(0), Label: labels[c]}
		if i%100 == 99 {
			it.Label = ""
		}
		b.Append(it)
	}
	x := index.New(bits, hamming.Fingerprint{}, index.Config{Tables: -1})
	if err := x.Add(context.Background(), b); err != nil {
		t.Fatal(err)
	}
	return x.Snapshot()
}

// slowQuality is the definition of the figures: for each query all other items sorted by distance, and the share of
// every item among the first k is the share of its distance's places that are among them.
type slowQuality struct {
	precision, chance float64
	class, confused   map[string]float64
	same, other       []int
}

func slowJudge(l index.Labelled, queries, k int) slowQuality {
	bits, n := l.Codes.Bits, len(l.Label)
	s := slowQuality{class: map[string]float64{}, confused: map[string]float64{}}
	s.same, s.other = make([]int, bits+1), make([]int, bits+1)
	asked, judged := map[string]float64{}, 0.0
	for q := range queries {
		asked[l.Names[l.Label[q]]]++
	}
	for q := range queries {
		own := l.Label[q]
		right, all := make([]int, bits+1), make([]int, bits+1)
		for i := range n {
			if i == q {
				continue
			}
			d := hamming.Distance(l.Codes.Row(q), l.Codes.Row(i))
			all[d]++
			if l.Label[i] == own {
				right[d]++
				s.same[d]++
			} else {
				s.other[d]++
			}
		}
		// first is the expected number of items at a distance among the first so many, divided by how many there are.
		first := func(d, k int) float64 {
			before := 0
			for e := range d {
				before += all[e]
			}
			return min(1, max(0, float64(k-before)/float64(all[d])))
		}
		for i := range n {
			if i == q {
				continue
			}
			chance := first(hamming.Distance(l.Codes.Row(q), l.Codes.Row(i)), k)
			name, other := l.Names[own], l.Names[l.Label[i]]
			if name == other {
				s.precision += chance / float64(k*queries)
				s.class[name] += chance / (float64(k) * asked[name])
			} else {
				s.confused[name+">"+other] += chance / (float64(k) * asked[name])
			}
		}
		total := 0
		for d := range right {
			total += right[d]
		}
		if total > 0 { // else there is nothing to find
			s.chance += float64(total) / float64(n-1)
			judged++
		}
	}
	s.chance /= judged
	return s
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestJudgeEqualsTheDefinition(t *testing.T) {
	for _, tc := range []struct{ items, bits, flips int }{{400, 16, 10}, {60, 70, 60}, {1300, 8, 6}, {5, 8, 3}} {
		x := labelledSnapshot(t, tc.items, tc.bits, []string{"a", "b", "c"}, tc.flips)
		q, why, err := judge(context.Background(), x, 0, func(float64) {})
		if err != nil || q == nil {
			t.Fatal(q, why, err)
		}
		l := x.Labelled(judgedItems)
		s := slowJudge(l, q.Queries, q.K)
		if q.Items != len(l.Label) || q.Queries != min(len(l.Label), 1000) || q.K != min(10, len(l.Label)-1) {
			t.Errorf("%d items, %d queries, k %d", q.Items, q.Queries, q.K)
		}
		if !near(q.Precision, s.precision) || !near(q.Chance, s.chance) {
			t.Errorf("precision %v, want %v; chance %v, want %v", q.Precision, s.precision, q.Chance, s.chance)
		}
		if !slices.Equal(q.Distances.Same, s.same) || !slices.Equal(q.Distances.Other, s.other) {
			t.Errorf("distances %v, want %v and %v", q.Distances, s.same, s.other)
		}
		sum := 0
		for _, c := range q.Classes {
			sum += c.Queries
			if !near(c.Precision, s.class[c.Label]) {
				t.Errorf("class %s: %v, want %v", c.Label, c.Precision, s.class[c.Label])
			}
		}
		if sum != q.Queries {
			t.Errorf("%d queries in the classes, want %d", sum, q.Queries)
		}
		for _, p := range q.Pairs {
			if !near(p.Share, s.confused[p.Label+">"+p.Found]) {
				t.Errorf("%v, want %v", p, s.confused[p.Label+">"+p.Found])
			}
		}
		if q.MAP <= q.Chance/2 || q.MAP > 1 {
			t.Errorf("MAP %v at chance %v", q.MAP, q.Chance)
		}
		one, _, err := judge(context.Background(), x, 1, func(float64) {})
		if err != nil || fmt.Sprint(one) != fmt.Sprint(q) {
			t.Errorf("one thread finds %v and several %v: %v", one, q, err)
		}
	}
}

func TestJudgeSaysWhyThereIsNothing(t *testing.T) {
	empty := index.New(8, hamming.Fingerprint{}, index.Config{}).Snapshot()
	for want, x := range map[string]*index.Snapshot{
		"No item has a label":      empty,
		"All labels are the same":  labelledSnapshot(t, 50, 8, []string{"a"}, 3),
		"Fewer than three items":   labelledSnapshot(t, 2, 8, []string{"a", "b"}, 3),
		"no such reason, all fine": labelledSnapshot(t, 50, 8, []string{"a", "b"}, 3),
	} {
		q, why, err := judge(context.Background(), x, 0, func(float64) {})
		if err != nil || (q == nil) != strings.HasPrefix(why, want) {
			t.Errorf("%q: %v %q %v", want, q, why, err)
		}
	}
}

func TestJudgeCanBeStopped(t *testing.T) {
	x := labelledSnapshot(t, 20000, 64, []string{"a", "b"}, 20)
	ctx, cancel := context.WithCancel(context.Background())
	_, _, err := judge(ctx, x, 0, func(float64) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestJudgeLeavesOutConfusionsOfFew: what one query finds says nothing about its label.
func TestJudgeLeavesOutConfusionsOfFew(t *testing.T) {
	b := index.NewBatch(16)
	for i := range 300 {
		it := index.Item{ID: index.Int(int64(i)), Code: []uint64{uint64(i%7) << 50}, Label: []string{"a", "b"}[i%2]}
		if i == 17 {
			it.Label = "rare"
		}
		b.Append(it)
	}
	x := index.New(16, hamming.Fingerprint{}, index.Config{})
	if err := x.Add(context.Background(), b); err != nil {
		t.Fatal(err)
	}
	q, _, err := judge(context.Background(), x.Snapshot(), 0, func(float64) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range q.Pairs {
		if p.Label == "rare" {
			t.Errorf("%+v", p)
		}
	}
	if !slices.Contains(q.Classes, judgedClass{"rare", 1, 1, 0}) || len(q.Pairs) < 2 {
		t.Errorf("%+v %+v", q.Classes, q.Pairs)
	}
}
