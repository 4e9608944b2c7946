package hashgrove

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"hashgrove/api"
	"hashgrove/internal/index"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/search"
	"hashgrove/internal/store"
	"hashgrove/internal/vectors"
)

// Index finds the items with the nearest codes, exactly. It implements api.Searcher and is safe for concurrent use: a
// search sees the items as they were when it began. Compare its errors with those of package api using errors.Is.
type Index struct {
	o       IndexOptions
	model   *model.Model // nil if the file holds none
	items   itemStore
	file    *store.Store  // nil in memory
	vectors *search.Table // nil before SetVectors
	pass    *search.Pass  // nil before ReadVectors
	closed  atomic.Bool

	mu       sync.Mutex       // guards what follows
	whole    bool             // the selection has everything
	where    string           // the filter of the selection
	selected *store.Selection // the items of a file that is only read, for searches with that filter
}

var _ api.Searcher = (*Index)(nil)

// itemStore is an index in memory or in a file.
type itemStore interface {
	Add(ctx context.Context, b *index.Batch) error
	Upsert(ctx context.Context, b *index.Batch) error
	Update(ctx context.Context, b *index.Batch, replace bool) (int, error)
	Delete(ctx context.Context, ids ...index.ID) (int, error)
	DeleteWhere(ctx context.Context, f index.Filter) (int, error)
	Snapshot() *index.Snapshot
}

// NewIndex builds an index in memory from items, which may be nil, encoded by the model. The model may be nil if the
// items are codes: the index then holds codes of their length.
func NewIndex(ctx context.Context, m *Model, d *Data) (*Index, error) {
	r := IndexOptions{}.reader(m)
	b, err := r.newItems(ctx, d)
	if err != nil {
		return nil, search.Coded(err)
	}
	var x *index.Index
	if r.model != nil {
		x = index.New(r.bits, r.model.Fingerprint(), index.Config{})
	} else {
		x = index.New(b.Codes.Bits, b.Fingerprint, index.Config{})
	}
	if b != nil {
		if err := x.Add(ctx, b); err != nil {
			return nil, search.Coded(err)
		}
	}
	return &Index{model: r.model, items: x}, nil
}

// Len returns the number of items.
func (ix *Index) Len() int {
	if ix.o.OnDisk {
		return ix.file.Info().Items
	}
	return ix.items.Snapshot().Len()
}

// bits returns the length of the codes.
func (ix *Index) bits() int {
	if ix.o.OnDisk {
		return ix.file.Info().Bits
	}
	return ix.items.Snapshot().Bits()
}

// Model returns the model that encodes items and queries, or nil if the index was built from codes without a model.
func (ix *Index) Model() *Model {
	if ix.model == nil {
		return nil
	}
	return &Model{ix.model}
}

// searched returns the current items, ready for requests with a filter.
func (ix *Index) searched(where string) (*search.Items, error) {
	if ix.closed.Load() {
		return nil, store.ErrClosed
	}
	x := &search.Items{Model: ix.model, Threads: ix.o.Threads}
	switch {
	case ix.vectors != nil:
		x.Vectors = ix.vectors
	case ix.pass != nil:
		x.Vectors = ix.pass
	}
	if !ix.o.OnDisk {
		x.Snapshot = ix.items.Snapshot()
		return x, nil
	}
	x.Get = ix.file.Get
	x.Select = func(ctx context.Context, f index.Filter, queries int) (*index.Snapshot, search.Find, error) {
		s, err := ix.selection(ctx, where, f, queries)
		if err != nil {
			return nil, nil, err
		}
		return s.Snapshot, s.Items, nil
	}
	return x, nil
}

// Search implements api.Searcher. Options.Rerank needs SetVectors or ReadVectors.
func (ix *Index) Search(ctx context.Context, r *api.Request) (*api.Answer, error) {
	if r == nil {
		r = &api.Request{} // which is refused
	}
	x, err := ix.searched(r.Where)
	if err != nil {
		return nil, err
	}
	return x.Search(ctx, r)
}

// Explain says, bit by bit, how near an item is to a query; after SetVectors it also says which columns decided each
// bit.
func (ix *Index) Explain(ctx context.Context, q api.Query, id api.ID) (*api.Why, error) {
	x, err := ix.searched("")
	if err != nil {
		return nil, err
	}
	return x.Explain(ctx, q, id)
}

// ReadVectors lets searches rerank and explain by the items' vectors in files, by id, or by row without ids: each
// request reads them once and keeps those of its hits. Call it before several goroutines use the index.
func (ix *Index) ReadVectors(d *Data) error {
	if err := d.Err(); err != nil {
		return err
	}
	d = d.readOnce()
	var read atomic.Bool
	ix.pass = &search.Pass{
		Open: func(context.Context) (vectors.Source, error) {
			if read.Swap(true) && d.Once() {
				return nil, message.New("read-once", "a pipe can be read only once: save the vectors to a file")
			}
			if ix.model == nil {
				return d.rows(PictureOptions{}, nil)
			}
			_, src, err := d.forModel(ix.model, false, ix.o.Threads)
			return src, err
		},
		Progress: func(rows int) { steps(ix.o.Progress).step("comparing vectors", rows, 0) },
	}
	return nil
}

// SetVectors keeps the items' vectors in memory, by id, so that searches can rerank and explain. Call it before several
// goroutines use the index. Vectors that the model gives another code than the item has are left out; items
// written later bring theirs.
func (ix *Index) SetVectors(ctx context.Context, d *Data) error {
	if ix.model == nil {
		return api.Errorf(api.ErrNoModel, "the index holds no model, so it cannot know what vectors of items are")
	}
	if ix.o.OnDisk {
		return api.Errorf(api.ErrUnsupported, "vectors are kept beside items in memory: open the index without OnDisk")
	}
	_, src, err := d.forModel(ix.model, false, 0)
	if err != nil {
		return search.Coded(err)
	}
	ix.vectors, err = search.ReadTable(ctx, ix.model, src, ix.Len(), ix.items.Snapshot().Get)
	return search.Coded(err)
}

// Add encodes items and adds them: all of them, or none (ErrExists) if any id is already in use.
func (ix *Index) Add(ctx context.Context, d *Data) error { return ix.write(ctx, d, ix.items.Add) }

// Upsert encodes items and adds or replaces them. An existing item gets the new code and any label, tags and attributes
// that come with it, and keeps the others.
func (ix *Index) Upsert(ctx context.Context, d *Data) error { return ix.write(ctx, d, ix.items.Upsert) }

// Update changes labels, tags and attributes of existing items and returns how many it found.
func (ix *Index) Update(ctx context.Context, changes ...api.Change) (int, error) {
	return ix.update(ctx, changes, false)
}

// Replace is like Update, but a change's attributes replace all those of the item.
func (ix *Index) Replace(ctx context.Context, changes ...api.Change) (int, error) {
	return ix.update(ctx, changes, true)
}

func (ix *Index) update(ctx context.Context, changes []api.Change, replace bool) (int, error) {
	b, err := search.Changes(changes, replace)
	if err = cmp.Or(ix.writable(), err); err != nil {
		return 0, err
	}
	n, err := ix.items.Update(ctx, b, replace)
	return n, search.Coded(err)
}

// List iterates over the items that match a filter, or all items for "", in order of id.
func (ix *Index) List(ctx context.Context, where string) iter.Seq2[api.Item, error] {
	return func(yield func(api.Item, error) bool) {
		x, found, err := ix.matches(ctx, where)
		for part := range slices.Chunk(found, 1<<12) {
			var items []index.Item
			if items, err = x.Items(ctx, part); err == nil {
				err = ctx.Err()
			}
			if err != nil {
				break
			}
			for _, it := range items {
				if !yield(search.Item(it, x.Bits()), nil) {
					return
				}
			}
		}
		if err != nil {
			yield(api.Item{}, search.Coded(err))
		}
	}
}

// Items returns a page of the items that match a filter, or of all items for "", in order of id: those after an id, or
// the first ones for "", and at most limit, or all for 0.
func (ix *Index) Items(ctx context.Context, where string, limit int, after api.ID) (*api.ItemsPage, error) {
	x, found, err := ix.matches(ctx, where)
	if err != nil {
		return nil, search.Coded(err)
	}
	page := &api.ItemsPage{Fingerprint: x.Fingerprint().String(), Items: []api.Item{}, Total: len(found)}
	if found, page.Next, err = search.Page(found, limit, after); err != nil {
		return nil, err
	}
	items, err := x.Items(ctx, found)
	for _, it := range items {
		page.Items = append(page.Items, search.Item(it, x.Bits()))
	}
	return page, search.Coded(err)
}

// matches returns the items that match a filter, in order of id.
func (ix *Index) matches(ctx context.Context, where string) (*store.Selection, []index.Hit, error) {
	f, err := search.ParseFilter(where)
	if err != nil {
		return nil, nil, err
	}
	x, err := ix.selection(ctx, where, f, 0)
	if err != nil {
		return nil, nil, err
	}
	found, err := x.Matches(f)
	return x, found, err
}

// Get returns an item by its id, or ErrNotFound.
func (ix *Index) Get(id api.ID) (api.Item, error) {
	key, err := index.ParseID(string(id))
	if err != nil {
		return api.Item{}, api.Errorf(api.ErrInvalid, "%v", err)
	}
	var it index.Item
	var ok bool
	if ix.o.OnDisk {
		it, ok, err = ix.file.Get(context.Background(), key)
	} else {
		it, ok = ix.items.Snapshot().Get(key)
	}
	if err == nil && !ok {
		err = api.Errorf(api.ErrNotFound, "no item has the id %.100q", id)
	}
	if err != nil {
		return api.Item{}, search.Coded(err)
	}
	return search.Item(it, ix.bits()), nil
}

// Delete removes items by id and returns how many it found.
func (ix *Index) Delete(ctx context.Context, ids ...api.ID) (int, error) {
	list := make([]index.ID, len(ids))
	for i, text := range ids {
		var err error
		if list[i], err = index.ParseID(string(text)); err != nil {
			return 0, api.Errorf(api.ErrInvalid, "%v", err)
		}
	}
	if err := ix.writable(); err != nil {
		return 0, err
	}
	n, err := ix.items.Delete(ctx, list...)
	return n, search.Coded(err)
}

// DeleteWhere removes the items that match a filter and returns how many there were. An empty filter is refused, and
// "has id" deletes everything.
func (ix *Index) DeleteWhere(ctx context.Context, where string) (int, error) {
	f, err := search.ParseDeletion(where)
	if err = cmp.Or(err, ix.writable()); err != nil {
		return 0, err
	}
	n, err := ix.items.DeleteWhere(ctx, f)
	return n, search.Coded(err)
}

// writable returns an error for an index that can only be read.
func (ix *Index) writable() error {
	if ix.o.ReadOnly {
		return api.Errorf(api.ErrReadOnly, "the index was opened for reading only")
	}
	return nil
}

// write encodes items and writes them in one batch.
func (ix *Index) write(ctx context.Context, d *Data, write func(context.Context, *index.Batch) error) error {
	if err := cmp.Or(ix.writable(), d.Err()); err != nil {
		return err
	}
	if ix.model == nil && !d.isCoded() {
		return d.in(api.Errorf(api.ErrNoModel, "the index holds no model to encode items with"))
	}
	r := ix.o.reader(ix.Model())
	r.bits, r.keep = ix.bits(), ix.vectors != nil
	b, rows, err := r.items(ctx, d)
	if err != nil {
		return search.Coded(err)
	}
	done := ix.vectors.Set(b, rows, ix.items.Snapshot)
	err = write(ctx, b)
	done(err == nil)
	if message.Is(err, "duplicate-id") && !r.named {
		err = message.New("numbers-taken", "%w; the rows have no ids, so they are identified by their numbers: give them ids",
			err)
	}
	return search.Coded(d.in(err))
}
