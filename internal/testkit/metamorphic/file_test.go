package metamorphic

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
	"hashgrove/internal/store"
	"hashgrove/internal/vectors"
)

// file is an index in a file, also held in memory or left on disk.
type file struct {
	*store.Store
	folder string
	number int // of the next file
	path   string
	onDisk bool
	tables int
}

func newFile(ctx context.Context, folder string, bits int, onDisk bool) (*file, error) {
	x := &file{folder: folder, onDisk: onDisk}
	s, err := store.Create(ctx, x.next(), store.Options{Bits: bits})
	if err != nil {
		return nil, err
	}
	if x.Store = s; onDisk {
		return x, x.reopen(ctx, 0)
	}
	return x, nil
}

// next is the path of a new file.
func (x *file) next() string {
	x.number++
	x.path = filepath.Join(x.folder, fmt.Sprintf("%t-%d.hgi", x.onDisk, x.number))
	return x.path
}

func (x *file) close() error { return x.Store.Close() }

func (x *file) open(ctx context.Context) (err error) {
	config := index.Config{Tables: x.tables}
	x.Store, err = store.Open(ctx, x.path, store.OpenOptions{OnDisk: x.onDisk, Index: config})
	return err
}

// reopen checks every page of the file on the way.
func (x *file) reopen(ctx context.Context, tables int) error {
	x.tables = tables
	items := x.Info().Items
	if err := x.close(); err != nil {
		return err
	}
	r, err := store.Verify(ctx, x.path, nil)
	if err == nil && r.Items != items {
		err = fmt.Errorf("%d items were verified, want %d", r.Items, items)
	}
	return errors.Join(err, x.open(ctx))
}

func (x *file) read(ctx context.Context, f index.Filter) (reader, error) {
	s, err := x.Select(ctx, f, nil)
	return selection{s}, err
}

// moved switches to a new file made from the old one, which is closed and removed.
func (x *file) moved(ctx context.Context, make func(from, to string) error) error {
	from := x.path
	if err := x.close(); err != nil {
		return err
	}
	if err := make(from, x.next()); err != nil {
		return err
	}
	return errors.Join(os.Remove(from), x.open(ctx))
}

// backup switches to a restored backup of a backup.
func (x *file) backup(ctx context.Context) error {
	copied := filepath.Join(x.folder, "backup.hgi")
	if _, err := x.BackupFile(ctx, copied); err != nil {
		return err
	}
	err := x.moved(ctx, func(_, to string) error {
		_, err := store.Restore(ctx, copied, to)
		return err
	})
	return errors.Join(err, os.Remove(copied))
}

// salvage switches to what is salvaged from an intact file: everything.
func (x *file) salvage(ctx context.Context) error {
	return x.moved(ctx, func(from, to string) error {
		saved, err := store.Salvage(ctx, from, to, nil)
		if err == nil && (saved.LostItems > 0 || len(saved.Lost) > 0 || saved.ModelLost || saved.Older) {
			err = fmt.Errorf("salvaging an intact file lost something: %+v", saved)
		}
		return err
	})
}

// merge divides the items among files and switches to the merged file.
func (x *file) merge(ctx context.Context, n int) error {
	m, err := x.Model()
	if err != nil {
		return err
	}
	info := x.Info()
	parts := make([]*index.Batch, n)
	for i := range parts {
		parts[i] = index.NewBatch(info.Bits)
	}
	seen := 0
	err = x.Each(ctx, store.Pass{}, func(b *index.Batch) error {
		for i := range b.IDs {
			parts[seen*7919%n].Append(b.Item(i))
			seen++
		}
		return nil
	})
	if err != nil {
		return err
	}
	var paths []string
	for i, b := range parts {
		path := filepath.Join(x.folder, fmt.Sprintf("part-%d.hgi", i))
		s, err := store.Create(ctx, path, store.Options{Model: m, Bits: info.Bits, Fingerprint: info.Fingerprint, Items: b})
		if err != nil {
			return err
		}
		if err := s.Close(); err != nil {
			return err
		}
		paths = append(paths, path)
	}
	err = x.moved(ctx, func(_, to string) error {
		_, err := store.Merge(ctx, paths, to, nil)
		return err
	})
	for _, path := range paths {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// migrate encodes the vectors of all items, and of one that does not exist, again.
func (x *file) migrate(ctx context.Context, m *model.Model, items *index.Batch) error {
	if err := x.close(); err != nil {
		return err
	}
	ids := []index.ID{index.Text("not there")}
	ids = append(ids, items.IDs...)
	if _, err := store.Migrate(ctx, x.path, m, imagined(ids), nil); err != nil {
		return err
	}
	return x.open(ctx)
}

// dimensions is the length of the imagined vectors of items.
const dimensions = 3

// vectorOf returns the vector of an item, which depends on its id and is shared by many.
func vectorOf(id index.ID) []float32 {
	h := uint64(14695981039346656037)
	for _, c := range []byte(id.String()) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	x := make([]float32, dimensions)
	for i := range x {
		x[i] = float32(h>>(8*i+24)%5) - 2
	}
	return x
}

// imagined is the vectors of items, a few at a time.
type imagined []index.ID

func (ids imagined) Dim() int               { return dimensions }
func (ids imagined) Schema() vectors.Schema { return vectors.Schema{} }
func (ids imagined) Len() int               { return len(ids) }

func (ids imagined) Chunks(context.Context) iter.Seq2[vectors.Chunk, error] {
	return func(yield func(vectors.Chunk, error) bool) {
		for lo := 0; lo < len(ids); lo += 100 {
			c := vectors.Chunk{First: lo, X: vectors.Matrix{Cols: dimensions}}
			for _, id := range ids[lo:min(lo+100, len(ids))] {
				c.IDs = append(c.IDs, id.String())
				c.X.Data = append(c.X.Data, vectorOf(id)...)
				c.X.Rows++
			}
			if !yield(c, nil) {
				return
			}
		}
	}
}

// projection is a model that encodes imagined vectors, in half of the cases with bits of detail.
func projection(bits int, seed uint64) *model.Model {
	rng := newRand(seed, 2)
	part := func(bits int) *model.Projection {
		p := &model.Projection{Weight: make([]float32, dimensions*bits), Threshold: make([]float32, bits)}
		for i := range p.Weight {
			p.Weight[i] = float32(rng.NormFloat64())
		}
		return p
	}
	m := &model.Model{Encoder: part(bits), Info: model.Info{Method: "lsh"}}
	if seed%2 == 1 && bits > 1 && bits <= hamming.MaxWeightedBits {
		detail := 1 + int(seed/2)%(bits-1)
		m.Encoder = &model.Detailed{Class: part(bits - detail), Detail: part(detail)}
	}
	return m
}
