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

	"hashgrove/internal/fileio"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
)

// draft describes a new file to be built.
type draft struct {
	path      string // its final path
	head      head
	state     state // only the number of writes is used
	modelFile []byte
}

// bulk writes a new file in large transactions. Nobody reads it before it is finished, so they need no syncs.
type bulk struct {
	file
	tx      *bolt.Tx
	state   state
	pending int // bytes in the transaction
}

// startTransaction starts a transaction.
func (w *bulk) startTransaction() (err error) {
	w.allocate()
	w.pending = 0
	w.tx, err = w.Begin(true)
	return err
}

// put writes a block.
func (w *bulk) put(key, value []byte, sum uint32) error {
	if w.pending += len(value); w.pending > 64<<20 { // the transaction is held in memory
		if err := w.tx.Commit(); err != nil {
			return err
		}
		if err := w.startTransaction(); err != nil {
			return err
		}
	}
	w.state.blocks++
	w.state.sum += uint64(sum)
	b := w.tx.Bucket(itemBucket)
	b.FillPercent = 1
	return b.Put(key, value)
}

// build makes a new file beside the path, with the items that fill puts in order of their ids (fill may be nil), and
// returns its name. The file is synced; the caller puts it in place.
func (d draft) build(fill func(put putItem) error) (_ string, err error) {
	f, err := fileio.NewTemporary(d.path)
	if err != nil {
		return "", err
	}
	tmp := f.Name()
	w := &bulk{state: state{writes: d.state.writes}}
	defer func() {
		if w.tx != nil {
			_ = w.tx.Rollback() // does nothing after a commit
		}
		if w.DB != nil {
			err = errors.Join(err, w.Close())
		} else {
			_ = f.Close()
		}
		if err != nil {
			_ = os.Remove(tmp)
		}
	}()
	o := w.options(false)
	o.NoSync, o.NoGrowSync = true, true
	o.OpenFile = func(string, int, os.FileMode) (*os.File, error) { // open and locked, so that nobody sweeps it away
		w.f = f
		return f, nil
	}
	if w.DB, err = bolt.Open(tmp, 0, o); err != nil {
		return "", err
	}
	if err := w.startTransaction(); err != nil {
		return "", err
	}
	if err := d.writeModel(w.tx); err != nil {
		return "", err
	}
	if _, err := w.tx.CreateBucket(itemBucket); err != nil {
		return "", err
	}
	if fill != nil {
		if err := w.fill(fill); err != nil {
			return "", err
		}
	}
	info, err := w.tx.CreateBucket(infoBucket)
	if err == nil {
		err = errors.Join(info.Put(headKey, d.head.value()), info.Put(stateKey, w.state.value()))
	}
	if err == nil {
		err = w.tx.Commit()
	}
	if err != nil {
		return "", err
	}
	w.settle()
	return tmp, w.Sync()
}

func (d draft) writeModel(tx *bolt.Tx) error {
	if len(d.modelFile) == 0 {
		return nil
	}
	b, err := tx.CreateBucket(modelBucket)
	if err != nil {
		return err
	}
	value := append(make([]byte, 4), d.modelFile...)
	seal(modelKey, value)
	return b.Put(modelKey, value)
}

// putItem adds an item.
type putItem func(id index.ID, code, record []byte) error

// fill packs items into blocks.
func (w *bulk) fill(fill func(put putItem) error) error {
	p := packer{limit: blockLimit, put: w.put}
	err := fill(func(id index.ID, code, record []byte) error {
		w.state.items++
		return p.add(id, code, record)
	})
	if err != nil {
		return err
	}
	return p.flush()
}

// rewrite makes a new file from the items of an old one, checks it and opens it. code returns the new code of an item,
// given its number and old code.
func (d draft) rewrite(
	ctx context.Context, old *contents, code func(i int, was []byte) []byte,
) (string, *file, error) {
	tmp, err := d.build(func(put putItem) error {
		i := 0
		return old.readItems(ctx, func(b *block) error {
			for j, id := range b.ids {
				if err := put(id, code(i, b.code(j)), b.record(j)); err != nil {
					return err
				}
				i++
			}
			return nil
		})
	})
	if err != nil {
		return "", nil, err
	}
	f, err := lock(ctx, tmp, false, time.Now(), func(c *contents) error { return c.check(ctx, nil) })
	if err != nil {
		_ = os.Remove(tmp)
	}
	return tmp, f, err
}

// settlePlace makes the replacement of a file durable.
func settlePlace(path string) error {
	if err := fileio.SyncFolder(filepath.Dir(path)); err != nil {
		return fmt.Errorf("the new file is in its place, but a power cut may bring the old one back: %w", err)
	}
	return nil
}

// Compact packs the items tightly into a new file, which replaces the old one, and into one segment in memory. It needs
// disk space for both files. After an error the items are unchanged.
func (s *Store) Compact(ctx context.Context) error {
	s.write.Lock()
	defer s.write.Unlock()
	if err := s.writable(); err != nil {
		return err
	}
	old, err := s.contents()
	if err != nil {
		return withPath(s.path, err)
	}
	d := draft{path: s.real, head: s.opened.head, state: s.state, modelFile: s.opened.modelFile}
	tmp, f, err := d.rewrite(ctx, old, func(_ int, was []byte) []byte { return was })
	if err != nil {
		return withPath(s.path, withRoom(err))
	}
	defer os.Remove(tmp)
	made := f.read.state // it has new checksums
	f, err = s.swap(ctx, f, tmp)
	if f == nil {
		return withPath(s.path, err)
	}
	s.mu.Lock()
	was := s.file
	s.file, s.state, s.dirty = f, made, false
	s.mu.Unlock()
	_ = guard(was.Close) // its contents are no longer needed
	if err != nil {
		// If the old file came back, everything written to the new one would be lost.
		s.degrade(err.Error(), false)
		return withPath(s.path, err)
	}
	if s.index == nil {
		return nil
	}
	return s.index.Compact(ctx)
}

// Save writes the items of a snapshot and their model, which may be nil, to a new index file, all or nothing.
func Save(ctx context.Context, path string, x *index.Snapshot, m *model.Model) error {
	all, err := x.Matches(index.Filter{})
	if err != nil {
		return err
	}
	b := index.NewBatch(x.Bits())
	b.Reserve(len(all), len(all))
	for _, h := range all {
		b.Append(x.Item(h))
	}
	b.Fingerprint = x.Fingerprint()
	s, err := Create(ctx, path, Options{Model: m, Bits: x.Bits(), Fingerprint: x.Fingerprint(), Items: b})
	if err != nil {
		return err
	}
	return s.Close()
}

// Backup writes a copy of the current index: an index file that Open, Verify and Restore can read. Writes continue
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
		// Compact may have closed the file and opened another.
		if tx, err = f.Begin(false); err != nil && !errors.Is(err, berrors.ErrDatabaseNotOpen) {
			return err
		}
	}
	return errors.Join(writeTo(ctx, w, tx), tx.Rollback())
}

// writeTo writes the pages of a transaction until the context ends.
func writeTo(ctx context.Context, w io.Writer, tx *bolt.Tx) error {
	c := &cancellable{ctx, w, nil}
	err := guard(func() error {
		_, err := tx.WriteTo(c)
		return err
	})
	if c.err != nil { // bbolt turns it into text
		return c.err
	}
	return err
}

// cancellable is a writer that stops when its context ends. It remembers its error.
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

// BackupFile is Backup to a new file with the permissions of the index, which is checked before it gets its name. The
// report describes it. An existing file is left alone.
func (s *Store) BackupFile(ctx context.Context, path string) (Report, error) {
	of, err := os.Stat(s.real)
	if err != nil {
		return Report{}, withPath(s.path, err)
	}
	if err := checkVacant(path); err != nil {
		return Report{}, withPath(path, err)
	}
	f, err := fileio.NewCopy(path, of)
	if err != nil {
		return Report{}, withPath(path, err)
	}
	defer os.Remove(f.Name())
	if err = s.Backup(ctx, f); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return Report{}, withPath(path, err)
	}
	r, err := checkFile(ctx, f.Name())
	if err != nil {
		err = fmt.Errorf("the copy is damaged, and %s, which it was made from, may be too: %w", s.path, err)
	} else {
		err = moveInto(f.Name(), path)
	}
	return r, withPath(path, err)
}

// Restore is BackupFile of a backup.
func Restore(ctx context.Context, from, to string) (Report, error) {
	s, err := Open(ctx, from, OpenOptions{ReadOnly: true, OnDisk: true})
	if err != nil {
		return Report{}, err
	}
	defer s.Close()
	return s.BackupFile(ctx, to)
}

// Replace atomically replaces the file at path, whatever it is, with a finished index. If the old file is an index, it
// waits until nobody uses it.
func Replace(ctx context.Context, from, path string) error {
	// Lock it before opening the old one, which sweeps away new files that nobody seems to work on.
	f, err := lock(ctx, from, false, time.Now(), nil)
	if err != nil {
		return withPath(from, err)
	}
	defer f.Close()
	old, err := Open(ctx, path, OpenOptions{OnDisk: true})
	switch {
	case err == nil:
		defer old.Close()
		path = old.real
	case errors.Is(err, ErrLocked) || ctx.Err() != nil:
		return err
	}
	if info, err := os.Stat(path); err == nil {
		_ = os.Chmod(from, info.Mode().Perm()) // a private file stays private, if there are modes
	}
	if closeToMove {
		_ = f.Close()
		if old != nil {
			_ = old.Close()
		}
	}
	if err := rename(from, path); err != nil {
		return withPath(path, err)
	}
	return withPath(path, settlePlace(path))
}
