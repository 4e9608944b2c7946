package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
	"hashgrove/internal/search"
	"hashgrove/internal/store"
)

// collection is an index that is served. Its file can be replaced while requests run: those that began before the
// replacement end with the old items, which stay in memory for as long as someone uses them.
type collection struct {
	name    string
	options CollectionOptions
	current atomic.Pointer[opened]
	vectors *search.Table // nil when no vectors are known
	album   *album        // nil when there are no pictures
	reload  sync.Mutex    // held while the file is opened again
	recent  recentWrites  //
	made    derived       // what is computed from the items now and then
	atlas   study[drawnMap]
	quality study[judged]
	changed atomic.Int64 // items that were put, changed or deleted since the service began
	written func(items int, took time.Duration)
}

// opened is a file and what was in it when it was opened.
type opened struct {
	store *store.Store
	model *model.Model // nil when there is none
	file  fs.FileInfo  // to notice that another file has its place
}

func (o *opened) snapshot() *index.Snapshot { return o.store.Snapshot() }

func (o *opened) fingerprint() hamming.Fingerprint { return o.store.Snapshot().Fingerprint() }

// open is the file that is served now.
func (c *collection) open() *opened { return c.current.Load() }

// derived is what was computed from the items in the background, by name.
type derived struct {
	mu    sync.Mutex
	known map[string]any
}

func (s *Server) openCollection(ctx context.Context, o CollectionOptions) (*collection, error) {
	c := &collection{name: o.Name, options: o}
	c.written = func(items int, took time.Duration) { s.metrics.written(o.Name, items, took) }
	now, err := s.openFile(ctx, o)
	if err != nil {
		return nil, err
	}
	c.current.Store(now)
	if o.Vectors != "" {
		if c.vectors, err = readVectors(ctx, o, now); err != nil {
			return nil, errors.Join(fmt.Errorf("the vectors of %s: %w", o.Name, err), now.store.Close())
		}
	}
	if o.Pictures != "" {
		if c.album, err = newAlbum(o.Pictures, o.IDColumn); err != nil {
			return nil, errors.Join(fmt.Errorf("the pictures of %s: %w", o.Name, err), now.store.Close())
		}
		s.behind.Go(func() {
			if err := c.album.fill(s.work, now.snapshot()); err != nil && s.work.Err() == nil {
				s.log.Error("pictures", "collection", o.Name, "error", err.Error())
			}
		})
	}
	if o.Report != "" {
		if _, err := os.Stat(o.Report); err != nil {
			return nil, errors.Join(err, now.store.Close())
		}
	}
	return c, nil
}

// openFile opens the index file of a collection.
func (s *Server) openFile(ctx context.Context, o CollectionOptions) (*opened, error) {
	st, err := store.Open(ctx, o.Path, store.OpenOptions{ReadOnly: s.options.ReadOnly, Progress: o.Progress})
	if err != nil {
		return nil, err
	}
	fail := func(err error) (*opened, error) { return nil, errors.Join(err, st.Close()) }
	m, err := st.Model()
	if err != nil {
		return fail(err)
	}
	if m == nil && o.Model != nil {
		if err := st.Info().Fingerprint.Accept(o.Model.Fingerprint()); err != nil {
			return fail(fmt.Errorf("%s: %w", o.Path, err))
		}
		if bits := st.Info().Bits; o.Model.Encoder.Bits() != bits {
			return fail(fmt.Errorf("%s has codes of %d bits, and the model makes %d", o.Path, bits, o.Model.Encoder.Bits()))
		}
		m = o.Model
	}
	file, err := os.Stat(o.Path)
	if err != nil {
		return fail(err)
	}
	return &opened{st, m, file}, nil
}

// reopen opens the file of a collection again, if another has its place or the old one can no longer be written.
func (s *Server) reopen(ctx context.Context, c *collection) error {
	c.reload.Lock()
	defer c.reload.Unlock()
	old := c.open()
	file, err := os.Stat(c.options.Path)
	if err != nil {
		return problem(http.StatusServiceUnavailable, "the file of the collection cannot be found, so the old one stays")
	}
	info := old.store.Info()
	if os.SameFile(file, old.file) {
		if info.Degraded == "" {
			return nil
		}
		// The lock of the file must be free before it can be opened. Searches go on with what is in memory.
		if err := old.store.Close(); err != nil {
			s.log.Warn("close", "collection", c.name, "error", err.Error())
		}
	}
	now, err := s.openFile(ctx, c.options)
	if err != nil {
		s.log.Error("reload", "collection", c.name, "error", err.Error())
		if errors.Is(err, store.ErrLocked) {
			return problem(http.StatusConflict, "another program has the file open, so the old one stays")
		}
		return problem(http.StatusServiceUnavailable,
			"the file cannot be opened, so the old items stay; the log of the service says why")
	}
	c.current.Store(now)
	c.changed.Add(int64(now.snapshot().Len())) // as far as anyone knows
	if err := old.store.Close(); err != nil {
		s.log.Warn("close", "collection", c.name, "error", err.Error())
	}
	s.log.Info("reloaded", "collection", c.name, "items", now.snapshot().Len(), "fingerprint", now.fingerprint().String())
	return nil
}

// close closes the file.
func (c *collection) close() error {
	err := c.open().store.Close()
	if c.album != nil {
		err = errors.Join(err, c.album.close())
	}
	return err
}

// write changes the items. A write that meets a file which has just been replaced is made on the new one.
func (c *collection) write(kind string, change func(o *opened) (items int, err error)) (int, error) {
	for {
		o := c.open()
		began := time.Now()
		n, err := change(o)
		if errors.Is(err, store.ErrClosed) && c.open() != o {
			continue
		}
		if err == nil {
			c.changed.Add(int64(n))
			took := time.Since(began)
			c.written(n, took)
			c.recent.add(recentWrite{began.UTC(), kind, n, took.Seconds()})
		}
		return n, err
	}
}

// recentWrites is the latest writes.
type recentWrites struct {
	mu   sync.Mutex
	list []recentWrite // the latest last
}

type recentWrite struct {
	Time    time.Time `json:"time"`
	Kind    string    `json:"kind"` // put, patch or delete
	Items   int       `json:"items"`
	Seconds float64   `json:"seconds"`
}

func (r *recentWrites) add(w recentWrite) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.list = append(r.list, w); len(r.list) > 40 {
		r.list = append(r.list[:0], r.list[20:]...)
	}
}

// latest returns the latest writes, the last one first.
func (r *recentWrites) latest() []recentWrite {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := []recentWrite{}
	for i := len(r.list) - 1; i >= 0 && len(list) < 20; i-- {
		list = append(list, r.list[i])
	}
	return list
}
