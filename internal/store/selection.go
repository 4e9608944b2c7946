package store

import (
	"context"
	"slices"

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
	return index.Collect(n, c.bits, c.fingerprint, f, func(take func(index.Part) error) error {
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
}

// find reads items by id from disk. If one is missing, it reads all items, to know whether it does not exist or a
// damaged page hides it.
func (s *Store) find(ctx context.Context, ids []index.ID) (map[index.ID]index.Item, error) {
	s.write.Lock()
	defer s.write.Unlock()
	c, err := s.contents()
	if err != nil {
		return nil, withPath(s.path, err)
	}
	ids = slices.Clone(ids)
	slices.SortFunc(ids, index.ID.Compare)
	ids = slices.Compact(ids)
	found := make(map[index.ID]index.Item, len(ids))
	var texts records
	for _, id := range ids {
		c.pages.only = append(c.pages.only, appendKey(nil, id))
	}
	err = c.eachBlock(ctx, func(b *block, _ uint32) error {
		if err := b.unpack(); err != nil {
			return err
		}
		for i, id := range b.ids {
			if _, ok := slices.BinarySearchFunc(ids, id, index.ID.Compare); !ok {
				continue
			}
			it := index.Item{ID: id, Code: slices.Clone(b.words.Row(i))}
			if err := texts.parse(b.record(i), &it); err != nil {
				return err
			}
			slices.Sort(it.Tags) // as in an index in memory
			it.Tags = slices.Compact(it.Tags)
			found[id] = it
		}
		return nil
	})
	if err == nil && len(found) < len(ids) {
		if c, err = s.contents(); err == nil {
			err = c.readItems(ctx, nil)
		}
	}
	return found, withPath(s.path, err)
}

// contents reads the file's current head and state. The caller holds the write lock.
func (s *Store) contents() (*contents, error) {
	if s.file == nil {
		return nil, ErrClosed
	}
	return s.file.contents()
}
