package index

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"hashgrove/internal/hamming"
)

var ctx = context.Background()

// TestEveryLayoutEqualsThePlainList runs random operations on indexes of several layouts and on the plain list.
func TestEveryLayoutEqualsThePlainList(t *testing.T) {
	for seed := range uint64(10) {
		width := []int{8, 64, 70, 128, 300}[seed%5]
		t.Run(fmt.Sprintf("seed=%d/bits=%d", seed, width), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 5))
			centres := randomCodes([]int{6, 1, 20}[seed%3], width, seed)
			layouts := []*Index{
				New(width, hamming.Fingerprint{}, Config{Tables: -1}),
				New(width, hamming.Fingerprint{}, Config{Tables: 1}),
				New(width, hamming.Fingerprint{}, Config{Tables: 3, Threads: 1}),
				New(width, hamming.Fingerprint{}, Config{}),
			}
			var list naive
			for range 30 {
				change(t, rng, centres, layouts, &list)
				compareAnswers(t, rng, centres, layouts, list)
				if t.Failed() {
					return
				}
			}
		})
	}
}

// change applies the same random change to all indexes and to the list.
func change(t *testing.T, rng *rand.Rand, centres hamming.Codes, layouts []*Index, list *naive) {
	t.Helper()
	switch rng.IntN(9) {
	case 0, 1, 2:
		b := NewBatch(centres.Bits)
		before := *list
		for range rng.IntN(60) {
			it := randomItem(rng, centres)
			b.Append(it)
			it, _ = before.changed(it, false)
			*list = list.put(it)
		}
		for _, x := range layouts {
			if err := x.Upsert(ctx, b); err != nil {
				t.Fatal(err)
			}
		}
	case 3, 4:
		b := NewBatch(centres.Bits)
		known := map[ID]bool{}
		for _, it := range *list {
			known[it.ID] = true
		}
		clash := false
		var added []Item
		for range rng.IntN(4) {
			it := randomItem(rng, centres)
			clash = clash || known[it.ID]
			known[it.ID] = true
			b.Append(it)
			added = append(added, it)
		}
		for _, x := range layouts {
			if err := x.Add(ctx, b); (err != nil) != clash {
				t.Fatalf("add: %v, clash %v", err, clash)
			}
		}
		if !clash {
			*list = append(*list, added...)
		}
	case 5:
		var ids []ID
		for range rng.IntN(30) {
			ids = append(ids, randomItem(rng, centres).ID)
		}
		want := len(*list)
		*list = list.drop(func(it Item) bool { return slices.Contains(ids, it.ID) })
		for _, x := range layouts {
			if n, err := x.Delete(ctx, ids...); err != nil || n != want-len(*list) {
				t.Fatalf("deleted %d, %v, want %d", n, err, want-len(*list))
			}
		}
	case 6:
		c := conditions(rng)
		if c.filter == "" {
			return
		}
		f, err := Parse(c.filter)
		if err != nil {
			t.Fatal(err)
		}
		if rng.IntN(2) == 0 {
			want, fits := len(*list), c.fits(*list)
			if fits {
				*list = list.drop(c.keep)
			}
			for _, x := range layouts {
				if n, err := x.DeleteWhere(ctx, f); (err == nil) != fits || n != want-len(*list) {
					t.Fatalf("deleted %d where %s, %v, want %d", n, c.filter, err, want-len(*list))
				}
			}
		}
	case 7:
		b, replace, want := &Batch{}, rng.IntN(2) == 0, 0
		for range rng.IntN(40) {
			it := randomItem(rng, centres)
			if slices.Contains(b.IDs, it.ID) {
				continue
			}
			b.IDs, b.Labels = append(b.IDs, it.ID), append(b.Labels, it.Label)
			b.Tags, b.Attributes = append(b.Tags, it.Tags), append(b.Attributes, it.Attributes)
			it.Code = nil
			if it, there := list.changed(it, replace); there {
				*list = list.put(it)
				want++
			}
		}
		for _, x := range layouts {
			if n, err := x.Update(ctx, b, replace); n != want || err != nil {
				t.Fatalf("updated %d, %v, want %d", n, err, want)
			}
		}
	case 8:
		for _, x := range layouts[rng.IntN(len(layouts)):] {
			if err := x.Compact(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func compareAnswers(t *testing.T, rng *rand.Rand, centres hamming.Codes, layouts []*Index, list naive) {
	t.Helper()
	width := centres.Bits
	for range 4 {
		c := conditions(rng)
		f, err := Parse(c.filter)
		if err != nil {
			t.Fatal(err)
		}
		o := Options{Filter: f}
		if rng.IntN(4) == 0 {
			o.Prefix, o.Shortlist = 1+rng.IntN(width), 1+rng.IntN(50)
		}
		if rng.IntN(3) == 0 {
			for range width {
				o.Margins = append(o.Margins, float32(rng.IntN(9)-4))
			}
			if rng.IntN(2) == 0 {
				o.Rank = ByMargins
			}
		}
		q := randomItem(rng, centres).Code
		k, r := []int{0, 1, 3, 10, 1000}[rng.IntN(5)], math.MaxInt
		if rng.IntN(2) == 0 {
			r = []int{-1, 0, 1, 3, width / 2, width, width + 5}[rng.IntN(7)]
			o.Limit = k
			if k == 0 {
				k = math.MaxInt
			}
		}
		want, tied := list.search(q, k, r, width, c.keep, o)
		snapshots := []*Snapshot{list.scannable(width, f)}
		for _, x := range layouts {
			snapshots = append(snapshots, x.Snapshot())
		}
		for i, s := range snapshots {
			if s.Len() != len(list) {
				t.Fatalf("layout %d has %d items, want %d", i, s.Len(), len(list))
			}
			for _, method := range []Method{auto, Scan, Tables, List} {
				o.Method, o.Threads, o.Ties = method, 1+rng.IntN(3), rng.IntN(2) == 0
				var got Result
				if r == math.MaxInt {
					got, err = s.Search(ctx, q, k, o)
				} else {
					got, err = s.Within(ctx, q, r, o)
				}
				if _, refused := errors.AsType[*FilterError](err); refused {
					if c.fits(list) {
						t.Fatalf("layout %d of %d items, where %s: %v", i, len(list), c.filter, err)
					}
					continue
				}
				if err != nil || !c.fits(list) {
					t.Fatalf("layout %d of %d items, where %s: %v, should be refused: %t", i, len(list), c.filter, err, !c.fits(list))
				}
				if !slices.Equal(placeless(got.Hits), want) {
					t.Errorf("layout %d, %d segments, method %q, k %d, radius %d, prefix %d, margins %v %q, where %s:\n got %v\nwant %v",
						i, len(s.views), method, k, r, o.Prefix, o.Margins != nil, o.Rank, c.filter, got.Hits, want)
					return
				}
				if o.Ties && got.Tied != tied {
					t.Errorf("layout %d, %d segments, method %q, k %d, radius %d, prefix %d, where %s: %d tied, want %d",
						i, len(s.views), method, k, r, o.Prefix, c.filter, got.Tied, tied)
					return
				}
			}
			if n := 0; r == math.MaxInt {
				for _, it := range list {
					if c.keep(it) {
						n++
					}
				}
				if s.Count(f) != n {
					t.Errorf("count where %s: %d, want %d", c.filter, s.Count(f), n)
				}
				if c.fits(list) {
					compareMatches(t, s, f, list.drop(func(it Item) bool { return !c.keep(it) }))
				}
			}
		}
	}
	if len(list) > 0 {
		it := list[rng.IntN(len(list))]
		for _, x := range layouts {
			got, ok := x.Snapshot().Get(it.ID)
			tags := slices.Clone(it.Tags)
			slices.Sort(tags)
			if !ok || !slices.Equal(got.Code, it.Code) || got.Label != it.Label || !slices.Equal(got.Tags, slices.Compact(tags)) || !maps.Equal(got.Attributes, it.Attributes) {
				t.Errorf("got %v, want %v", got, it)
			}
		}
	}
}

// compareMatches checks that a filter lets through exactly these items.
func compareMatches(t *testing.T, s *Snapshot, f Filter, list naive) {
	t.Helper()
	slices.SortFunc(list, func(a, b Item) int { return a.ID.Compare(b.ID) })
	hits, err := s.Matches(f)
	if err != nil || len(hits) != len(list) {
		t.Fatalf("where %v: %d matches, want %d: %v", f, len(hits), len(list), err)
	}
	for i, h := range hits {
		if h.ID != list[i].ID || s.Item(h).ID != h.ID {
			t.Fatalf("where %v: match %d is %v, want %v", f, i, h.ID, list[i].ID)
		}
	}
}

func TestBatchesEqualSingleQueries(t *testing.T) {
	width := 64
	rng := rand.New(rand.NewPCG(3, 3))
	centres := randomCodes(50, width, 3)
	x := New(width, hamming.Fingerprint{}, Config{Tables: 2})
	b := NewBatch(width)
	for i := range 2000 {
		it := randomItem(rng, centres)
		it.ID = Int(int64(i))
		b.Append(it)
	}
	if err := x.Add(ctx, b); err != nil {
		t.Fatal(err)
	}
	queries := randomCodes(66, width, 4)
	for i := range 60 {
		copy(queries.Row(i), randomItem(rng, centres).Code)
	}
	s := x.Snapshot()
	for _, method := range []Method{auto, Scan, Tables} {
		for _, threads := range []int{1, 4} {
			o := Options{Method: method, Threads: threads, Filter: Tag("t1", "t2"), Explain: true}
			batch, err := s.SearchBatch(ctx, queries, 20, o)
			if err != nil {
				t.Fatal(err)
			}
			ball, err := s.WithinBatch(ctx, queries, 3, o)
			if err != nil {
				t.Fatal(err)
			}
			for q := range queries.Len() {
				one, _ := s.Search(ctx, queries.Row(q), 20, o)
				around, _ := s.Within(ctx, queries.Row(q), 3, o)
				if !slices.Equal(one.Hits, batch[q].Hits) || !slices.Equal(around.Hits, ball[q].Hits) {
					t.Fatalf("query %d differs in a batch", q)
				}
				unexplained := func(s Step) bool { return s.Reason == "" || !strings.Contains(batch[q].Plan.String(), s.Reason) }
				if len(batch[q].Plan) == 0 || slices.ContainsFunc(batch[q].Plan, unexplained) {
					t.Fatalf("query %d is not explained: %v", q, batch[q].Plan)
				}
			}
		}
	}
}

// TestManyCodes covers what small indexes do not reach: parts of a scan and long postings.
func TestManyCodes(t *testing.T) {
	n := 1<<17 + 5
	rng := rand.New(rand.NewPCG(8, 8))
	b := &Batch{Codes: hamming.NewCodes(n, 32), IDs: make([]ID, n), Labels: make([]string, n)}
	for i := range n {
		b.IDs[i] = Int(int64(3 * i))
		b.Labels[i] = "many"
		if i%10 != 0 { // every tenth code is zero
			b.Codes.Data[i] = uint64(rng.Uint32()) << 32
		}
		if i%1000 == 0 {
			b.Labels[i] = "few"
		}
	}
	x := New(32, hamming.Fingerprint{}, Config{Tables: 2})
	if err := x.Add(ctx, b); err != nil {
		t.Fatal(err)
	}
	s := x.Snapshot()
	if _, long := s.views[0].items.list(0); long == nil || long.GetCardinality() != uint64(n+9)/10 {
		t.Error("the posting list of the zero code is not long")
	}
	for _, o := range []Options{{}, {Filter: Label("few")}, {Filter: opposite(Label("few"))}, {Prefix: 20, Shortlist: 70}} {
		for _, q := range []uint64{0, 1 << 40, rng.Uint64() << 32} {
			var first []Hit
			for i, method := range []Method{Scan, auto, Tables, List} {
				for _, threads := range []int{1, 4} {
					o.Method, o.Threads = method, threads
					got, err := s.Search(ctx, []uint64{q}, 50, o)
					if err != nil || len(got.Hits) != 50 {
						t.Fatal(len(got.Hits), err)
					}
					if i == 0 && threads == 1 {
						first = got.Hits
					}
					if !slices.Equal(placeless(got.Hits), placeless(first)) {
						t.Errorf("%v, method %s, threads %d: another answer", o.Filter, method, threads)
					}
				}
			}
		}
	}
	want, _ := s.Within(ctx, []uint64{1 << 50}, 4, Options{Method: Scan})
	for _, method := range []Method{auto, Tables} {
		if got, _ := s.Within(ctx, []uint64{1 << 50}, 4, Options{Method: method}); !slices.Equal(placeless(got.Hits), placeless(want.Hits)) || len(got.Hits) < n/10 {
			t.Errorf("method %q: %d within 4, want %d", method, len(got.Hits), len(want.Hits))
		}
	}
}

func TestSnapshotsStayAsTheyAre(t *testing.T) {
	width := 64
	x := New(width, hamming.Fingerprint{}, Config{Tables: 2})
	centres := randomCodes(5, width, 1)
	var wait sync.WaitGroup
	stop := make(chan struct{})
	for g := range 3 { // readers: one snapshot gives the same answer twice, without repeated ids
		wait.Add(1)
		go func() {
			defer wait.Done()
			rng := rand.New(rand.NewPCG(uint64(g), 0))
			for {
				select {
				case <-stop:
					return
				default:
				}
				s := x.Snapshot()
				q := randomItem(rng, centres).Code
				a, err := s.Within(ctx, q, width, Options{})
				b, _ := s.Search(ctx, q, s.Len(), Options{Method: Scan})
				if err != nil || len(a.Hits) != s.Len() || !slices.Equal(a.Hits, b.Hits) {
					t.Errorf("%d and %d hits of %d items: %v", len(a.Hits), len(b.Hits), s.Len(), err)
					return
				}
			}
		}()
	}
	rng := rand.New(rand.NewPCG(9, 9))
	var list naive
	for range 150 {
		change(t, rng, centres, []*Index{x}, &list)
	}
	close(stop)
	wait.Wait()
	compareAnswers(t, rng, centres, []*Index{x}, list)
}

func TestRerank(t *testing.T) {
	x := New(8, hamming.Fingerprint{}, Config{})
	b := NewBatch(8)
	for i := range 20 {
		b.Append(Item{ID: Int(int64(i)), Code: []uint64{uint64(i) << 56}})
	}
	if err := x.Add(ctx, b); err != nil {
		t.Fatal(err)
	}
	score := func(h Hit) (float64, error) {
		n, _ := h.ID.Integer()
		return float64(-n / 2 * 2), nil
	}
	got, err := x.Snapshot().Search(ctx, []uint64{0}, 5, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := got.Rerank(3, score); err != nil {
		t.Fatal(err)
	}
	// The nearest five to 0 are 0 and 1, 2, 4, 8; 0 and 1 have the same score.
	want := []Hit{{ID: Int(8), Distance: 1, Score: -8}, {ID: Int(4), Distance: 1, Score: -4}, {ID: Int(2), Distance: 1, Score: -2}}
	if !slices.Equal(placeless(got.Hits), want) {
		t.Errorf("got %v, want %v", got.Hits, want)
	}
	for _, h := range got.Hits {
		if it := x.Snapshot().Item(h); it.ID != h.ID {
			t.Errorf("hit %v is item %v", h, it)
		}
	}
	if err := got.Rerank(3, func(Hit) (float64, error) { return 0, context.Canceled }); err == nil {
		t.Error("the error of the callback was lost")
	}
	if err := got.Rerank(3, func(Hit) (float64, error) { return math.NaN(), nil }); err == nil {
		t.Error("a score that is not a number was taken")
	}
}

func TestEstimateIsNearTheTruth(t *testing.T) {
	n := 100_000
	b := &Batch{IDs: make([]ID, n), Codes: hamming.NewCodes(n, 128)}
	rng := rand.New(rand.NewPCG(1, 9))
	for i := range n {
		b.IDs[i] = Int(int64(7 * i))
		b.Codes.Row(i)[0], b.Codes.Row(i)[1] = uint64(rng.IntN(n/4)), 5
	}
	x := New(128, hamming.Fingerprint{}, Config{Tables: 4})
	if err := x.Add(ctx, b); err != nil {
		t.Fatal(err)
	}
	s := x.Snapshot()
	got, want := Estimate(n, 128, 4, float64(s.Codes())/float64(n)), s.Memory()
	if ratio := float64(got.Total()) / float64(want.Total()); ratio < 0.9 || ratio > 1.1 {
		t.Errorf("estimated %+v, is %+v", got, want)
	}
}

func TestAppendedItemsStayInFewSegments(t *testing.T) {
	x := New(64, hamming.Fingerprint{}, Config{})
	rng := rand.New(rand.NewPCG(1, 9))
	for i := range 3000 {
		b := NewBatch(64)
		b.Append(Item{ID: Int(int64(i)), Code: []uint64{rng.Uint64()}})
		if err := x.Add(ctx, b); err != nil {
			t.Fatal(err)
		}
		if s := x.Snapshot(); len(s.views) > 5 || s.Len() != i+1 {
			t.Fatalf("%d segments of %d items", len(s.views), s.Len())
		}
	}
	if n, err := x.DeleteWhere(ctx, Filter{}); n != 3000 || err != nil || len(x.Snapshot().views) != 0 {
		t.Errorf("deleted %d: %v", n, err)
	}
}
