package store

import (
	"bytes"
	"context"
	"errors"
	"slices"

	bolt "go.etcd.io/bbolt"

	"hashgrove/internal/index"
)

// Selection holds the items of an index for searches with one filter. If they are on disk, it has the ids and codes,
// and only those labels, tags and attributes that the filter uses.
type Selection struct {
	*index.Snapshot
	store *Store // nil if the snapshot has everything
}

// Select returns the current items, to be searched with the filter or with none. progress, which may be nil, gets the
// number of items read so far.
func (s *Store) Select(ctx context.Context, f index.Filter, progress func(done, total int)) (*Selection, error) {
	if s.index != nil {
		return &Selection{s.index.Snapshot(), nil}, nil
	}
	s.write.Lock()
	defer s.write.Unlock()
	x, err := s.readSnapshot(ctx, f, progress)
	if err != nil {
		return nil, withPath(s.path, err)
	}
	return &Selection{x, s}, nil
}

// Items returns the items of hits, in the same order.
func (x *Selection) Items(ctx context.Context, hits []index.Hit) ([]index.Item, error) {
	items := make([]index.Item, len(hits))
	if x.store == nil {
		for i, h := range hits {
			items[i] = x.Item(h)
		}
		return items, nil
	}
	ids := make([]index.ID, len(hits))
	for i, h := range hits {
		ids[i] = h.ID
	}
	found, err := x.store.find(ctx, ids)
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		it, ok := found[id]
		if !ok {
			return nil, withPath(x.store.path, damaged("the item %s existed but cannot be found", id.Short()))
		}
		items[i] = it
	}
	return items, nil
}

// Get returns an item by id, and whether it exists.
func (s *Store) Get(ctx context.Context, id index.ID) (index.Item, bool, error) {
	if s.index != nil {
		it, ok := s.index.Snapshot().Get(id)
		return it, ok, nil
	}
	found, err := s.find(ctx, []index.ID{id})
	it, ok := found[id]
	return it, ok, err
}

// readSnapshot reads all items from disk. The caller holds the write lock.
func (s *Store) readSnapshot(
	ctx context.Context, f index.Filter, progress func(done, total int),
) (*index.Snapshot, error) {
	c, err := s.contents()
	if err != nil {
		return nil, err
	}
	var texts records
	n, read, told := int(c.items), 0, 0
	x, err := index.Collect(n, c.bits, c.fingerprint, f, func(take func(index.Part) error) error {
		return c.readItems(ctx, func(b *block) error {
			details := func(i int, it *index.Item) error { return texts.parse(b.record(i), it) }
			if err := take(index.Part{IDs: b.ids, Codes: b.codes, Read: details}); err != nil {
				return asDamage(err)
			}
			if read += len(b.ids); progress != nil && read-told >= 1<<16 {
				told = read
				progress(read, n)
			}
			return nil
		})
	})
	s.checked = s.checked || err == nil
	return x, err
}

// find reads items by id from disk. Before the first, all items are read and checked, so that bbolt can be trusted with
// their pages and what it does not find does not exist.
func (s *Store) find(ctx context.Context, ids []index.ID) (map[index.ID]index.Item, error) {
	s.write.Lock()
	defer s.write.Unlock()
	if s.file == nil {
		return nil, ErrClosed
	}
	if !s.checked {
		if _, err := s.readSnapshot(ctx, index.Filter{}, nil); err != nil {
			return nil, withPath(s.path, err)
		}
	}
	found := make(map[index.ID]index.Item, len(ids))
	err := guard(func() error {
		tx, err := s.file.Begin(false)
		if err != nil {
			return err
		}
		return errors.Join(s.opened.findIn(ctx, tx, ids, found), tx.Rollback())
	})
	return found, withPath(s.path, err)
}

// findIn adds the items with some ids.
func (c *contents) findIn(ctx context.Context, tx *bolt.Tx, ids []index.ID, found map[index.ID]index.Item) error {
	var texts records
	b, cursor := c.newBlock(), tx.Bucket(itemBucket).Cursor()
	for _, id := range slices.SortedFunc(slices.Values(ids), index.ID.Compare) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		key, value := blockOf(cursor, appendKey(nil, id))
		if key == nil {
			return nil
		}
		if len(b.ids) == 0 || !bytes.Equal(key, appendKey(nil, b.ids[0])) {
			if _, err := b.unseal(key, value); err != nil {
				return err
			}
		}
		i, there := slices.BinarySearchFunc(b.ids, id, index.ID.Compare)
		if !there {
			continue
		}
		it := index.Item{ID: id}
		err := errors.Join(b.unpack(), texts.parse(b.record(i), &it))
		if err != nil {
			return err
		}
		it.Code = slices.Clone(b.words.Row(i))
		slices.Sort(it.Tags) // as in an index in memory
		it.Tags = slices.Compact(it.Tags)
		found[id] = it
	}
	return nil
}

// contents reads the file's current head and state. The caller holds the write lock.
func (s *Store) contents() (*contents, error) {
	if s.file == nil {
		return nil, ErrClosed
	}
	return s.file.contents()
}
