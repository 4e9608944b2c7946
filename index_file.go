package hashgrove

import (
	"context"
	"errors"
	"time"

	"hashgrove/api"
	"hashgrove/internal/dataset"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/message"
	"hashgrove/internal/search"
	"hashgrove/internal/store"
	"hashgrove/internal/supervision"
)

// IndexOptions say how to work with an index in a file. OpenIndex and CreateIndex stand for the zero value.
type IndexOptions struct {
	// ReadOnly lets others read the file at the same time. Without OnDisk, opening reads everything and lets go of the
	// file.
	ReadOnly bool
	// OnDisk leaves the items in the file, for programs that change it or search it a few times and then end. With
	// ReadOnly, a search reads the codes once and of the items only what it shows.
	OnDisk bool
	// Replace lets Create put the new index in the place of an old one, once it is complete.
	Replace bool
	// Wait is how long to wait for others that have the file open; 0 means a second, and negative not at all.
	Wait time.Duration
	// Threads is the number of cores to use; 0 means all. It never changes a result.
	Threads int
	// Progress is called from one goroutine; it may be nil.
	Progress func(Step)
}

// CreateIndex builds an index in a new file, all or nothing. Once Add, Upsert or Delete returns, its changes survive a
// crash or a power cut. Without a model the items must be codes, as in NewIndex.
func CreateIndex(ctx context.Context, path string, m *Model, d *Data) (*Index, error) {
	return IndexOptions{}.Create(ctx, path, m, d)
}

// OpenIndex opens an index file for searching and for changes.
func OpenIndex(ctx context.Context, path string) (*Index, error) {
	return IndexOptions{}.Open(ctx, path)
}

// Create is CreateIndex with options.
func (o IndexOptions) Create(ctx context.Context, path string, m *Model, d *Data) (*Index, error) {
	r := o.reader(m)
	b, err := r.newItems(ctx, d)
	if err != nil {
		return nil, search.Coded(err)
	}
	ix, err := o.create(ctx, path, r, b)
	if b != nil {
		err = d.in(err)
	}
	return ix, err
}

// create is Create for items that were read.
func (o IndexOptions) create(ctx context.Context, path string, r *itemReader, b *index.Batch) (*Index, error) {
	of := store.Options{Model: r.model, Index: index.Config{Threads: o.Threads}, Items: b, Replace: o.Replace}
	if r.model == nil {
		of.Bits, of.Fingerprint = b.Codes.Bits, b.Fingerprint
	}
	s, err := store.Create(ctx, path, of)
	if err != nil {
		return nil, search.Coded(err)
	}
	o.ReadOnly, o.OnDisk = false, false
	return &Index{o: o, model: r.model, items: s, file: s}, nil
}

// Open is OpenIndex with options.
func (o IndexOptions) Open(ctx context.Context, path string) (*Index, error) {
	s, err := store.Open(ctx, path, store.OpenOptions{
		ReadOnly: o.ReadOnly, OnDisk: o.OnDisk, Wait: o.Wait, Index: index.Config{Threads: o.Threads},
		Progress: steps(o.Progress).of("opening"),
	})
	if errors.Is(err, hamming.ErrKind) {
		err = message.With("not-an-index", err)
	}
	if err != nil {
		return nil, search.Coded(err)
	}
	m, err := s.Model()
	if err == nil && o.ReadOnly && !o.OnDisk {
		err = s.Close()
	}
	if err != nil {
		return nil, errors.Join(search.Coded(err), s.Close())
	}
	return &Index{o: o, model: m, items: s, file: s}, nil
}

// manyQueries is the number of queries in a request above which an index in memory pays off.
const manyQueries = 1 << 10

// selection returns the items of an index for a request with a filter and some queries. Of a file that is only read,
// they are kept for the next one.
func (ix *Index) selection(ctx context.Context, where string, f index.Filter, queries int) (*store.Selection, error) {
	switch {
	case ix.closed.Load():
		return nil, store.ErrClosed
	case !ix.o.OnDisk:
		return &store.Selection{Snapshot: ix.items.Snapshot()}, nil
	}
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if s := ix.selected; s != nil && (ix.whole || ix.where == where) && ix.o.ReadOnly {
		return s, nil
	}
	if queries >= manyQueries && ix.o.ReadOnly {
		whole := ix.o
		whole.OnDisk = false
		x, err := whole.Open(ctx, ix.file.Info().Path)
		if err != nil {
			return nil, err
		}
		ix.whole, ix.selected = true, &store.Selection{Snapshot: x.items.Snapshot()}
		return ix.selected, nil
	}
	s, err := ix.file.Select(ctx, f, steps(ix.o.Progress).of("reading"))
	if err == nil {
		ix.where, ix.selected = where, s
	}
	return s, err
}

// Save writes the items and the model to a new index file, all or nothing; the index itself goes on as it was. A file
// is copied as it is now, and the copy is checked: it is a backup.
func (ix *Index) Save(ctx context.Context, path string) error {
	if ix.file == nil || ix.closed.Load() || ix.o.ReadOnly && !ix.o.OnDisk {
		return search.Coded(store.Save(ctx, path, ix.items.Snapshot(), ix.model))
	}
	_, err := ix.file.BackupFile(ctx, path)
	return search.Coded(err)
}

// RestoreIndex makes an index file of a backup, all or nothing: a copy that is checked before it gets its name.
func RestoreIndex(ctx context.Context, backup, path string) error {
	_, err := store.Restore(ctx, backup, path)
	return search.Coded(err)
}

// Migrate encodes the items of an index file again with another model, from their vectors or pictures, matched by id,
// or by row without ids. Every item needs its vector; others are ignored. Labels, tags and attributes stay. The new
// file replaces the old one in one step: after an error it is as it was.
func (o IndexOptions) Migrate(ctx context.Context, path string, m *Model, d *Data) error {
	if m.inner() == nil {
		return api.Errorf(api.ErrNoModel, "there is no model to encode the items with")
	}
	if err := d.Err(); err != nil {
		return err
	}
	given, src, err := d.forModel(m.model, false, o.Threads)
	if err != nil {
		return err
	}
	set, inFiles := given.(*dataset.Set)
	if inFiles && set.Rows() < 0 { // rows are left out as Create leaves them out
		if _, err := supervision.Scan(ctx, set, supervision.ScanOptions{}); err != nil {
			return err
		}
	}
	_, err = store.Migrate(ctx, path, m.model, src, steps(o.Progress).of("encoding"))
	noteBad(set, o.Progress)
	return search.Coded(err)
}

// Compact writes the items to a new file that replaces the old one in one step. Deleted items are then gone.
func (ix *Index) Compact(ctx context.Context) error {
	if ix.file == nil {
		return nil
	}
	return search.Coded(ix.file.Compact(ctx))
}

// Close closes the index file. Searches that have begun end as usual; later ones, and changes, are refused. An index in
// memory need not be closed: nothing happens.
func (ix *Index) Close() error {
	if ix.file == nil {
		return nil
	}
	ix.closed.Store(true)
	return ix.file.Close()
}

// IndexInfo describes an index.
type IndexInfo struct {
	Items         int         // that it holds
	Bits          int         // of every code
	DistinctCodes int         // 0 for items on disk
	Fingerprint   string      // of the model that made the codes; zeros if unknown
	FileBytes     int64       // of the file; 0 in memory
	Memory        *api.Memory // that the index takes; nil for items on disk
	Recovered     bool        // the last write to the file was not finished, and is left out
}

// Info describes the index.
func (ix *Index) Info() IndexInfo {
	var i IndexInfo
	if ix.file != nil {
		info := ix.file.Info()
		i = IndexInfo{
			Items: info.Items, Bits: info.Bits, Fingerprint: info.Fingerprint.Full(), FileBytes: info.FileBytes,
			Recovered: info.Recovered,
		}
	}
	if !ix.o.OnDisk {
		x := ix.items.Snapshot()
		i.Items, i.Bits, i.DistinctCodes, i.Fingerprint = x.Len(), x.Bits(), x.Codes(), x.Fingerprint().Full()
		i.Memory = search.Memory(x.Memory())
	}
	return i
}
