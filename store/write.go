package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"

	"hashgrove/index"
)

// Add adds items whose ids are new: all of them, or none and an error. When it returns nil they are on disk.
func (s *Store) Add(ctx context.Context, b *index.Batch) error { return s.put(ctx, b, false) }

// Upsert adds items, replacing those whose ids are there; of an id that is in the batch twice the last item counts.
// When it returns nil they are on disk.
func (s *Store) Upsert(ctx context.Context, b *index.Batch) error { return s.put(ctx, b, true) }

func (s *Store) put(ctx context.Context, b *index.Batch, replace bool) error {
	if err := s.opened.fingerprint.Accept(b.Fingerprint); err != nil {
		return err
	}
	if err := b.Check(s.opened.bits); err != nil {
		return err
	}
	x, err := newEdits(b, replace)
	if err != nil {
		return err
	}
	s.write.Lock()
	defer s.write.Unlock()
	_, err = s.update(ctx, x, func(ctx context.Context) error {
		if replace {
			return s.index.Upsert(ctx, b)
		}
		return s.index.Add(ctx, b)
	})
	return err
}

// Delete removes items by id and returns how many were there. When it returns no error they are gone from disk.
func (s *Store) Delete(ctx context.Context, ids ...index.ID) (int, error) {
	ids = slices.Clone(ids)
	slices.SortFunc(ids, index.ID.Compare)
	ids = slices.Compact(ids)
	s.write.Lock()
	defer s.write.Unlock()
	return s.remove(ctx, ids)
}

// DeleteWhere removes the items that match the filter and returns how many there were.
func (s *Store) DeleteWhere(ctx context.Context, f index.Filter) (int, error) {
	s.write.Lock()
	defer s.write.Unlock()
	if err := s.writable(); err != nil {
		return 0, err
	}
	var x *index.Snapshot
	var err error
	if s.index != nil {
		x = s.index.Snapshot()
	} else if x, err = s.readSnapshot(ctx, f, nil); err != nil {
		return 0, withPath(s.path, err)
	}
	// Everything is within this radius.
	bits := s.opened.bits
	all, err := x.Within(ctx, make([]uint64, (bits+63)/64), bits, index.Options{Filter: f})
	if err != nil {
		return 0, err
	}
	ids := make([]index.ID, len(all.Hits))
	for i, h := range all.Hits {
		ids[i] = h.ID
	}
	slices.SortFunc(ids, index.ID.Compare)
	return s.remove(ctx, ids)
}

// remove removes items by their ids, which ascend.
func (s *Store) remove(ctx context.Context, ids []index.ID) (int, error) {
	return s.update(ctx, &edits{ids: ids}, func(ctx context.Context) error {
		_, err := s.index.Delete(ctx, ids...)
		return err
	})
}

// writable says why nothing can be written. The caller holds the lock of writers.
func (s *Store) writable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil && !s.readOnly && s.degraded == "" && !s.file.isAt(s.real) {
		s.degraded = "another file, or none, has its place at " + s.path
	}
	switch {
	case s.file == nil:
		return ErrClosed
	case s.readOnly:
		return fmt.Errorf("%w: it was opened to be read", ErrReadOnly)
	case s.degraded != "":
		return fmt.Errorf("%w: %s", ErrReadOnly, s.degraded)
	}
	return nil
}

// update makes edits on disk and then, where there is an index in memory, publishes them there. It returns the number
// of items that are gone or were replaced. The caller holds the lock of writers.
//
// A write that fails changes nothing, and the next one may succeed. There are exceptions, after which the index can be
// read but not written until it is opened again: when bbolt wrote the header of a transaction but could not sync it,
// nobody knows which of the two states the disk has; when bbolt panicked, nobody knows what it holds; and what is
// written to a file that lost its name is lost with it.
func (s *Store) update(ctx context.Context, e *edits, publish func(context.Context) error) (int, error) {
	if err := s.writable(); err != nil {
		return 0, err
	}
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if len(e.ids) == 0 {
		return 0, nil
	}
	c := change{state: s.state, size: (s.opened.bits + 7) / 8}
	before, committing := uint64(0), false
	s.file.allocate()
	var tx *bolt.Tx
	err := guard(func() (err error) {
		if tx, err = s.file.Begin(true); err != nil {
			return err
		}
		before = uint64(tx.ID()) - 1
		c.items = tx.Bucket(itemBucket)
		err = c.apply(ctx, e)
		if err == nil && c.added+c.removed > 0 {
			err = tx.Bucket(infoBucket).Put(stateKey, c.state.value())
		}
		if err != nil || c.added+c.removed == 0 {
			return errors.Join(err, tx.Rollback())
		}
		committing = true
		return s.commit(tx)
	})
	switch {
	case err != nil:
		return 0, s.afterFailure(err, tx, committing, before)
	case !committing:
		return 0, nil
	}
	s.mu.Lock()
	s.state, s.dirty = c.state, true
	s.mu.Unlock()
	if s.index == nil {
		return c.removed, nil
	}
	// The disk has it, so memory must have it too, even when the caller no longer waits.
	if err := publish(context.WithoutCancel(ctx)); err != nil {
		s.degrade("a write is on disk but not in memory: "+err.Error(), false)
		return c.removed, fmt.Errorf("the write is on disk, but the index in memory did not take it: %w: "+
			"open the index again", err)
	}
	return c.removed, nil
}

// afterFailure decides what a write that failed leaves behind.
func (s *Store) afterFailure(err error, tx *bolt.Tx, committing bool, before uint64) error {
	if p := new(panicError); errors.As(err, &p) {
		// Rolling back opens bbolt's locks. When it fails too, closing the file would wait for them.
		stuck := tx == nil || guard(tx.Rollback) != nil
		s.degrade("the file could not be used: "+err.Error(), stuck)
		return fmt.Errorf("%w: the index can still be searched; "+
			"verify the file, and open it again or restore a backup", err)
	}
	if !committing {
		return err
	}
	if now, e := s.file.txid(); e != nil || now != before {
		s.degrade("a write was not synced and may or may not be on disk: "+err.Error(), false)
		return fmt.Errorf("this write may or may not be on disk: %w: "+
			"the index can still be searched; open it again to write", err)
	}
	return fmt.Errorf("nothing of this write was kept, and all before it is safe: %w", err)
}

func (s *Store) degrade(why string, stuck bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.degraded, s.stuck = why, stuck
}
