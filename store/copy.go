package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"hashgrove/index"
	"hashgrove/internal/section"
)

// putter takes items in the order of their ids.
type putter func(id index.ID, code, record []byte) error

// build makes a new file beside path with the items that fill, which may be nil, puts, and returns its name. It is
// synced; giving it its place is left to the caller. Nobody reads the file before, so its transactions need no syncs.
func build(path string, h head, st state, modelFile []byte, fill func(put putter) error) (_ string, err error) {
	tmp, err := temporary(path)
	if err != nil {
		return "", err
	}
	x := &file{}
	defer func() {
		if x.DB != nil {
			err = errors.Join(err, x.Close())
		}
		if err != nil {
			_ = os.Remove(tmp)
		}
	}()
	o := x.options(false)
	o.NoSync, o.NoGrowSync = true, true
	if x.DB, err = bolt.Open(tmp, 0, o); err != nil {
		return "", err
	}
	x.allocate()
	tx, err := x.Begin(true)
	if err != nil {
		return "", err
	}
	defer func() {
		if tx != nil {
			_ = tx.Rollback() // does nothing after a commit
		}
	}()
	for _, name := range [][]byte{infoBucket, itemBucket} {
		if _, err := tx.CreateBucket(name); err != nil {
			return "", err
		}
	}
	if len(modelFile) > 0 {
		b, err := tx.CreateBucket(modelBucket)
		if err != nil {
			return "", err
		}
		value := append(make([]byte, 4), modelFile...)
		seal(modelKey, value)
		if err := b.Put(modelKey, value); err != nil {
			return "", err
		}
	}
	st.items, st.blocks, st.sum = 0, 0, 0
	if fill != nil {
		pending := 0
		p := packer{limit: blockLimit, put: func(key, value []byte, sum uint32) error {
			if pending += len(value); pending > 64<<20 { // so much is kept in memory
				if err := tx.Commit(); err != nil {
					return err
				}
				pending = 0
				x.allocate()
				if tx, err = x.Begin(true); err != nil {
					return err
				}
			}
			st.blocks++
			st.sum += uint64(sum)
			b := tx.Bucket(itemBucket)
			b.FillPercent = 1
			return b.Put(key, value)
		}}
		err := fill(func(id index.ID, code, record []byte) error {
			st.items++
			return p.add(id, code, record)
		})
		if err == nil {
			err = p.flush()
		}
		if err != nil {
			return "", err
		}
	}
	info := tx.Bucket(infoBucket)
	if err := errors.Join(info.Put(headKey, h.value()), info.Put(stateKey, st.value())); err != nil {
		return "", err
	}
	if err := tx.Commit(); err != nil {
		return "", err
	}
	x.settle()
	return tmp, x.Sync()
}

// rewrite makes a new file of the items of an old one, each with the code that code returns for its number and its
// code so far, and checks it.
func rewrite(ctx context.Context, old *file, path string, h head, st state, modelFile []byte, code func(i int, was []byte) []byte, size int) (tmp string, err error) {
	tmp, err = build(path, h, st, modelFile, func(put putter) error {
		return old.items(ctx, size, func(i int, b *block, j int) error { return put(b.ids[j], code(i, b.code(j)), b.record(j)) })
	})
	if err != nil {
		return "", err
	}
	f, c, err := inspect(ctx, tmp, time.Now(), func(*contents, *block) error { return nil }, nil)
	if err == nil {
		err = f.Close()
	}
	if err == nil && c.items != st.items {
		err = damaged("%d of %d items were there", c.items, st.items)
	}
	if info, e := os.Stat(path); err == nil && e == nil {
		_ = os.Chmod(tmp, info.Mode().Perm()) // a private file stays private, where there are modes
	}
	if err != nil {
		_ = os.Remove(tmp)
	}
	return tmp, err
}

// items visits all items of a file in the order of their ids: item i is item j of the block.
func (x *file) items(ctx context.Context, size int, visit func(i int, b *block, j int) error) error {
	return guard(func() error {
		return x.View(func(tx *bolt.Tx) error {
			b, i, blocks := block{size: size}, 0, 0
			c := tx.Bucket(itemBucket).Cursor()
			for key, value := c.First(); key != nil; key, value = c.Next() {
				if blocks++; blocks%256 == 0 && ctx.Err() != nil {
					return context.Cause(ctx)
				}
				payload, _, err := unseal(key, value)
				if err == nil {
					err = b.parse(key, payload)
				}
				if err != nil {
					return err
				}
				for j := range b.ids {
					if err := visit(i, &b, j); err != nil {
						return err
					}
					i++
				}
			}
			return nil
		})
	})
}

// swap puts a new file into the place of the old one, which is open. It returns the new one, open to be written: whoever
// waits for the lock of the old one will see that it has lost its place.
func swap(ctx context.Context, tmp, path string) (*file, error) {
	f, err := lock(ctx, tmp, false, time.Now())
	if err != nil {
		return nil, err
	}
	if err := os.Rename(tmp, path); err != nil {
		_ = f.Close()
		return nil, err
	}
	if err := section.SyncFolder(filepath.Dir(path)); err != nil {
		return f, fmt.Errorf("the new file is in its place, but a power cut may bring the old one back: %w", err)
	}
	return f, nil
}

// Compact packs the items tightly into a new file, which takes the place of the old one, and into one segment in
// memory. It needs room for both files. After an error the items are as they were.
func (s *Store) Compact(ctx context.Context) error {
	s.write.Lock()
	defer s.write.Unlock()
	if err := s.writable(); err != nil {
		return err
	}
	tmp, err := rewrite(ctx, s.file, s.real, s.head, s.state, s.modelFile, func(_ int, was []byte) []byte { return was }, (s.head.bits+7)/8)
	if err != nil {
		return named(s.path, err)
	}
	defer os.Remove(tmp)
	f, err := swap(ctx, tmp, s.real)
	if f == nil {
		return named(s.path, err)
	}
	// The new file counts its checksums anew.
	var st state
	if e := guard(func() error {
		return f.View(func(tx *bolt.Tx) (err error) {
			st, err = parseState(tx.Bucket(infoBucket).Get(stateKey))
			return err
		})
	}); e != nil {
		s.degrade("the compacted file could not be read: "+e.Error(), false)
		return errors.Join(err, named(s.path, e), f.Close())
	}
	s.mu.Lock()
	old := s.file
	s.file, s.state, s.dirty = f, st, false
	s.mu.Unlock()
	_ = guard(old.Close) // nothing in it is needed any more
	if err != nil {
		// If the old file came back, all that was written to the new one would be lost.
		s.degrade(err.Error(), false)
		return named(s.path, err)
	}
	return s.index.Compact(ctx)
}

// Backup writes a copy of the index as it is now: an index file, which Open, Verify and Restore read. Writes go on
// meanwhile.
func (s *Store) Backup(ctx context.Context, w io.Writer) error {
	var tx *bolt.Tx
	for tx == nil {
		s.mu.Lock()
		f, stuck, why := s.file, s.stuck, s.degraded
		s.mu.Unlock()
		var err error
		switch {
		case f == nil:
			return ErrClosed
		case stuck:
			return fmt.Errorf("%w: %s", ErrReadOnly, why)
		}
		// Compact may have closed the file by now and opened another.
		if tx, err = f.Begin(false); err != nil && !errors.Is(err, berrors.ErrDatabaseNotOpen) {
			return err
		}
	}
	return errors.Join(writeTo(ctx, w, tx), tx.Rollback())
}

// writeTo writes the pages of a transaction, until the context stops it.
func writeTo(ctx context.Context, w io.Writer, tx *bolt.Tx) error {
	c := &cancellable{ctx, w, nil}
	err := guard(func() error {
		_, err := tx.WriteTo(c)
		return err
	})
	if c.err != nil { // bbolt makes a text of it
		return c.err
	}
	return err
}

// cancellable is a writer that a context can stop. It keeps its error.
type cancellable struct {
	ctx context.Context
	w   io.Writer
	err error
}

func (c *cancellable) Write(b []byte) (n int, err error) {
	if c.err = context.Cause(c.ctx); c.err == nil {
		n, c.err = c.w.Write(b)
	}
	return n, c.err
}

// BackupFile is Backup to a new file, which is checked before it takes its name. A file that is there is left alone.
func (s *Store) BackupFile(ctx context.Context, path string) error {
	return named(path, newCopy(ctx, path, func(w io.Writer) error { return s.Backup(ctx, w) }))
}

// newCopy makes a file at path of an index that write writes.
func newCopy(ctx context.Context, path string, write func(io.Writer) error) error {
	if err := vacant(path); err != nil {
		return err
	}
	tmp, err := temporary(path)
	if err != nil {
		return err
	}
	defer os.Remove(tmp)
	w, err := os.OpenFile(tmp, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if err = write(w); err == nil {
		err = w.Sync()
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	f, _, err := inspect(ctx, tmp, time.Now(), func(*contents, *block) error { return nil }, nil)
	if err != nil {
		return fmt.Errorf("the copy is not what it should be: %w", err)
	}
	if err := f.Close(); err != nil {
		return err
	}
	return place(tmp, path)
}

// Restore copies a backup to a new file, all or nothing: everything is checked before the file takes its name. A
// file that is there is left alone. Nothing but the new file is written.
func Restore(ctx context.Context, from, to string) error {
	if err := vacant(to); err != nil {
		return err
	}
	f, _, err := inspect(ctx, from, deadline(0), func(*contents, *block) error { return nil }, nil)
	if err != nil {
		return named(from, err)
	}
	defer f.Close()
	return named(to, newCopy(ctx, to, func(w io.Writer) error {
		return f.View(func(tx *bolt.Tx) error { return writeTo(ctx, w, tx) })
	}))
}
