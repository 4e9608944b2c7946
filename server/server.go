// Package server answers searches over HTTP: one process, several collections, each an index file that is opened once.
//
//	Options, New      choose what to serve; New opens the collections
//	Server.Handler    answers every request, from access checks to the web page (see handler.go)
//	Server.Serve      does so on a listener until the context ends, then finishes running requests
//
// openapi.json describes the API and is served at /openapi.json. The package does not link any training code: package
// workshop, which trains on uploaded data, is mounted from outside.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hashgrove/internal/model"
	"hashgrove/internal/search"
)

// Options choose what to serve, to whom, and within which limits.
type Options struct {
	Collections []CollectionOptions

	// WriteToken grants everything, ReadToken everything except changes. Without tokens, anyone who can connect may
	// do everything.
	ReadToken, WriteToken string
	ReadOnly              bool // refuse changes and open files for reading only

	// Folder holds the collections that are created over HTTP, each as NAME.hgi; those that are there are served as
	// well. Empty refuses to create any.
	Folder string

	// Hosts lists the host names requests may use; empty means any. A service on loopback should list Loopback, so
	// that no web page can reach it under a name of its own (DNS rebinding).
	Hosts []string
	// Origins lists other web sites whose pages may send requests, such as https://shop.example.
	Origins []string

	Limits  Limits
	Threads int          // per batch of searches; 0 means all cores
	Log     *slog.Logger // nil logs nothing

	// LogAll logs every request, not only changes, errors and slow requests.
	LogAll bool
}

// CollectionOptions describe one collection.
type CollectionOptions struct {
	Name string // used in URLs: letters, digits, ".", "_" and "-"
	Path string // of the index file; empty makes an empty index in memory, for Model

	Model    *model.Model // for an index without a model; nil uses the one in the index
	Vectors  string       // data with the items' vectors, for reranking and explanations; optional
	Pictures string       // data with the items' pictures; optional
	More     []string     // further data with pictures
	IDColumn string       // id column of Vectors and Pictures; empty matches by row or path
	IDs      string       // file with the ids of Vectors, one for each row; empty means that they have their own
	Report   string       // HTML report on the model's quality; optional

	// Progress, if set, is called with the number of items read while the index is opened.
	Progress func(done, total int)

	created bool // over HTTP, so that it can be dropped as well
}

// Server is safe for concurrent use.
type Server struct {
	options Options
	limits  Limits
	log     *slog.Logger
	began   time.Time
	mux     *http.ServeMux
	metrics *metrics
	gate    *gate
	long    *gate // for long requests, before gate
	budget  *budget
	ids     requestIDs
	ready   atomic.Bool
	work    context.Context // of background work
	stop    context.CancelFunc
	behind  sync.WaitGroup

	making sync.Mutex // held while a collection is created or dropped

	mu          sync.RWMutex
	collections map[string]*collection
	mounted     []string
}

// New opens the collections and returns a server for them.
func New(ctx context.Context, o Options) (*Server, error) {
	s := &Server{
		options: o, limits: o.Limits.withDefaults(), log: o.Log, began: time.Now(), mux: http.NewServeMux(),
		collections: map[string]*collection{}, metrics: newMetrics(), ids: newRequestIDs(),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.work, s.stop = context.WithCancel(context.Background())
	s.gate = newGate(s.limits.Searches, s.limits.Waiting, s.limits.Wait)
	s.long = newGate(max(1, s.limits.Searches/2), s.limits.Waiting, s.limits.Wait)
	s.budget = &budget{left: s.limits.Bodies}
	s.routes()
	for _, c := range o.Collections {
		if err := s.AddCollection(ctx, c); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	if err := s.openFolder(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.ready.Store(true)
	return s, nil
}

// routes registers every route; openapi.json describes them.
func (s *Server) routes() {
	for pattern, h := range map[string]handler{
		"GET /v1/server":      s.describeServer,
		"GET /v1/collections": s.listCollections,
	} {
		s.handle(pattern, func(w http.ResponseWriter, r *http.Request) error {
			if err := nothingElse(r); err != nil {
				return err
			}
			return h(w, r)
		})
	}
	s.handle("PUT /v1/collections/{collection}", s.createCollection)
	for pattern, h := range map[string]collectionHandler{
		"DELETE /v1/collections/{collection}":               plainly(s.dropCollection),
		"GET /v1/collections/{collection}":                  plainly(s.describeCollection),
		"GET /v1/collections/{collection}/search":           s.searchByAddress,
		"POST /v1/collections/{collection}/search":          s.search,
		"POST /v1/collections/{collection}/explain":         s.explain,
		"POST /v1/collections/{collection}/encode":          s.encode,
		"GET /v1/collections/{collection}/items":            s.listItems,
		"POST /v1/collections/{collection}/items":           s.putItems,
		"PATCH /v1/collections/{collection}/items":          s.patchItems,
		"GET /v1/collections/{collection}/items/{id...}":    plainly(s.getItem),
		"PUT /v1/collections/{collection}/items/{id...}":    s.putItem,
		"PATCH /v1/collections/{collection}/items/{id...}":  s.patchItem,
		"DELETE /v1/collections/{collection}/items/{id...}": plainly(s.deleteItem),
		"POST /v1/collections/{collection}/delete":          s.deleteItems,
		"GET /v1/collections/{collection}/facets":           s.facets,
		"GET /v1/collections/{collection}/model":            plainly(s.describeModel),
		"GET /v1/collections/{collection}/backup":           plainly(s.backup),
		"POST /v1/collections/{collection}/reload":          s.reload,
		"GET /v1/collections/{collection}/pictures/{id...}": s.picture,
		"GET /v1/collections/{collection}/vector/{id...}":   plainly(s.vector),
		"GET /v1/collections/{collection}/report":           plainly(s.report),
		"GET /v1/collections/{collection}/map":              plainly(s.map_),
	} {
		s.handle(pattern, s.inCollection(h))
	}
	s.handle("/", s.noRoute)
	s.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	s.mux.HandleFunc("GET /readyz", s.readiness)
	s.handle("GET /metrics", s.writeMetrics)
	s.mux.HandleFunc("GET /openapi.json", serveOpenAPI)
	s.mux.HandleFunc("GET /{$}", servePage)
	s.mux.HandleFunc("GET /assets/{name}", serveAsset)
}

// handler answers a request; the server turns its error into a response.
type handler func(w http.ResponseWriter, r *http.Request) error

// collectionHandler answers a request about a collection.
type collectionHandler func(w http.ResponseWriter, r *http.Request, c *collection) error

func (s *Server) handle(pattern string, h handler) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			s.writeError(w, r, err)
		}
	})
}

// inCollection looks up the collection in the URL and rejects requests that expect another model.
func (s *Server) inCollection(h collectionHandler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		c, err := s.collection(r.PathValue("collection"))
		if err != nil {
			return err
		}
		f := c.open().fingerprint()
		w.Header()["Hashgrove-Fingerprint"] = []string{f.String()}
		err = search.Accept(f, r.Header.Get("Hashgrove-Fingerprint"))
		if err == nil && r.URL.RawQuery != "" {
			err = search.Accept(f, r.URL.Query().Get("fingerprint"))
		}
		if err != nil {
			return err
		}
		return h(w, r, c)
	}
}

// plainly refuses a body and parameters where a request has none, rather than leave them unread.
func plainly(h collectionHandler) collectionHandler {
	return func(w http.ResponseWriter, r *http.Request, c *collection) error {
		if err := nothingElse(r); err != nil {
			return err
		}
		return h(w, r, c)
	}
}

// Mount lets h answer all requests at /v1/PREFIX and below, subject to the same tokens, limits, logs and metrics.
func (s *Server) Mount(prefix string, h http.Handler) {
	s.mu.Lock()
	s.mounted = append(s.mounted, prefix)
	s.mu.Unlock()
	s.mux.Handle("/v1/"+prefix, h)
	s.mux.Handle("/v1/"+prefix+"/", h)
}

// validName restricts collection names, because they appear in URLs.
var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// AddCollection opens an index and starts serving it.
func (s *Server) AddCollection(ctx context.Context, o CollectionOptions) error {
	if !validName.MatchString(o.Name) {
		return fmt.Errorf("a collection cannot be called %q: use up to 64 letters, digits, '.', '_' and '-', "+
			"beginning with a letter or a digit", o.Name)
	}
	s.mu.RLock()
	_, there := s.collections[o.Name]
	s.mu.RUnlock()
	if there {
		return fmt.Errorf("two collections are called %q: rename one of them", o.Name)
	}
	c, err := s.openCollection(ctx, o)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.collections[o.Name]; there {
		return errors.Join(fmt.Errorf("two collections are called %q", o.Name), c.close())
	}
	s.collections[o.Name] = c
	return nil
}

// RemoveCollection stops serving a collection and closes its file after running searches have finished.
func (s *Server) RemoveCollection(name string) error {
	s.mu.Lock()
	c, ok := s.collections[name]
	delete(s.collections, name)
	s.mu.Unlock()
	if !ok {
		return fmt.Errorf("there is no collection %q", name)
	}
	return c.close()
}

// collection returns the collection with the given name.
func (s *Server) collection(name string) (*collection, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if c, ok := s.collections[name]; ok {
		return c, nil
	}
	return nil, problem(http.StatusNotFound, "there is no collection %.80q: available are %s", name,
		strings.Join(slices.Sorted(maps.Keys(s.collections)), ", "))
}

// all returns the collections sorted by name.
func (s *Server) all() []*collection {
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := make([]*collection, 0, len(s.collections))
	for _, name := range slices.Sorted(maps.Keys(s.collections)) {
		list = append(list, s.collections[name])
	}
	return list
}

// hasMounted reports whether a handler is mounted at a prefix.
func (s *Server) hasMounted(prefix string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Contains(s.mounted, prefix)
}

// Close stops background work and closes the files.
func (s *Server) Close() error {
	s.ready.Store(false)
	s.stop()
	s.behind.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, c := range s.collections {
		errs = append(errs, c.close())
	}
	clear(s.collections)
	return errors.Join(errs...)
}
