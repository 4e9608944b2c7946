package index

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"hashgrove/internal/hamming"
)

var ctx = context.Background()

// TestManyCodes reaches what small indexes do not: parts of a scan and long postings.
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
		if i%1000 < 2 { // the first of two has the zero code
			b.Labels[i] = []string{"zero", "few"}[i%1000]
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
	for _, o := range []Options{{}, {Filter: Label("few")}, {Filter: Label("zero")}, {Filter: opposite(Label("few"))}, {Prefix: 20, Shortlist: 70}} {
		for _, q := range []uint64{0, 1 << 40, rng.Uint64() << 32} {
			var first []Hit
			for i, strategy := range []Strategy{Scan, auto, Tables, List} {
				for _, threads := range []int{1, 4} {
					o.Strategy, o.Threads = strategy, threads
					got, err := s.one([]uint64{q}, 50, math.MaxInt, o)
					if err != nil || len(got.Hits) != 50 {
						t.Fatal(len(got.Hits), err)
					}
					if i == 0 && threads == 1 {
						first = got.Hits
					}
					if !slices.Equal(placeless(got.Hits), placeless(first)) {
						t.Errorf("%v, strategy %s, threads %d: another answer", o.Filter, strategy, threads)
					}
				}
			}
		}
	}
	want, _ := s.one([]uint64{1 << 50}, math.MaxInt, 4, Options{Strategy: Scan})
	for _, strategy := range []Strategy{auto, Tables} {
		if got, _ := s.one([]uint64{1 << 50}, math.MaxInt, 4, Options{Strategy: strategy}); !slices.Equal(placeless(got.Hits), placeless(want.Hits)) || len(got.Hits) < n/10 {
			t.Errorf("strategy %q: %d within 4, want %d", strategy, len(got.Hits), len(want.Hits))
		}
	}
}

// TestDeletedItemsMatchNoFilter deletes so few items that their segment stays.
func TestDeletedItemsMatchNoFilter(t *testing.T) {
	x, b := New(8, hamming.Fingerprint{}, Config{}), NewBatch(8)
	for i := range 12 {
		b.Append(Item{ID: Int(int64(i)), Code: []uint64{0}, Label: []string{"a", "b"}[i%2]})
	}
	if err := x.Add(ctx, b); err != nil {
		t.Fatal(err)
	}
	if n, err := x.Delete(ctx, Int(0), Int(1), Int(2)); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	s := x.Snapshot()
	for filter, want := range map[string]int{"": 9, `label = "a"`: 4, `not label = "a"`: 5, "has id": 9, "id < 4": 1} {
		f, err := Parse(filter)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.one([]uint64{0}, 12, math.MaxInt, Options{Filter: f})
		if err != nil || len(got.Hits) != want || s.Count(f) != want {
			t.Errorf("%q: %d found, %d counted, want %d; error %v", filter, len(got.Hits), s.Count(f), want, err)
		}
	}
}

// TestSnapshotsStayAsTheyAre searches while another goroutine writes.
func TestSnapshotsStayAsTheyAre(t *testing.T) {
	width := 64
	x := New(width, hamming.Fingerprint{}, Config{Tables: 2})
	centres := randomCodes(5, width, 1)
	var wait sync.WaitGroup
	stop := make(chan struct{})
	for g := range 3 { // readers: one snapshot answers the same twice, and no id is there twice
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
				a, err := s.one(q, math.MaxInt, width, Options{})
				b, _ := s.one(q, s.Len(), math.MaxInt, Options{Strategy: Scan})
				if err != nil || len(a.Hits) != s.Len() || !slices.Equal(a.Hits, b.Hits) {
					t.Errorf("%d and %d hits of %d items: %v", len(a.Hits), len(b.Hits), s.Len(), err)
					return
				}
			}
		}()
	}
	rng := rand.New(rand.NewPCG(9, 9))
	for range 150 {
		change(t, rng, centres, x)
	}
	close(stop)
	wait.Wait()
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
	if n, err := x.DeleteWhere(ctx, Filter{}); n != 0 || err == nil {
		t.Errorf("a filter without a condition deleted %d: %v", n, err)
	}
	all, err := Parse("has id")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := x.DeleteWhere(ctx, all); n != 3000 || err != nil || len(x.Snapshot().views) != 0 {
		t.Errorf("deleted %d: %v", n, err)
	}
}
