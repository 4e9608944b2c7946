package hashgrove

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"

	"hashgrove/api"
	"hashgrove/internal/dataset"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
	"hashgrove/internal/search"
	"hashgrove/internal/store"
	"hashgrove/internal/vectors"
)

// Index finds the items with the nearest codes, exactly. It implements api.Searcher and is safe for concurrent use: a
// search sees the items as they were when it began. Compare its errors with those of package api using errors.Is.
type Index struct {
	model   *model.Model // nil if the file holds none
	items   itemStore
	vectors *search.Table // nil before SetVectors
	close   func() error  // nil in memory
	closed  atomic.Bool
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
	if m == nil {
		b, err := foreignItems(ctx, d)
		if err != nil {
			return nil, search.Coded(err)
		}
		x := index.New(b.Codes.Bits, b.Fingerprint, index.Config{})
		return &Index{items: x}, search.Coded(x.Add(ctx, b))
	}
	x := index.New(m.Bits(), m.model.Fingerprint(), index.Config{})
	ix := &Index{model: m.model, items: x}
	if d != nil {
		if err := ix.Add(ctx, d); err != nil {
			return nil, err
		}
	}
	return ix, nil
}

// foreignItems returns items with codes of a length that the codes tell.
func foreignItems(ctx context.Context, d *Data) (*index.Batch, error) {
	if d == nil || d.codes == nil && !d.spec.Codes {
		return nil, api.Errorf(api.ErrNoModel, "items that are not codes need a model to encode them")
	}
	bits := 0
	if len(d.codes) > 0 {
		bits = 8 * len(d.codes[0])
	}
	if d.codes != nil && (bits < 8 || bits > hamming.MaxBits) {
		return nil, api.Errorf(api.ErrInvalid, "a first code of %d bits: give codes of 8 to %d", bits, hamming.MaxBits)
	}
	b, _, err := encodedItems(ctx, nil, bits, d, false)
	return b, err
}

// CreateIndex builds an index in a new file, all or nothing. Once Add, Upsert or Delete returns, its changes survive a
// crash or a power cut. Without a model the items must be codes, as in NewIndex.
func CreateIndex(ctx context.Context, path string, m *Model, d *Data) (*Index, error) {
	var o store.Options
	var err error
	if m == nil {
		if o.Items, err = foreignItems(ctx, d); err == nil {
			o.Bits, o.Fingerprint = o.Items.Codes.Bits, o.Items.Fingerprint
		}
	} else {
		o = store.Options{Model: m.model, Bits: m.Bits(), Fingerprint: m.model.Fingerprint()}
		if d != nil {
			o.Items, _, err = encodedItems(ctx, m.model, m.Bits(), d, false)
		}
	}
	if err != nil {
		return nil, search.Coded(err)
	}
	s, err := store.Create(ctx, path, o)
	if err != nil {
		return nil, search.Coded(err)
	}
	return &Index{model: o.Model, items: s, close: s.Close}, nil
}

// OpenIndex opens an index file for searching and for changes.
func OpenIndex(ctx context.Context, path string) (*Index, error) {
	s, err := store.Open(ctx, path, store.OpenOptions{})
	if err != nil {
		return nil, search.Coded(err)
	}
	m, err := s.Model()
	if err != nil {
		return nil, errors.Join(search.Coded(err), s.Close())
	}
	return &Index{model: m, items: s, close: s.Close}, nil
}

// Save writes the items and the model to a new index file, all or nothing; the index itself goes on as it was. An index
// in a file is copied as it is now.
func (ix *Index) Save(ctx context.Context, path string) error {
	return search.Coded(store.Save(ctx, path, ix.items.Snapshot(), ix.model))
}

// Close closes the index file. Searches that have begun end as usual; later ones, and changes, are refused. An index in
// memory need not be closed: nothing happens.
func (ix *Index) Close() error {
	if ix.close == nil {
		return nil
	}
	ix.closed.Store(true)
	return ix.close()
}

// Len returns the number of items.
func (ix *Index) Len() int { return ix.items.Snapshot().Len() }

// Model returns the model that encodes items and queries, or nil if the index was built from codes without a model.
func (ix *Index) Model() *Model {
	if ix.model == nil {
		return nil
	}
	return &Model{ix.model}
}

// searched returns the current items, ready to be searched.
func (ix *Index) searched() (*search.Items, error) {
	if ix.closed.Load() {
		return nil, store.ErrClosed
	}
	x := &search.Items{Snapshot: ix.items.Snapshot(), Model: ix.model}
	if ix.vectors != nil {
		x.Vectors = ix.vectors
	}
	return x, nil
}

// Search implements api.Searcher. Options.Rerank needs SetVectors.
func (ix *Index) Search(ctx context.Context, r *api.Request) (*api.Answer, error) {
	x, err := ix.searched()
	if err != nil {
		return nil, err
	}
	return x.Search(ctx, r)
}

// Explain says, bit by bit, how near an item is to a query; after SetVectors it also says which columns decided each
// bit.
func (ix *Index) Explain(ctx context.Context, q api.Query, id api.ID) (*api.Why, error) {
	x, err := ix.searched()
	if err != nil {
		return nil, err
	}
	return x.Explain(ctx, q, id)
}

// SetVectors keeps the items' vectors in memory, by id, so that searches can rerank and explain. Call it before several
// goroutines use the index. Vectors from which the model makes another code than the item has are left out; items
// written later bring theirs.
func (ix *Index) SetVectors(ctx context.Context, d *Data) error {
	if ix.model == nil {
		return api.Errorf(api.ErrNoModel, "the index holds no model, so it cannot know what vectors of items are")
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
	if err != nil {
		return 0, err
	}
	n, err := ix.items.Update(ctx, b, replace)
	return n, search.Coded(err)
}

// List iterates over the items that match a filter, or all items for "", in order of id.
func (ix *Index) List(ctx context.Context, where string) iter.Seq2[api.Item, error] {
	return func(yield func(api.Item, error) bool) {
		snapshot := ix.items.Snapshot()
		f, err := search.ParseFilter(where)
		var found []index.Hit
		if err == nil {
			found, err = snapshot.Matches(f)
		}
		for _, h := range found {
			if err = ctx.Err(); err != nil {
				break
			}
			if !yield(search.Item(snapshot.Item(h), snapshot.Bits()), nil) {
				return
			}
		}
		if err != nil {
			yield(api.Item{}, search.Coded(err))
		}
	}
}

// Get returns an item by its id, or ErrNotFound.
func (ix *Index) Get(id api.ID) (api.Item, error) {
	key, err := index.ParseID(string(id))
	if err != nil {
		return api.Item{}, api.Errorf(api.ErrInvalid, "%v", err)
	}
	snapshot := ix.items.Snapshot()
	it, ok := snapshot.Get(key)
	if !ok {
		return api.Item{}, api.Errorf(api.ErrNotFound, "no item has the id %.100q", id)
	}
	return search.Item(it, snapshot.Bits()), nil
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
	n, err := ix.items.Delete(ctx, list...)
	return n, search.Coded(err)
}

// DeleteWhere removes the items that match a filter and returns how many there were. An empty filter is refused, and
// "has id" deletes everything.
func (ix *Index) DeleteWhere(ctx context.Context, where string) (int, error) {
	f, err := search.ParseDeletion(where)
	if err != nil {
		return 0, err
	}
	n, err := ix.items.DeleteWhere(ctx, f)
	return n, search.Coded(err)
}

// write encodes items and writes them in one batch.
func (ix *Index) write(ctx context.Context, d *Data, write func(context.Context, *index.Batch) error) error {
	if err := d.Err(); err != nil {
		return err
	}
	if ix.model == nil && d.codes == nil && !d.spec.Codes {
		return api.Errorf(api.ErrNoModel, "the index holds no model to encode items with")
	}
	b, rows, err := encodedItems(ctx, ix.model, ix.items.Snapshot().Bits(), d, ix.vectors != nil)
	if err != nil {
		return search.Coded(err)
	}
	undo := ix.vectors.Set(b, rows)
	if err = write(ctx, b); err != nil {
		undo()
	}
	return search.Coded(err)
}

// recorder keeps the rows of a source as they are read.
type recorder struct {
	vectors.Source
	rows [][]float32
}

func (r *recorder) Chunks(ctx context.Context) iter.Seq2[vectors.Chunk, error] {
	return func(yield func(vectors.Chunk, error) bool) {
		for chunk, err := range r.Source.Chunks(ctx) {
			for i := range chunk.X.Rows {
				r.rows = append(r.rows, slices.Clone(chunk.X.Row(i)))
			}
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// codedItems returns items by their codes, with their ids, labels and tags.
func codedItems(bits int, d *Data) (*index.Batch, error) {
	b, one := index.NewBatch(bits), hamming.NewCodes(1, bits)
	chunk := vectors.Chunk{IDs: d.table.IDs, Labels: d.table.Labels, Tags: d.table.Tags}
	for i, code := range d.codes {
		it, err := dataset.FromRow(chunk, i, i)
		if err == nil {
			err = search.SetCode(one, 0, "", code)
		}
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", i, err)
		}
		it.Code = one.Row(0)
		b.Append(it)
	}
	return b, nil
}

// readItems encodes rows and attaches their ids, labels and tags, and the attributes in files. It also returns the rows
// if they are to be kept.
func readItems(ctx context.Context, m *model.Model, d *Data, keep bool) (*index.Batch, [][]float32, error) {
	if d.spec.Codes {
		return readCodes(ctx, d)
	}
	given, src, err := d.forModel(m, false, 0)
	if err != nil {
		return nil, nil, err
	}
	kept := &recorder{Source: src}
	if keep {
		src = kept
	}
	in := dataset.FromRows(m, src, "the items")
	if in.Attributes, err = d.attributeTable(given); err != nil {
		return nil, nil, err
	}
	b, err := in.Read(ctx, 0, 0, func(int) {})
	return b, kept.rows, err
}

// readCodes is readItems for files of codes.
func readCodes(ctx context.Context, d *Data) (*index.Batch, [][]float32, error) {
	set, err := dataset.Open(d.spec)
	if err != nil {
		return nil, nil, err
	}
	in, err := dataset.FromPacked(set, d.spec.Paths[0])
	if err != nil {
		return nil, nil, err
	}
	if in.Attributes, err = d.attributeTable(set); err != nil {
		return nil, nil, err
	}
	b, err := in.Read(ctx, max(set.Rows(), 0), 0, func(int) {})
	return b, make([][]float32, len(b.IDs)), err
}

// encodedItems returns items with codes and attributes, and their vectors if they are to be kept: nil for items that
// come with a code. Attributes set on the data take precedence over those in a file.
func encodedItems(
	ctx context.Context, m *model.Model, bits int, d *Data, keep bool,
) (b *index.Batch, rows [][]float32, err error) {
	if err := d.Err(); err != nil {
		return nil, nil, err
	}
	if d.codes != nil {
		b, err = codedItems(bits, d)
		rows = make([][]float32, len(d.codes))
	} else {
		b, rows, err = readItems(ctx, m, d, keep)
	}
	if err != nil || d.attributes == nil {
		return b, rows, err
	}
	if len(d.attributes) != len(b.IDs) {
		return nil, nil, api.Errorf(api.ErrInvalid, "%d sets of attributes for %d items", len(d.attributes), len(b.IDs))
	}
	if b.Attributes == nil {
		b.Attributes = make([]map[string]index.Value, len(b.IDs))
	}
	for i, given := range d.attributes {
		values, err := search.Values(given)
		if err != nil {
			return nil, nil, fmt.Errorf("row %d: %w", i, err)
		}
		b.Attributes[i] = index.Item{Attributes: values}.Completed(b.Item(i), false).Attributes
	}
	return b, rows, nil
}

// attributeTable reads the attributes of rows in files. It returns nil if there are none.
func (d *Data) attributeTable(rows vectors.Source) (*dataset.Attributes, error) {
	set, inFiles := rows.(*dataset.Set)
	switch {
	case !inFiles || d.columns.AttributesFile == "" && len(d.columns.Attributes) == 0:
		return nil, nil
	case d.columns.AttributesFile == "":
		return set.Attributes(d.columns.Attributes)
	}
	return dataset.OpenAttributes(dataset.AttributeSpec{
		Path: d.columns.AttributesFile, ID: d.columns.AttributesID, ItemID: d.columns.ID, Columns: d.columns.Attributes,
		Skip: set.CodeColumns(),
	})
}
