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

	"hashgrove/internal/fault"
	"hashgrove/internal/index"
)

// one is a batch of one item.
func one(id string, code uint64, label string) *index.Batch {
	b := index.NewBatch(64)
	b.Append(index.Item{ID: index.Text(id), Code: []uint64{code}, Label: label})
	return b
}

// holdCommits makes the first commit of a store wait until release is called. It counts all of them.
func holdCommits(s *Store) (commits *atomic.Int64, release func()) {
	commits, held := new(atomic.Int64), make(chan struct{})
	s.commit = func(tx *bolt.Tx) error {
		if commits.Add(1) == 1 {
			<-held
		}
		return tx.Commit()
	}
	return commits, func() { close(held) }
}

// TestWritesAreGrouped makes many writes at once: few transactions take all of them, and each has its own outcome.
func TestWritesAreGrouped(t *testing.T) {
	s, path := create(t, Options{Bits: 64})
	ok(t, s.Add(ctx, one("there", 1, "")))
	commits, release := holdCommits(s)
	const writers = 60
	errs, counts := make([]error, writers), make([]int, writers)
	var all sync.WaitGroup
	write := func(i int) {
		id := fmt.Sprintf("item-%02d", i)
		switch i % 4 {
		case 0, 1:
			errs[i] = s.Upsert(ctx, one(id, uint64(i), "put"))
		case 2:
			errs[i] = s.Add(ctx, one("there", uint64(i), "")) // exists already
		default:
			counts[i], errs[i] = s.Delete(ctx, index.Text("there"), index.Text("nowhere"))
		}
	}
	all.Go(func() { errs[0] = s.Upsert(ctx, one("item-00", 0, "put")) })
	for commits.Load() == 0 { // the first holds the lock now
	}
	gone, cancel := context.WithCancel(ctx)
	var late error
	all.Go(func() { late = s.Upsert(gone, one("late", 7, "")) })
	for i := 1; i < writers; i++ {
		all.Go(func() { write(i) })
	}
	for n := 0; n < writers; n = waitingWrites(s) {
	}
	cancel()
	release()
	all.Wait()
	if !errors.Is(late, context.Canceled) {
		t.Errorf("a write that nobody waits for any more: %v", late)
	}
	removed, refused := 0, 0
	for i := range writers {
		switch i % 4 {
		case 2:
			if fault.Is(errs[i], "duplicate-id") {
				refused++
			} else if errs[i] != nil {
				t.Errorf("add %d: %v", i, errs[i])
			}
		default:
			ok(t, errs[i])
			removed += counts[i]
		}
	}
	if adds := writers/4 - refused; removed != adds+1 && removed != adds {
		t.Errorf("%d additions were made and %d refused, and %d were removed", adds, refused, removed)
	}
	ok(t, s.Close())
	x := open(t, path, OpenOptions{}).Snapshot()
	for i := range writers {
		item, found := x.Get(index.Text(fmt.Sprintf("item-%02d", i)))
		if want := i%4 < 2; found != want || found && item.Code[0] != uint64(i) {
			t.Errorf("item %d: found %v", i, found)
		}
	}
	if _, found := x.Get(index.Text("late")); found {
		t.Error("the write that was cancelled is there")
	}
}

func waitingWrites(s *Store) int {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return len(s.queue.waiting)
}

// TestGroupsTakeFewSyncs counts transactions if all writes can be grouped.
func TestGroupsTakeFewSyncs(t *testing.T) {
	s, _ := create(t, Options{Bits: 64})
	commits, release := holdCommits(s)
	var all sync.WaitGroup
	all.Go(func() { ok(t, s.Upsert(ctx, one("first", 0, ""))) })
	for commits.Load() == 0 {
	}
	const writers = 100
	for i := range writers {
		all.Go(func() { ok(t, s.Upsert(ctx, one(fmt.Sprint("n", i%50), uint64(i), ""))) })
	}
	for waitingWrites(s) < writers {
	}
	release()
	all.Wait()
	if i := s.Info(); i.Syncs != 2 || i.Writes != writers+1 || i.SyncTime <= 0 {
		t.Errorf("%d writes, %d syncs in %v", i.Writes, i.Syncs, i.SyncTime)
	}
	if n := commits.Load(); n != 2 {
		t.Errorf("%d transactions for a write and %d that came meanwhile", n, writers)
	}
	if n := s.Snapshot().Len(); n != 51 {
		t.Errorf("%d items", n)
	}
}

// TestGroupedWritesEqualSingleOnes makes the same random writes in groups and one after the other.
func TestGroupedWritesEqualSingleOnes(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 3))
		single, _ := create(t, Options{Bits: 64})
		grouped, path := create(t, Options{Bits: 64})
		for range 12 {
			var group []*pending
			for range 1 + r.IntN(8) {
				id := fmt.Sprint("i", r.IntN(30))
				if r.IntN(3) == 0 {
					_, err := single.Delete(ctx, index.Text(id))
					ok(t, err)
					ids := []index.ID{index.Text(id)}
					group = append(group, &pending{ctx: ctx, edits: &edits{ids: ids}, publish: grouped.forget(ids)})
					continue
				}
				b := one(id, r.Uint64(), strings.Repeat("x", r.IntN(900)))
				ok(t, single.Upsert(ctx, b))
				e, err := newEdits(b, true)
				ok(t, err)
				group = append(group, &pending{ctx: ctx, edits: e,
					publish: func(ctx context.Context) error { return grouped.index.Upsert(ctx, b) }})
			}
			grouped.write.Lock()
			grouped.commitGroup(group)
			grouped.write.Unlock()
			for _, w := range group {
				ok(t, w.err)
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
