package store

import (
	"context"
	"fmt"
	"slices"

	"hashgrove/internal/index"
)

// Pass selects items of a store to read in order of their ids.
type Pass struct {
	Filter index.Filter
	First  int // number of items to skip
	Most   int // number of items to look at, matching or not; 0 means all
}

// passItems is the number of items passed on at a time.
const passItems = 4096

// Each reads items from disk and passes them to take, some at a time. As in searches, a filter that cannot mean what it
// says is an *index.FilterError.
func (s *Store) Each(ctx context.Context, p Pass, take func(*index.Batch) error) error {
	if _, filters := p.Filter.Condition(); filters {
		if err := s.checkFilter(ctx, p.Filter); err != nil {
			return err
		}
	}
	n := 0
	return s.eachItem(ctx, func(b *index.Batch) error {
		first, end := min(max(p.First-n, 0), len(b.IDs)), len(b.IDs)
		if p.Most > 0 {
			end = max(min(p.First+p.Most-n, end), first)
		}
		n += len(b.IDs)
		if first == end {
			return nil
		}
		rows := b.Matches(p.Filter)
		if len(rows) == end-first && len(rows) == len(b.IDs) {
			return take(b)
		}
		kept := newBatchLike(b)
		for _, r := range rows {
			if r >= first && r < end {
				kept.Append(b.Item(r))
			}
		}
		if len(kept.IDs) == 0 {
			return nil
		}
		return take(kept)
	})
}

// newBatchLike returns an empty batch for codes of the same length.
func newBatchLike(b *index.Batch) *index.Batch {
	like := index.NewBatch(b.Codes.Bits)
	like.Fingerprint = b.Fingerprint
	return like
}

// eachItem reads all items from disk.
func (s *Store) eachItem(ctx context.Context, take func(*index.Batch) error) error {
	s.write.Lock()
	defer s.write.Unlock()
	c, err := s.contents()
	if err != nil {
		return withPath(s.path, err)
	}
	var texts records
	var taken error // an error of take, not of this file
	b := index.NewBatch(c.bits)
	b.Fingerprint = c.fingerprint
	send := func() error {
		full := b
		b = newBatchLike(full)
		taken = take(full)
		return taken
	}
	err = c.readItems(ctx, func(read *block) error {
		have := len(b.Tags)
		if err := read.appendTo(b, &texts); err != nil {
			return err
		}
		for i := have; i < len(b.Tags); i++ { // as in an index in memory
			slices.Sort(b.Tags[i])
			b.Tags[i] = slices.Compact(b.Tags[i])
		}
		if len(b.IDs) < passItems {
			return nil
		}
		return send()
	}, nil)
	if err == nil && len(b.IDs) > 0 {
		err = send()
	}
	if taken != nil {
		return taken
	}
	return withPath(s.path, err)
}

// checkFilter checks a filter against all items. It keeps one item for every name and kind of value: these few reject
// the same filters as all items.
func (s *Store) checkFilter(ctx context.Context, f index.Filter) error {
	seen := map[string]bool{}
	var few *index.Batch
	err := s.eachItem(ctx, func(b *index.Batch) error {
		if few == nil {
			few = newBatchLike(b)
		}
		for i, id := range b.IDs {
			it, count := b.Item(i), len(seen)
			_, integer := id.Integer()
			seen[fmt.Sprintf("id %v", integer)] = true
			if it.Label != "" {
				seen["label"] = true
			}
			if len(it.Tags) > 0 {
				seen["tag"] = true
			}
			for name, v := range it.Attributes {
				seen[fmt.Sprintf("%d %s", v.Kind(), name)] = true
			}
			if len(seen) > count {
				few.Append(it)
			}
		}
		return nil
	})
	if err != nil || few == nil {
		return err
	}
	x := index.New(few.Codes.Bits, few.Fingerprint, index.Config{Tables: -1})
	if err := x.Add(ctx, few); err != nil {
		return err
	}
	return x.Snapshot().CheckFilter(f)
}
