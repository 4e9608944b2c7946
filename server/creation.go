package server

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"hashgrove/api"
	"hashgrove/internal/fileio"
	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
	"hashgrove/internal/store"
)

// indexEnd is the end of the names of index files in Options.Folder; what comes before it is the collection's name.
const indexEnd = ".hgi"

// reserved begins the names of collections that are made from uploads, which come and go on their own.
const reserved = "try-"

// openFolder serves the collections that were created over HTTP before.
func (s *Server) openFolder(ctx context.Context) error {
	folder := s.options.Folder
	if folder == "" {
		return nil
	}
	if !s.options.ReadOnly {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return fmt.Errorf("the folder of collections: %w", err)
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("the folder of collections: %w", err)
	}
	for _, e := range entries {
		name, is := strings.CutSuffix(e.Name(), indexEnd)
		if !is || e.IsDir() || !validName.MatchString(name) {
			continue // such as what a write that was killed has left
		}
		o := CollectionOptions{Name: name, Path: filepath.Join(folder, e.Name()), created: true}
		if err := s.AddCollection(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// createCollection makes an empty collection for an uploaded model, or for the model of another collection.
func (s *Server) createCollection(a *answer, r *http.Request) (any, error) {
	name := r.PathValue("collection")
	if s.options.Folder == "" {
		return nil, problem(http.StatusForbidden,
			"this service creates no collections: it was started without a folder for them")
	}
	if err := checkName(name); err != nil {
		return nil, err
	}
	if strings.HasPrefix(strings.ToLower(name), reserved) {
		return nil, bad("names that begin with %s are those of uploads: choose another one", reserved)
	}
	o, err := s.newIndex(a, r)
	if err := cmp.Or(err, expects(r, o.Fingerprint)); err != nil {
		return nil, err
	}
	c, err := s.create(r.Context(), name, o)
	if err != nil {
		return nil, err
	}
	a.Header().Set("Hashgrove-Fingerprint", c.open().fingerprint().String())
	return c.summary(), nil
}

// newIndex reads what a new index is for: a model file, or the name of a collection whose model it shares.
func (s *Server) newIndex(a *answer, r *http.Request) (o store.Options, err error) {
	if kind(r) != kindFloats {
		var request api.CreateRequest
		if err := s.readJSON(a, r, nil, &request); err != nil {
			return o, err
		}
		switch {
		case (request.Like == "") == (request.Bits == 0):
			return o, bad("give like, the name of a collection whose model the new one shares, or bits, the length of codes "+
				"from elsewhere, or send a model file as %s", kindFloats)
		case request.Bits < 0 || request.Bits > hamming.MaxBits || request.Bits > 0 && request.Bits < 8:
			return o, bad("codes of %d bits: they have 8 to %d", request.Bits, hamming.MaxBits)
		case request.Bits > 0:
			return store.Options{Bits: request.Bits}, nil
		}
		c, err := s.collection(request.Like)
		if err != nil {
			return o, err
		}
		now := c.open()
		return store.Options{Model: now.model, Bits: now.snapshot().Bits(), Fingerprint: now.fingerprint()}, nil
	}
	b, err := s.read(a, r)
	if err != nil {
		return o, err
	}
	if err := a.take(2 * int64(len(b))); err != nil { // the model itself, and its copy for the file
		return o, err
	}
	m, err := model.Read(bytes.NewReader(b))
	if err != nil {
		return o, bad("the model in the request: %v", err)
	}
	return store.Options{Model: m, Bits: m.Encoder.Bits(), Fingerprint: m.Fingerprint()}, nil
}

// create makes the file of a collection and serves it. The file gets its name when it is whole and on disk: a service
// that is killed has either all of the collection at its next start, or nothing.
func (s *Server) create(ctx context.Context, name string, o store.Options) (*collection, error) {
	s.creating.Lock()
	defer s.creating.Unlock()
	exists := api.Errorf(api.ErrExists, "there is already a collection %q: choose another name, or drop it first", name)
	created := 0
	for _, c := range s.all() {
		if c.name == name {
			return nil, exists
		}
		if c.options.created {
			created++
		}
	}
	if created >= s.limits.Created {
		return nil, problem(http.StatusConflict, "%d collections were created already: drop one first", created)
	}
	path := filepath.Join(s.options.Folder, name+indexEnd)
	st, err := store.Create(ctx, path, o)
	if errors.Is(err, fs.ErrExist) { // as on a file system where Shop and shop are one name
		return nil, exists
	}
	if err != nil {
		return nil, err
	}
	err = st.Close()
	if err == nil {
		err = s.AddCollection(context.WithoutCancel(ctx), CollectionOptions{Name: name, Path: path, created: true})
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	return s.collection(name)
}

// dropCollection stops serving a collection that was created over HTTP, and removes its file.
func (s *Server) dropCollection(a *answer, _ *http.Request, c *collection) (any, error) {
	if !c.options.created {
		return nil, problem(http.StatusConflict,
			"the collection %q was not created over HTTP: its file stays, and the one who starts the service decides", c.name)
	}
	s.creating.Lock()
	defer s.creating.Unlock()
	if now, err := s.collection(c.name); err != nil || now != c {
		return nil, c.gone() // somebody else has dropped it meanwhile
	}
	c.reload.Lock() // so that nothing opens the file again
	defer c.reload.Unlock()
	c.dropped.Store(true)
	dropped := api.Dropped{Collection: c.name, Fingerprint: c.about().Fingerprint}
	if err := s.RemoveCollection(c.name); err != nil {
		s.log.Warn("close", "collection", c.name, "error", err.Error())
	}
	dropped.Items = c.open().snapshot().Len() // now that no write can follow
	if err := os.Remove(c.options.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := fileio.SyncFolder(s.options.Folder); err != nil {
		return nil, err
	}
	s.metrics.forget(c.name)
	return dropped, nil
}

// gone is the error of requests to a collection that was dropped while they ran.
func (c *collection) gone() error {
	return problem(http.StatusNotFound, "the collection %q was dropped", c.name)
}
