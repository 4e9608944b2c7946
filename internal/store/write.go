package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sort"
	"strings"
	"syscall"

	bolt "go.etcd.io/bbolt"

	"hashgrove/internal/index"
	"hashgrove/internal/message"
)

// Add adds items with new ids: all of them, or none and an error. When it returns nil they are on disk.
func (s *Store) Add(ctx context.Context, b *index.Batch) error {
	_, err := s.put(ctx, b, false)
	return err
}

// Upsert adds items. Those whose ids exist get a new code and the label, tags and attributes in the batch; what the
// batch leaves out stays unchanged. If an id is in the batch twice, the last item counts. When it returns nil they are
// on disk.
func (s *Store) Upsert(ctx context.Context, b *index.Batch) error {
	_, err := s.put(ctx, b, true)
	return err
}

// Update changes labels, tags and attributes of existing items and returns how many it found; unknown ids are ignored.
// Codes stay the same. What the batch leaves out stays unchanged, but with replace an item keeps only the attributes in
// the batch. When it returns no error the changes are on disk.
func (s *Store) Update(ctx context.Context, b *index.Batch, replace bool) (int, error) {
	b = b.Details()
	if err := b.CheckDetails(); err != nil {
		return 0, err
	}
	e, err := newEdits(b, false)
	if err != nil {
		return 0, err
	}
	e.update, e.replace = true, replace
	return s.join(ctx, e, func(ctx context.Context) error {
		_, err := s.index.Update(ctx, b, replace)
		return err
	})
}

// put writes items and returns how many of them it replaced.
func (s *Store) put(ctx context.Context, b *index.Batch, replace bool) (int, error) {
	if err := s.opened.fingerprint.Accept(b.Fingerprint); err != nil {
		return 0, err
	}
	if err := b.Check(s.opened.bits); err != nil {
		return 0, err
	}
	x, err := newEdits(b, replace)
	if err != nil {
		return 0, err
	}
	return s.join(ctx, x, func(ctx context.Context) error {
		if replace {
			return s.index.Upsert(ctx, b)
		}
		return s.index.Add(ctx, b)
	})
}

// Delete removes items by id and returns how many it found. When it returns no error they are gone from disk.
func (s *Store) Delete(ctx context.Context, ids ...index.ID) (int, error) {
	ids = slices.Clone(ids)
	slices.SortFunc(ids, index.ID.Compare)
	ids = slices.Compact(ids)
	return s.join(ctx, &edits{ids: ids}, s.forget(ids))
}

// DeleteWhere removes the items that match the filter and returns their number. A filter without a condition is
// refused.
func (s *Store) DeleteWhere(ctx context.Context, f index.Filter) (int, error) {
	if err := f.CheckDeletion(); err != nil {
		return 0, err
	}
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
	matches, err := x.Matches(f)
	if err != nil {
		return 0, err
	}
	ids := make([]index.ID, len(matches))
	for i, h := range matches {
		ids[i] = h.ID
	}
	w := &pending{ctx: ctx, edits: &edits{ids: ids}, publish: s.forget(ids)}
	s.update(ctx, w)
	return w.changed, w.err
}

// forget returns a function that removes items from memory.
func (s *Store) forget(ids []index.ID) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := s.index.Delete(ctx, ids...)
		return err
	}
}

// writable returns an error if nothing can be written. The caller holds the write lock.
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
		return fmt.Errorf("%w: it was opened read-only", ErrReadOnly)
	case s.degraded != "":
		return fmt.Errorf("%w: %s", ErrReadOnly, s.degraded)
	}
	return nil
}

// afterFailure decides which state a failed write leaves the store in.
func (s *Store) afterFailure(err error, tx *bolt.Tx, committing bool, before uint64) error {
	if p := new(panicError); errors.As(err, &p) {
		// Rolling back releases bbolt's locks. If that fails too, closing the file would wait for them.
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
	return fmt.Errorf("this write was not stored; everything before it is safe: %w", withRoom(err))
}

// withRoom explains what helps if the disk is full, which is not what people try first.
func withRoom(err error) error {
	full := []error{syscall.ENOSPC, syscall.EDQUOT}
	if runtime.GOOS == "windows" {
		full = []error{syscall.Errno(112)} // ERROR_DISK_FULL
	}
	for _, e := range full {
		if strings.Contains(err.Error(), e.Error()) && !errors.Is(err, e) {
			err = e // where bbolt cannot make a file longer, it passes on the text alone
		}
		if errors.Is(err, e) {
			return message.New("disk-full", "%w: free space on the disk first, because deleting items also writes pages "+
				"and compacting needs space for a second file", err)
		}
	}
	return err
}

func (s *Store) degrade(why string, stuck bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.degraded, s.stuck = why, stuck
}

// edits are items of a batch to put, or ids to remove, ascending and without repetitions.
type edits struct {
	ids []index.ID

	batch   *index.Batch // nil means remove
	rows    []int        // of the batch, one per id
	update  bool         // only existing items, whose codes stay
	replace bool         // replace existing items or, in an update, their attributes

	texts        records
	code, record []byte
}

// stored is an item on disk.
type stored struct{ code, record []byte }

// item returns the code and record to put, given the existing item with that id, or nil. If put is false, the existing
// item is removed.
func (e *edits) item(i int, old *stored) (code, record []byte, put bool, err error) {
	if e.batch == nil || e.update && old == nil {
		return nil, nil, false, nil
	}
	r := e.rows[i]
	if old != nil && !e.replace && !e.update {
		return nil, nil, false, message.New("duplicate-id",
			"item %d: the id %q is already in the index: leave it out, or replace it",
			r, e.ids[i].Short())
	}
	it := e.batch.Item(r)
	if old != nil && len(old.record) > 0 {
		before := index.Item{ID: it.ID}
		if err := e.texts.parse(old.record, &before); err != nil {
			return nil, nil, false, err
		}
		it = it.Completed(before, e.update && e.replace)
		if n := len(it.Attributes); n > index.MaxAttributes {
			return nil, nil, false, message.New("too-many-attributes", "item %d (id %q): %d attributes with those it has, "+
				"and at most %d are allowed", r, it.ID.Short(), n, index.MaxAttributes)
		}
	}
	if e.record = appendRecord(e.record[:0], it); e.update {
		return old.code, e.record, true, nil
	}
	e.code = e.batch.Codes.AppendBytes(e.code[:0], r)
	return e.code, e.record, true, nil
}

// newEdits returns edits that put the items of a batch.
func newEdits(b *index.Batch, replace bool) (*edits, error) {
	rows, err := b.Order(replace)
	if err != nil {
		return nil, err
	}
	e := &edits{batch: b, rows: rows, replace: replace, ids: make([]index.ID, len(rows))}
	for i, r := range rows {
		e.ids[i] = b.IDs[r]
		if n := len(e.ids[i].String()); n > maxID { // integers are short
			return nil, fmt.Errorf("item %d: an id of %d bytes: at most %d are allowed", r, n, maxID)
		}
	}
	return e, nil
}

// change is a write in progress: the blocks of a transaction and its state.
type change struct {
	state
	items   *bolt.Bucket
	size    int // bytes of a code
	added   int // items that were put
	removed int // items removed or replaced
}

// group is the edits that belong to one block.
type group struct {
	key, value []byte // of the block, nil if it is new
	lo, hi     int    // of the edits
	last       bool   // no block follows
}

// apply makes the edits block by block. It assigns edits to blocks before changing the first, because bbolt's cursors
// do not follow changes.
func (c *change) apply(ctx context.Context, e *edits) error {
	groups, err := c.groups(e)
	if err != nil {
		return err
	}
	for i, g := range groups {
		if i%256 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if g.hi-g.lo > 1<<10 {
			c.items.FillPercent = 1 // many new blocks in a row, so leave no spare space in pages
		}
		if err := c.merge(ctx, e, g); err != nil {
			return err
		}
	}
	if c.state.items > index.MaxItems {
		return fmt.Errorf("%d items: at most %d are allowed", c.state.items, index.MaxItems)
	}
	c.writes++
	return nil
}

// blockOf returns the block for an id: the last one that begins at or before its key, or the first.
func blockOf(cursor *bolt.Cursor, key []byte) (k, v []byte) {
	if first, _ := cursor.First(); first == nil || bytes.Compare(key, first) < 0 {
		return cursor.First()
	}
	if k, v = cursor.Seek(key); k == nil {
		return cursor.Last()
	}
	if !bytes.Equal(k, key) { // there is one before it, maybe behind pages that this transaction emptied
		for k, v = cursor.Prev(); k == nil; {
			k, v = cursor.Prev()
		}
	}
	return k, v
}

// groups assigns edits to blocks.
func (c *change) groups(e *edits) ([]group, error) {
	var groups []group
	var key []byte
	cursor := c.items.Cursor()
	for i := 0; i < len(e.ids); {
		key = appendKey(key[:0], e.ids[i])
		if len(key) > maxKey {
			key = key[:maxKey] // too long to exist; newEdits reports it
		}
		k, v := blockOf(cursor, key)
		g := group{key: k, value: v, lo: i, hi: len(e.ids)}
		var next []byte
		if k != nil {
			next, _ = cursor.Next()
		}
		if next == nil {
			g.last = true
		} else {
			id, err := parseKey(next)
			if err != nil {
				return nil, err
			}
			g.hi = i + sort.Search(len(e.ids)-i, func(j int) bool { return e.ids[i+j].Compare(id) >= 0 })
		}
		groups = append(groups, g)
		i = g.hi
	}
	return groups, nil
}

// merge rewrites a block with its edits applied.
func (c *change) merge(ctx context.Context, e *edits, g group) error {
	old := block{size: c.size}
	if g.key != nil {
		sum, err := old.unseal(g.key, g.value)
		if err != nil {
			return err
		}
		c.blocks--
		c.sum -= uint64(sum)
	}
	kept := false // the key of the old block has a new value
	p := packer{limit: c.limit(e, g, old.ids, len(g.value)), put: func(key, value []byte, sum uint32) error {
		kept = kept || bytes.Equal(key, g.key)
		c.blocks++
		c.sum += uint64(sum)
		return c.items.Put(key, value)
	}}
	had, i := len(old.ids), 0
	for j := g.lo; j < g.hi; j++ {
		if (j-g.lo)%(1<<16) == 1<<16-1 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		id := e.ids[j]
		for i < had && old.ids[i].Compare(id) < 0 {
			if err := p.add(old.ids[i], old.code(i), old.record(i)); err != nil {
				return err
			}
			i++
		}
		var there *stored
		if i < had && old.ids[i] == id {
			there = &stored{old.code(i), old.record(i)}
			i++
			c.removed++
			c.state.items--
		}
		code, record, put, err := e.item(j, there)
		if err != nil {
			return err
		}
		if put {
			c.added++
			c.state.items++
			if err := p.add(id, code, record); err != nil {
				return err
			}
		}
	}
	for ; i < had; i++ {
		if err := p.add(old.ids[i], old.code(i), old.record(i)); err != nil {
			return err
		}
	}
	if err := p.flush(); err != nil {
		return err
	}
	if g.key != nil && !kept {
		return c.items.Delete(g.key)
	}
	return nil
}

// limit returns the size of the new blocks. A block that a few items make too large is split in half, so that both have
// room; but if items are appended at the end, as they often are, the blocks before them stay full.
func (c *change) limit(e *edits, g group, old []index.ID, size int) int {
	appends := g.last && len(old) > 0 && e.ids[g.lo].Compare(old[len(old)-1]) > 0
	if len(old) == 0 || appends || g.hi-g.lo > blockLimit/c.size {
		return blockLimit
	}
	for i := g.lo; i < g.hi; i++ {
		code, record, _, err := e.item(i, nil)
		if err != nil {
			return blockLimit // it will be reported later
		}
		size += len(code) + len(record) + 2
	}
	if size <= blockLimit || size > 2*blockLimit {
		return blockLimit
	}
	return size/2 + c.size
}
