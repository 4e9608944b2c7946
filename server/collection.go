package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"hashgrove/api"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
	"hashgrove/internal/search"
	"hashgrove/internal/store"
)

// collection is an index being served. Its file can be replaced while requests run: requests that started earlier
// finish with the old items, which stay in memory until nobody uses them.
type collection struct {
	name    string
	options CollectionOptions
	current atomic.Pointer[opened]
	album   *album     // nil without pictures
	reload  sync.Mutex // held while the file is reopened
	atlas   mapMaker
	dropped atomic.Bool  // its file is closed for good
	changed atomic.Int64 // items put, changed or deleted since the service started
	metrics *metrics

	mu     sync.Mutex
	recent []api.Write // the latest, newest first; a new list after each
}

// opened is an open index file with its model.
type opened struct {
	store itemStore
	model *model.Model // may be nil
	file  fs.FileInfo  // to notice that the file was replaced

	vectors *search.Table // nil if unknown
}

func (o *opened) snapshot() *index.Snapshot { return o.store.Snapshot() }

func (o *opened) fingerprint() hamming.Fingerprint { return o.store.Snapshot().Fingerprint() }

// open returns the file served now.
func (c *collection) open() *opened { return c.current.Load() }

func (s *Server) openCollection(ctx context.Context, o CollectionOptions) (*collection, error) {
	c := &collection{name: o.Name, options: o, metrics: s.metrics}
	now, err := s.openFile(ctx, o)
	if err != nil {
		return nil, err
	}
	c.current.Store(now)
	if o.Pictures != "" {
		if c.album, err = newAlbum(append([]string{o.Pictures}, o.More...), o.IDColumn); err != nil {
			return nil, errors.Join(fmt.Errorf("the pictures of %s: %w", o.Name, err), now.store.Close())
		}
		s.behind.Go(func() {
			began := time.Now()
			switch err := c.album.fill(s.work, now.snapshot()); {
			case err == nil:
				s.log.Info("pictures", "collection", o.Name, "made", len(c.album.at),
					"took", time.Since(began).Round(time.Millisecond))
			case s.work.Err() == nil:
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
	var own *model.Model
	if o.Model != nil {
		var err error
		if own, err = model.Read(bytes.NewReader(o.Model)); err != nil {
			return nil, fmt.Errorf("the model of %s: %w", o.Name, err)
		}
	}
	if o.Path == "" && (own != nil || o.Bits > 0) {
		return openMemory(own, o.Bits), nil
	}
	st, err := store.Open(ctx, o.Path, store.OpenOptions{ReadOnly: s.options.ReadOnly, Progress: o.Progress})
	if err != nil {
		return nil, err
	}
	fail := func(err error) (*opened, error) { return nil, errors.Join(err, st.Close()) }
	m, err := st.Model()
	if err != nil {
		return fail(err)
	}
	if m == nil && own != nil {
		if err := st.Info().Fingerprint.Accept(own.Fingerprint()); err != nil {
			return fail(fmt.Errorf("%s: %w", o.Path, err))
		}
		if bits := st.Info().Bits; own.Encoder.Bits() != bits {
			return fail(fmt.Errorf("%s has codes of %d bits, but the model makes %d", o.Path, bits, own.Encoder.Bits()))
		}
		m = own
	}
	file, err := os.Stat(o.Path)
	if err != nil {
		return fail(err)
	}
	now := &opened{store: st, model: m, file: file}
	if o.Vectors != "" {
		if now.vectors, err = readVectors(ctx, o, now); err != nil {
			return fail(fmt.Errorf("the vectors of %s: %w", o.Name, err))
		}
	}
	return now, nil
}

// reopen opens the collection's file again if it was replaced or can no longer be written.
func (s *Server) reopen(ctx context.Context, c *collection) error {
	c.reload.Lock()
	defer c.reload.Unlock()
	if c.dropped.Load() {
		return c.gone()
	}
	old := c.open()
	file, err := os.Stat(c.options.Path)
	if err != nil {
		return problem(http.StatusServiceUnavailable, "the collection's file cannot be found; the old one stays in use")
	}
	info := old.store.Info()
	if os.SameFile(file, old.file) {
		if info.Degraded == "" {
			return nil
		}
		// The file's lock must be released before it can be opened again. Searches continue on the items in memory.
		if err := old.store.Close(); err != nil {
			s.log.Warn("close", "collection", c.name, "error", err.Error())
		}
	}
	now, err := s.openFile(ctx, c.options)
	if err != nil {
		s.log.Error("reload", "collection", c.name, "error", err.Error())
		if errors.Is(err, store.ErrLocked) {
			return problem(http.StatusConflict, "another program has the file open; the old one stays in use")
		}
		return problem(http.StatusServiceUnavailable,
			"the file cannot be opened; the old items stay in use; see the service's log")
	}
	c.current.Store(now)
	c.changed.Add(int64(now.snapshot().Len())) // assume that every item changed
	if err := old.store.Close(); err != nil {
		s.log.Warn("close", "collection", c.name, "error", err.Error())
	}
	s.log.Info("reloaded", "collection", c.name, "items", now.snapshot().Len(), "fingerprint", now.fingerprint().String())
	return nil
}

func (c *collection) close() error {
	err := c.open().store.Close()
	if c.album != nil {
		err = errors.Join(err, c.album.close())
	}
	return err
}

// write changes the items. If the file was just replaced, it retries on the new one.
func (c *collection) write(r *http.Request, kind string, change func(o *opened) (items int, err error)) (int, error) {
	for {
		o := c.open()
		if err := expects(r, o.fingerprint()); err != nil {
			return 0, err
		}
		began := time.Now()
		n, err := change(o)
		if errors.Is(err, store.ErrClosed) && c.open() != o {
			continue
		}
		if errors.Is(err, store.ErrClosed) && c.dropped.Load() {
			return 0, c.gone()
		}
		if err == nil {
			c.remember(api.Write{Time: began.UTC(), Kind: kind, Items: n, Seconds: time.Since(began).Seconds()})
		}
		return n, err
	}
}

// remember notes a write.
func (c *collection) remember(w api.Write) {
	c.changed.Add(int64(w.Items))
	c.metrics.written(c.name, w.Items, w.Seconds)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recent = append([]api.Write{w}, c.recent[:min(len(c.recent), 19)]...)
}

func (c *collection) latest() []api.Write {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]api.Write{}, c.recent...)
}
