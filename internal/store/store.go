// Package store keeps an index in a file, in which acknowledged writes survive a kill and a power cut.
//
// The file is a bbolt database with the items in order of their ids, many to a block (block.go), every value under a
// checksum. Opening reads the whole file once, checks it (boltpages.go, contents.go) and builds the index in memory,
// which answers all searches. A write goes to disk first, in one transaction, then to memory. Short-lived programs can
// leave the items on disk and read only what they need (selection.go). docs/formats.md draws the file.
package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"hashgrove/internal/fileio"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
)

// Errors, for errors.Is. An existing file matches fs.ErrExist, a missing one fs.ErrNotExist, and one that cannot be
// read hamming.ErrDamaged, hamming.ErrKind or hamming.ErrVersion.
var (
	ErrLocked   = errors.New("the index is in use")        // by another process, or by another Store of this one
	ErrReadOnly = errors.New("the index is read-only now") // by request, or until reopened after a failure
	ErrClosed   = errors.New("the index is closed")

	// ErrDamaged is hamming.ErrDamaged for an index.
	ErrDamaged = fmt.Errorf("%w", hamming.ErrDamaged)
)

// Options describe a new index.
type Options struct {
	// Model made the codes. It is copied into the index, so that queries can be encoded. Nil if only codes are known.
	Model *model.Model

	// Bits and Fingerprint describe the codes; both are taken from Model if it is set. A zero fingerprint means an
	// unknown model.
	Bits        int
	Fingerprint hamming.Fingerprint

	Note  string // for people; at most 512 bytes
	Index index.Config

	// Items are the initial items; the index is created with all of them or not at all. Nil means none.
	Items *index.Batch

	// Replace atomically replaces an existing file. If that is an index, it waits until nobody uses it.
	Replace bool
}

// OpenOptions configure Open.
type OpenOptions struct {
	ReadOnly bool // several programs may read an index at the same time while none writes

	// OnDisk leaves the items on disk, for short-lived programs: no index is built in memory, Select and Get read what
	// they need, and Snapshot cannot be used. With ReadOnly, opening reads a few pages, and everything else is checked
	// when read.
	OnDisk bool

	Index    index.Config
	Wait     time.Duration         // for other programs to release the file; 0 means a second, negative not at all
	Progress func(done, total int) // items read so far; may be nil
}

// Store is an index and its file. It is safe for concurrent use: writes are serialised, and searches continue on
// snapshots meanwhile.
type Store struct {
	path     string
	real     string       // the same, absolute and without links
	opened   *contents    // the contents when the file was opened; its head stays valid
	index    *index.Index // nil if the items stay on disk
	readOnly bool

	write sync.Mutex // held while the index or its file changes, or items are read from disk
	queue queue      // writes waiting for the lock

	checked bool // all items were read, so their pages are sound; guarded by write

	mu       sync.Mutex // held briefly; guards the fields below
	file     *file      // nil if closed
	state    state      // of the items in memory and on disk
	degraded string     // why nothing can be written
	stuck    bool       // bbolt panicked and may hold its locks forever
	dirty    bool       // something was written since the file was opened
	syncs    uint64     // transactions since then
	syncTime time.Duration

	commit func(*bolt.Tx) error // (*bolt.Tx).Commit; tests make it fail
}

// Info describes an open index.
type Info struct {
	Path        string              `json:"path"`
	Items       int                 `json:"items"`
	Bits        int                 `json:"bits"`
	Fingerprint hamming.Fingerprint `json:"-"`
	HasModel    bool                `json:"has_model"`
	Note        string              `json:"note,omitempty"`
	Created     time.Time           `json:"created"`
	Writes      uint64              `json:"writes"`     // since it was created
	Syncs       uint64              `json:"syncs"`      // transactions since it was opened, of one or more writes
	SyncTime    time.Duration       `json:"sync_time"`  // total time until they were on disk
	FileBytes   int64               `json:"file_bytes"` // including FreeBytes waiting to be reused
	FreeBytes   int64               `json:"free_bytes"`
	Memory      index.Memory        `json:"memory"`              // zero if the items are on disk
	ReadOnly    bool                `json:"read_only"`           // nothing can be written
	Degraded    string              `json:"degraded,omitempty"`  // why, if it was opened for writing
	Recovered   bool                `json:"recovered,omitempty"` // the latest write was incomplete and is left out
}

// Create makes a new index at path and opens it. It is an error if the file exists, unless Options.Replace is set.
func Create(ctx context.Context, path string, o Options) (*Store, error) {
	h := head{bits: o.Bits, fingerprint: o.Fingerprint, created: time.Now().UTC().Truncate(time.Second), note: o.Note}
	var modelFile bytes.Buffer
	if m := o.Model; m != nil {
		unknown := hamming.Fingerprint{}
		h.bits, h.fingerprint = m.Encoder.Bits(), m.Fingerprint()
		if o.Bits != 0 && o.Bits != h.bits || o.Fingerprint != unknown && o.Fingerprint != h.fingerprint {
			return nil, fmt.Errorf("an index for codes of %d bits of model %v cannot hold model %v of %d bits",
				o.Bits, o.Fingerprint, h.fingerprint, h.bits)
		}
		if err := model.Write(&modelFile, m); err != nil {
			return nil, err
		}
	}
	if h.bits < 1 || h.bits > hamming.MaxBits {
		return nil, fmt.Errorf("codes of %d bits: 1 to %d are possible", h.bits, hamming.MaxBits)
	}
	if len(h.note) > maxNote {
		return nil, fmt.Errorf("a note of %d bytes: at most %d are allowed", len(h.note), maxNote)
	}
	if !o.Replace {
		if err := checkVacant(path); err != nil {
			return nil, err
		}
	}
	d := draft{path: path, head: h, modelFile: modelFile.Bytes()}
	if real, err := realPath(path); err == nil && o.Replace {
		d.path = real // the file, not a link to it
	}
	fill, err := d.fillWith(ctx, o.Items)
	if err != nil {
		return nil, err
	}
	// The file gets its name when it is complete: nobody sees it half made, and a power cut or kill leaves all of it or
	// none.
	tmp, err := d.build(fill)
	if err != nil {
		return nil, err
	}
	defer os.Remove(tmp)
	if o.Replace {
		err = Replace(ctx, tmp, path)
	} else {
		err = moveInto(tmp, path)
	}
	if err != nil {
		return nil, err
	}
	// It is done now, so an interruption comes too late. The items are read once more from disk and compared with their
	// checksums; those in memory are already there.
	ctx = context.WithoutCancel(ctx)
	s, err := Open(ctx, path, OpenOptions{OnDisk: true})
	if err != nil {
		return nil, err
	}
	s.index = index.New(h.bits, h.fingerprint, o.Index)
	if o.Items != nil {
		if err := s.index.Add(ctx, o.Items); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// fillWith returns a function that puts the items of a batch into the draft; nil if that is nil.
func (d *draft) fillWith(ctx context.Context, b *index.Batch) (func(put putItem) error, error) {
	if b == nil {
		return nil, nil
	}
	if err := d.head.fingerprint.Accept(b.Fingerprint); err != nil {
		return nil, err
	}
	if err := b.Check(d.head.bits); err != nil {
		return nil, err
	}
	e, err := newEdits(b, false)
	if err != nil {
		return nil, err
	}
	if len(e.ids) > index.MaxItems {
		return nil, fmt.Errorf("%d items: at most %d are allowed", len(e.ids), index.MaxItems)
	}
	d.state.writes = 1
	return func(put putItem) error {
		for i, id := range e.ids {
			if i%(1<<16) == 0 && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			code, record, _, err := e.item(i, nil)
			if err == nil {
				err = put(id, code, record)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// Open opens an index. It reads and checks the whole file, unless that is read-only and stays on disk.
func Open(ctx context.Context, path string, o OpenOptions) (*Store, error) {
	s, err := load(ctx, path, o)
	return s, withPath(path, err)
}

func deadline(wait time.Duration) time.Time {
	if wait == 0 {
		wait = time.Second
	}
	return time.Now().Add(wait)
}

// withPath adds the path to an error that does not have it yet.
func withPath(path string, err error) error {
	if pe := new(fs.PathError); err == nil || errors.As(err, &pe) {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

func load(ctx context.Context, path string, o OpenOptions) (*Store, error) {
	var batch *index.Batch
	f, err := lock(ctx, path, o.ReadOnly, deadline(o.Wait), func(c *contents) error {
		switch {
		case o.OnDisk && o.ReadOnly:
			return c.pages.readFree()
		case o.OnDisk:
			return c.check(ctx, nil)
		}
		batch = index.NewBatch(c.bits)
		batch.Fingerprint = c.fingerprint
		var texts records
		return c.check(ctx, func(b *block) error {
			batch.Reserve(len(b.ids), int(c.items))
			err := b.appendTo(batch, &texts)
			if err == nil && o.Progress != nil {
				o.Progress(len(batch.IDs), int(c.items))
			}
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	c := f.read
	s := &Store{
		path: path, opened: c, readOnly: o.ReadOnly,
		file: f, state: c.state, checked: !o.OnDisk || !o.ReadOnly, commit: (*bolt.Tx).Commit,
	}
	s.real, err = realPath(path)
	if err == nil && !o.ReadOnly {
		fileio.Sweep(s.real, 0) // anyone making a new file for an existing index would hold the lock that we have now
	}
	if err == nil && !o.OnDisk {
		s.index = index.New(c.bits, c.fingerprint, o.Index)
		if err = s.index.Add(ctx, batch); err != nil && ctx.Err() == nil {
			err = damaged("%v", err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return s, nil
}

// Snapshot returns the current items. It panics if they are on disk.
func (s *Store) Snapshot() *index.Snapshot {
	if s.index == nil {
		panic("store: Snapshot of items that are on disk")
	}
	return s.index.Snapshot()
}

// Model returns the index's copy of the model, or nil if there is none.
func (s *Store) Model() (*model.Model, error) {
	s.write.Lock()
	defer s.write.Unlock()
	c := s.opened
	if c.modelFile == nil && c.hasModel() {
		if s.file == nil {
			return nil, ErrClosed
		}
		if err := c.readModel(); err != nil {
			return nil, withPath(s.path, err)
		}
	}
	m, err := c.decodeModel()
	return m, withPath(s.path, err)
}

// Info describes the index.
func (s *Store) Info() Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.opened
	i := Info{
		Path: s.path, Items: int(s.state.items), Bits: c.bits, Fingerprint: c.fingerprint, HasModel: c.hasModel(),
		Note: c.note, Created: c.created, Writes: s.state.writes, Syncs: s.syncs, SyncTime: s.syncTime,
		Degraded: s.degraded, Recovered: c.pages.meta.alone,
		ReadOnly: s.readOnly || s.degraded != "" || s.file == nil,
	}
	if s.index != nil {
		x := s.index.Snapshot()
		i.Items, i.Memory = x.Len(), x.Memory()
	}
	if s.file == nil {
		return i
	}
	if info, err := s.file.f.Stat(); err == nil {
		i.FileBytes = info.Size()
	}
	i.FreeBytes = int64(c.pages.free) * pageSize
	if !s.readOnly {
		stats := s.file.Stats()
		i.FreeBytes = int64(stats.FreePageN+stats.PendingPageN) * pageSize
	}
	return i
}

// Close closes the file, after waiting for a write or backup in progress. Snapshots stay usable.
func (s *Store) Close() error {
	s.write.Lock()
	defer s.write.Unlock()
	s.mu.Lock()
	f, stuck, sound := s.file, s.stuck, s.dirty && s.degraded == ""
	s.file = nil
	s.mu.Unlock()
	switch {
	case f == nil:
		return nil
	case stuck:
		return f.f.Close() // bbolt would wait for itself; its mapping keeps the lock until the process ends
	case sound:
		f.settle()
	}
	return guard(f.Close)
}
