// Package index finds the nearest codes exactly, with filters, while items are added and deleted.
//
// An Index is a list of immutable segments; each holds items in order of their ids and every distinct code once
// (segment.go). Adding makes a new segment and merges small ones; deleting marks items as gone. A Snapshot is the list
// at one moment: searches run on it without locks, unaffected by later changes. A search scans the codes, looks them up
// by multi-index hashing, or visits the few items that match a filter (plan.go). The answer is always the same, ordered
// by distance and then by id.
package index

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
)

// MaxItems is the largest number of items in an index.
const MaxItems = math.MaxInt32

// Config tunes an index. Answers do not depend on it.
type Config struct {
	Tables  int // parts of multi-index hashing; 0 lets the planner choose, negative means none
	Threads int // for building; 0 means all cores
}

// Index is a set of items with codes of one model. It is safe for concurrent use.
type Index struct {
	config  Config
	write   sync.Mutex // held while the index changes
	current atomic.Pointer[Snapshot]
}

// Snapshot holds the items of an index at one moment.
type Snapshot struct {
	bits        int
	detail      int // of the bits, the last ones
	fingerprint hamming.Fingerprint
	views       []view // roughly largest first
	size        int
}

// New returns an empty index for codes of the given length, made by the model with the given fingerprint.
func New(bits int, fingerprint hamming.Fingerprint, c Config) *Index {
	if bits < 1 || bits > hamming.MaxBits {
		panic(fmt.Sprintf("index: codes of %d bits, outside the range 1 to %d", bits, hamming.MaxBits))
	}
	x := &Index{config: c}
	x.current.Store(&Snapshot{bits: bits, detail: fingerprint.Detail(bits), fingerprint: fingerprint})
	return x
}

// Snapshot returns the current items.
func (x *Index) Snapshot() *Snapshot { return x.current.Load() }

// Add adds items with new ids: all of them, or none and an error. Now and then it merges segments, which takes a while;
// searches continue meanwhile.
func (x *Index) Add(ctx context.Context, b *Batch) error {
	x.write.Lock()
	defer x.write.Unlock()
	return x.put(ctx, b, false)
}

// Upsert adds items. Those whose ids exist get a new code and the label, tags and attributes in the batch; what the
// batch leaves out stays unchanged. If an id is in the batch twice, the last item counts.
func (x *Index) Upsert(ctx context.Context, b *Batch) error {
	x.write.Lock()
	defer x.write.Unlock()
	s := x.Snapshot()
	if err := b.Check(s.bits); err != nil {
		return err
	}
	return x.put(ctx, s.completed(b), true)
}

// Update changes labels, tags and attributes of existing items and returns how many it found; unknown ids are ignored.
// Codes stay the same. What the batch leaves out stays unchanged, but with replace an item keeps only the attributes in
// the batch.
func (x *Index) Update(ctx context.Context, b *Batch, replace bool) (int, error) {
	x.write.Lock()
	defer x.write.Unlock()
	s := x.Snapshot()
	d := b.Details()
	if err := d.CheckDetails(); err != nil {
		return 0, err
	}
	if _, err := d.Order(false); err != nil {
		return 0, err
	}
	changed := NewBatch(s.bits)
	for i, id := range d.IDs {
		if old, there := s.Get(id); there {
			changed.Append(d.Item(i).Completed(old, replace))
		}
	}
	if len(changed.IDs) == 0 {
		return 0, nil
	}
	return len(changed.IDs), x.put(ctx, changed, true)
}

// completed returns the batch with what it leaves out filled in from existing items.
func (s *Snapshot) completed(b *Batch) *Batch {
	n := len(b.IDs)
	c := *b
	copied := false
	for i, id := range b.IDs {
		old, there := s.Get(id)
		if !there || old.Label == "" && len(old.Tags)+len(old.Attributes) == 0 {
			continue
		}
		if !copied {
			c.Labels = padTo(slices.Clone(b.Labels), n, n)
			c.Tags = padTo(slices.Clone(b.Tags), n, n)
			c.Attributes = padTo(slices.Clone(b.Attributes), n, n)
			copied = true
		}
		it := b.Item(i).Completed(old, false)
		c.Labels[i], c.Tags[i], c.Attributes[i] = it.Label, it.Tags, it.Attributes
	}
	return &c
}

// put adds items, or replaces existing ones. The caller holds the write lock.
func (x *Index) put(ctx context.Context, b *Batch, replace bool) error {
	s := x.Snapshot()
	if err := s.fingerprint.Accept(b.Fingerprint); err != nil {
		return err
	}
	if err := b.Check(s.bits); err != nil {
		return err
	}
	rows, err := b.Order(replace)
	if err != nil {
		return err
	}
	views, gone := s.remaining(func(v view) []uint32 {
		var at []uint32
		if len(rows) == 0 {
			return nil
		}
		least, greatest := b.IDs[rows[0]], b.IDs[rows[len(rows)-1]]
		if v.ids.get(0).Compare(greatest) > 0 || v.ids.get(uint32(v.len()-1)).Compare(least) < 0 {
			return nil // all ids come after those of the segment, as when items are appended
		}
		for _, r := range rows {
			if pos, ok := v.find(b.IDs[r]); ok {
				at = append(at, pos)
			}
		}
		return at
	})
	if gone > 0 && !replace {
		for _, r := range rows {
			if _, there := s.Get(b.IDs[r]); there {
				return message.New("duplicate-id", "item %d: the id %q is already in the index: leave it out, or replace it",
					r, b.IDs[r].Short())
			}
		}
	}
	if s.size-gone > MaxItems-len(rows) {
		return fmt.Errorf("%d items in the index and %d more: at most %d are allowed", s.size, len(rows), MaxItems)
	}
	return x.settle(ctx, views, b, rows)
}

// Delete removes items by id and returns how many it found.
func (x *Index) Delete(ctx context.Context, ids ...ID) (int, error) {
	return x.DeleteWhere(ctx, IDs(ids...))
}

// DeleteWhere removes the items that match the filter and returns their number. A filter without a condition is
// refused.
func (x *Index) DeleteWhere(ctx context.Context, f Filter) (int, error) {
	if err := f.CheckDeletion(); err != nil {
		return 0, err
	}
	x.write.Lock()
	defer x.write.Unlock()
	s := x.Snapshot()
	if err := s.CheckFilter(f); err != nil {
		return 0, err
	}
	views, gone := s.remaining(func(v view) []uint32 {
		return f.allowed(v).ToArray()
	})
	if gone == 0 {
		return 0, nil
	}
	return gone, x.settle(ctx, views, nil, nil)
}

// remaining returns the views without the positions chosen in each, and the number of these.
func (s *Snapshot) remaining(choose func(view) []uint32) (views []view, gone int) {
	for _, v := range s.views {
		if at := choose(v); len(at) > 0 {
			gone += len(at)
			v = v.remaining(at)
		}
		views = append(views, v)
	}
	return views, gone
}

// settle adds rows of a batch, merges segments, and publishes the result. An item is rewritten only if its segment at
// least doubles or half of it is gone: O(log n) times in all.
func (x *Index) settle(ctx context.Context, views []view, b *Batch, rows []int) error {
	const small = 1024 // smaller segments are always merged
	var kept []view
	for _, v := range views {
		switch {
		case v.size == 0:
		case 2*v.size < v.len():
			s, err := x.merge(ctx, []view{v}, nil, nil)
			if err != nil {
				return err
			}
			kept = append(kept, s)
		default:
			kept = append(kept, v)
		}
	}
	if len(rows) > 0 {
		size, first := len(rows), len(kept)
		for first > 0 && kept[first-1].size <= max(2*size, small) {
			first--
			size += kept[first].size
		}
		s, err := x.merge(ctx, kept[first:], b, rows)
		if err != nil {
			return err
		}
		kept = append(kept[:first], s)
	}
	x.publish(kept)
	return nil
}

func (x *Index) merge(ctx context.Context, views []view, b *Batch, rows []int) (view, error) {
	s, err := mergeSegments(ctx, x.Snapshot().bits, views, b, rows)
	if err == nil {
		err = s.addTables(ctx, x.config)
	}
	if err != nil {
		return view{}, err
	}
	return view{s, nil, s.len()}, nil
}

func (x *Index) publish(views []view) {
	old := x.Snapshot()
	s := &Snapshot{bits: old.bits, detail: old.detail, fingerprint: old.fingerprint, views: views}
	for _, v := range views {
		s.size += v.size
	}
	x.current.Store(s)
}

// Compact merges everything into one segment, which makes searches fastest.
func (x *Index) Compact(ctx context.Context) error {
	x.write.Lock()
	defer x.write.Unlock()
	views := x.Snapshot().views
	if len(views) == 0 || len(views) == 1 && views[0].live == nil {
		return nil
	}
	v, err := x.merge(ctx, views, nil, nil)
	if err == nil && v.size > 0 {
		x.publish([]view{v})
	} else if err == nil {
		x.publish(nil)
	}
	return err
}

// find returns the position of a live item.
func (v view) find(id ID) (uint32, bool) {
	pos, ok := v.ids.find(id)
	return pos, ok && (v.live == nil || v.live.Contains(pos))
}

// Len returns the number of items.
func (s *Snapshot) Len() int { return s.size }

// Bits returns the length of the codes.
func (s *Snapshot) Bits() int { return s.bits }

// Detail returns how many bits of a code, the last ones, are detail.
func (s *Snapshot) Detail() int { return s.detail }

// Detailed returns the snapshot with its last bits taken as detail.
func (s *Snapshot) Detailed(detail int) *Snapshot {
	own := *s
	own.detail = detail
	return &own
}

// Fingerprint identifies the model that made the codes.
func (s *Snapshot) Fingerprint() hamming.Fingerprint { return s.fingerprint }

// Codes returns the number of distinct codes, counted per segment.
func (s *Snapshot) Codes() int {
	n := 0
	for _, v := range s.views {
		n += v.distinct()
	}
	return n
}

// Memory returns the memory used, by purpose.
func (s *Snapshot) Memory() Memory {
	var m Memory
	for _, v := range s.views {
		v.addMemory(&m)
	}
	return m
}

// Get returns an item by id.
func (s *Snapshot) Get(id ID) (Item, bool) {
	for i := len(s.views) - 1; i >= 0; i-- {
		if pos, ok := s.views[i].find(id); ok {
			return s.views[i].item(pos), true
		}
	}
	return Item{}, false
}

// Item returns the item of a hit in this snapshot.
func (s *Snapshot) Item(h Hit) Item { return s.views[h.place.view].item(h.place.pos) }

// Matches returns the items that match a filter, in order of their ids.
func (s *Snapshot) Matches(f Filter) ([]Hit, error) {
	if err := s.CheckFilter(f); err != nil {
		return nil, err
	}
	hits := make([]Hit, 0, s.Count(f))
	for i, v := range s.views {
		add := func(pos uint32) bool {
			hits = append(hits, Hit{ID: v.ids.get(pos), place: place{uint32(i), pos}})
			return true
		}
		if set := f.allowed(v); set != nil {
			set.Iterate(add)
			continue
		}
		for pos := range v.len() {
			add(uint32(pos))
		}
	}
	if len(s.views) > 1 {
		slices.SortFunc(hits, func(a, b Hit) int { return a.ID.Compare(b.ID) })
	}
	return hits, nil
}

// Count returns the number of items that match a filter. It does not apply CheckFilter.
func (s *Snapshot) Count(f Filter) int {
	n := 0
	for _, v := range s.views {
		if f.Condition == nil {
			n += v.size
		} else {
			n += int(f.allowed(v).GetCardinality())
		}
	}
	return n
}
