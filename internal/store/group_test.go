package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	bolt "go.etcd.io/bbolt"

	"hashgrove/internal/index"
	"hashgrove/internal/message"
)

// one is a batch of one item.
func one(id string, code uint64, label string) *index.Batch {
	b := index.NewBatch(64)
	b.Append(index.Item{ID: index.Text(id), Code: []uint64{code}, Label: label})
	return b
}

// writeTogether makes writes while another one is being synced, calls meanwhile when all of them wait, and returns the
// number of transactions.
func writeTogether(t *testing.T, s *Store, writers int, write func(i int), meanwhile func()) int64 {
	var commits atomic.Int64
	held := make(chan struct{})
	s.commit = func(tx *bolt.Tx) error {
		if commits.Add(1) == 1 {
			<-held
		}
		return tx.Commit()
	}
	var all sync.WaitGroup
	all.Go(func() { ok(t, s.Upsert(ctx, one("first", 0, ""))) })
	for commits.Load() == 0 {
	}
	for i := range writers {
		all.Go(func() { write(i) })
	}
	for n := 0; n < writers; {
		s.queue.mu.Lock()
		n = len(s.queue.waiting)
		s.queue.mu.Unlock()
	}
	meanwhile()
	close(held)
	all.Wait()
	return commits.Load()
}

// TestWritesAreGrouped: one transaction takes all writes that arrive during another.
func TestWritesAreGrouped(t *testing.T) {
	s, _ := create(t, Options{Bits: 64})
	commits := writeTogether(t, s, 100, func(i int) { ok(t, s.Upsert(ctx, one(fmt.Sprint("n", i%50), uint64(i), ""))) }, func() {})
	if i := s.Info(); i.Syncs != 2 || commits != 2 || i.Writes != 101 || i.SyncTime <= 0 || s.Snapshot().Len() != 51 {
		t.Errorf("%d writes, %d syncs in %v, %d items", i.Writes, commits, i.SyncTime, i.Items)
	}
}

// TestGroupsEnd where one more write would make them too large; a larger one has a transaction of its own.
func TestGroupsEnd(t *testing.T) {
	q := new(queue)
	for _, n := range []int{maxGroup - 1, 1, 1, 2 * maxGroup, 1} {
		q.add(&pending{edits: &edits{ids: make([]index.ID, n)}})
	}
	for i, want := range []int{2, 1, 1, 1} {
		if got := len(q.take()); got != want {
			t.Errorf("transaction %d takes %d writes, want %d", i, got, want)
		}
	}
}

// TestCommittedWritesAreSearched: a client that hangs up after the commit leaves an index in memory that matches the disk.
func TestCommittedWritesAreSearched(t *testing.T) {
	s, _ := create(t, Options{Bits: 64})
	hangUp, cancel := context.WithCancel(ctx)
	s.commit = func(tx *bolt.Tx) error {
		defer cancel()
		return tx.Commit()
	}
	ok(t, s.Upsert(hangUp, one("late", 7, "")))
	if _, there := s.Snapshot().Get(index.Text("late")); !there || s.Info().Degraded != "" {
		t.Errorf("found: %t; degraded: %q", there, s.Info().Degraded)
	}
	ok(t, s.Upsert(ctx, one("next", 8, "")))
}

// TestGroupsKeepOutcomesApart: writes that are refused or given up leave the others alone.
func TestGroupsKeepOutcomesApart(t *testing.T) {
	s, path := create(t, Options{Bits: 64})
	ok(t, s.Add(ctx, one("there", 1, "")))
	gone, cancel := context.WithCancel(ctx)
	const writers = 60
	errs := make([]error, writers)
	writeTogether(t, s, writers, func(i int) {
		id := fmt.Sprint("item ", i)
		switch i % 3 {
		case 0:
			errs[i] = s.Upsert(ctx, one(id, uint64(i), "put"))
		case 1:
			errs[i] = s.Add(ctx, one("there", uint64(i), ""))
		default:
			errs[i] = s.Upsert(gone, one(id, uint64(i), "late"))
		}
	}, cancel)
	ok(t, s.Close())
	x := open(t, path, OpenOptions{}).Snapshot()
	for i, err := range errs {
		item, found := x.Get(index.Text(fmt.Sprint("item ", i)))
		if found != (i%3 == 0) || found && item.Code[0] != uint64(i) {
			t.Errorf("item %d: found %t", i, found)
		}
		if good := []bool{err == nil, message.Is(err, "duplicate-id"), errors.Is(err, context.Canceled)}; !good[i%3] {
			t.Errorf("write %d: %v", i, err)
		}
	}
}

// TestWritesAfterDeletions: a write lands in its place although one before it, in the same transaction, emptied the
// pages there.
func TestWritesAfterDeletions(t *testing.T) {
	b := index.NewBatch(64)
	for i := range 20_000 {
		b.Append(index.Item{ID: index.Int(int64(10 * i)), Code: []uint64{uint64(i)}})
	}
	for _, at := range []int64{50_005, 99_995, 149_985, 149_995} {
		s, path := create(t, Options{Bits: 64, Items: b, Index: index.Config{Tables: -1}})
		w := expected{}
		w.put(b)
		var gone []index.ID
		for i := int64(50_000); i < 150_000; i += 10 {
			gone = append(gone, index.Int(i))
			delete(w, index.Int(i))
		}
		more := one(fmt.Sprint(at), 7, "new")
		w.put(more)
		e, err := newEdits(more, true)
		ok(t, err)
		s.write.Lock()
		s.commitGroup([]*pending{
			{ctx: ctx, edits: &edits{ids: gone}, publish: s.forget(gone)},
			{ctx: ctx, edits: e, publish: func(ctx context.Context) error { return s.index.Upsert(ctx, more) }},
		})
		s.write.Unlock()
		w.has(t, s)
		ok(t, s.Close())
		w.has(t, open(t, path, OpenOptions{Index: index.Config{Tables: -1}}))
	}
}

// TestGroupedWritesEqualSingleOnes makes the same random writes in groups and in sequence.
func TestGroupedWritesEqualSingleOnes(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 3))
		single, _ := create(t, Options{Bits: 64})
		grouped, path := create(t, Options{Bits: 64})
		for range 12 {
			var group []*pending
			var changed []int
			for range 1 + r.IntN(8) {
				id := fmt.Sprint("i", r.IntN(30))
				if r.IntN(3) == 0 {
					n, err := single.Delete(ctx, index.Text(id))
					ok(t, err)
					changed = append(changed, n)
					ids := []index.ID{index.Text(id)}
					group = append(group, &pending{ctx: ctx, edits: &edits{ids: ids}, publish: grouped.forget(ids)})
					continue
				}
				b := one(id, r.Uint64(), strings.Repeat("x", r.IntN(900)))
				n, err := single.put(ctx, b, true)
				ok(t, err)
				changed = append(changed, n)
				e, err := newEdits(b, true)
				ok(t, err)
				group = append(group, &pending{ctx: ctx, edits: e,
					publish: func(ctx context.Context) error { return grouped.index.Upsert(ctx, b) }})
			}
			grouped.write.Lock()
			grouped.commitGroup(group)
			grouped.write.Unlock()
			for i, w := range group {
				if ok(t, w.err); w.changed != changed[i] {
					t.Fatalf("seed %d: a write changed %d items, want %d", seed, w.changed, changed[i])
				}
			}
		}
		want, err := single.Snapshot().Matches(index.Filter{})
		ok(t, err)
		ok(t, single.Close())
		ok(t, grouped.Close())
		for _, x := range []*index.Snapshot{grouped.Snapshot(), open(t, path, OpenOptions{}).Snapshot()} {
			if x.Len() != len(want) {
				t.Fatalf("seed %d: %d items, want %d", seed, x.Len(), len(want))
			}
			for _, h := range want {
				a, found := x.Get(h.ID)
				if b := single.Snapshot().Item(h); !found || a.Code[0] != b.Code[0] || a.Label != b.Label {
					t.Fatalf("seed %d: item %v differs", seed, h.ID)
				}
			}
		}
	}
}
