// Package server answers searches over HTTP: one process, several collections, each an index file that is opened once.
//
//	Options, New      choose what to serve; New opens the collections
//	Server.Handler    answers every request, from access checks to the web page (see handler.go)
//	Server.Serve      does so on a listener until the context ends, then finishes running requests
//
// openapi.json describes the API and is served at /openapi.json. The package does not link any training code: that is
// for packages workshop and worker.
package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
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

	_ "hashgrove/format/pictures" // queries may be pictures, and collections show theirs
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
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

	// Try adds requests to a server that does not answer yet, such as those of workshop.Options.Mount, which let visitors
	// upload data, train on them and search them; nil adds none. The server calls stop when it closes.
	Try func(s *Server) (stop func() error)
}

// CollectionOptions describe one collection.
type CollectionOptions struct {
	Name string // used in URLs: letters, digits, ".", "_" and "-"
	Path string // of the index file; empty makes an empty index in memory, for Model or Bits

	Bits     int      // of the codes of an index in memory without a model
	Model    []byte   // the file of a model, for an index without one; nil uses the one in the index
	Vectors  string   // data with the items' vectors, for reranking and explanations; optional
	Pictures string   // data with the items' pictures; optional
	More     []string // further data with pictures
	IDColumn string   // id column of Vectors and Pictures; empty matches by row or path
	IDs      string   // file with the ids of Vectors, one for each row; empty means that they have their own
	Report   string   // HTML report on the model's quality; optional

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
	long    *gate        // for long requests, before gate
	budget  atomic.Int64 // bytes of memory that bodies and answers may still take
	ready   atomic.Bool
	idStart string // of request ids
	count   atomic.Uint64
	work    context.Context // of background work
	stop    context.CancelFunc
	behind  sync.WaitGroup

	creating sync.Mutex // held while a collection is created or dropped
	tries    bool       // data can be uploaded to train on

	stopTry func() error // nil without uploads

	mu          sync.RWMutex
	collections map[string]*collection
}

// New opens the collections and returns a server for them.
func New(ctx context.Context, o Options) (*Server, error) {
	s := &Server{
		options: o, limits: o.Limits.WithDefaults(), log: o.Log, began: time.Now(), mux: http.NewServeMux(),
		collections: map[string]*collection{}, metrics: newMetrics(), idStart: rand.Text()[:8] + "-",
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.work, s.stop = context.WithCancel(context.Background())
	s.gate = newGate(s.limits.Searches, s.limits.Waiting, s.limits.Wait)
	s.long = newGate(max(1, s.limits.Searches/2), s.limits.Waiting, s.limits.Wait)
	s.budget.Store(s.limits.Bodies)
	for _, at := range s.routes() {
		s.handle(at)
	}
	if o.Try != nil {
		s.stopTry = o.Try(s)
	}
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

// route is a kind of request: what its address and its body may have. What a request has beyond that is refused, since
// it would have no effect.
type route struct {
	pattern    string
	access     access
	parameters string // separated by spaces; "*" leaves them to the handler
	body       bool
	answer     handler
}

// handler answers a request: with a value that is sent as JSON, or itself and with nil, or with an error.
type handler func(a *answer, r *http.Request) (any, error)

// collectionHandler answers a request about a collection.
type collectionHandler func(a *answer, r *http.Request, c *collection) (any, error)

// routes lists what the service answers; openapi.json describes it.
func (s *Server) routes() []route {
	return []route{
		{"GET /v1/server", reading, "", false, s.describeServer},
		{"GET /v1/collections", reading, "", false, s.listCollections},
		{"PUT /v1/collections/{collection}", writing, "", true, s.createCollection},
		{"DELETE /v1/collections/{collection}", writing, "", false, s.within(s.dropCollection)},
		{"GET /v1/collections/{collection}", reading, "", false, s.within(s.describeCollection)},
		{"GET /v1/collections/{collection}/search", reading, "*", false, s.within(s.searchByAddress)},
		{"POST /v1/collections/{collection}/search", reading, "*", true, s.within(s.search)},
		{"POST /v1/collections/{collection}/explain", reading, "", true, s.within(s.explain)},
		{"POST /v1/collections/{collection}/encode", reading, "margins", true, s.within(s.encode)},
		{"GET /v1/collections/{collection}/items", reading, "where contains limit after sample", false,
			s.within(s.listItems)},
		{"POST /v1/collections/{collection}/items", writing, "", true, s.within(s.putItems)},
		{"PATCH /v1/collections/{collection}/items", writing, "", true, s.within(s.patchItems)},
		{"GET /v1/collections/{collection}/items/{id...}", reading, "", false, s.item(s.getItem)},
		{"PUT /v1/collections/{collection}/items/{id...}", writing, "", true, s.item(s.putItem)},
		{"PATCH /v1/collections/{collection}/items/{id...}", writing, "", true, s.item(s.patchItem)},
		{"DELETE /v1/collections/{collection}/items/{id...}", writing, "", false, s.item(s.deleteItem)},
		{"POST /v1/collections/{collection}/delete", writing, "", true, s.within(s.deleteItems)},
		{"GET /v1/collections/{collection}/facets", reading, "where top", false, s.within(s.facets)},
		{"GET /v1/collections/{collection}/model", reading, "", false, s.within(s.describeModel)},
		{"GET /v1/collections/{collection}/backup", writing, "", false, s.within(s.backup)},
		{"POST /v1/collections/{collection}/reload", writing, "", false, s.within(s.reload)},
		{"GET /v1/collections/{collection}/pictures/{id...}", reading, "size", false, s.item(s.picture)},
		{"GET /v1/collections/{collection}/vector/{id...}", reading, "", false, s.item(s.vector)},
		{"GET /v1/collections/{collection}/report", reading, "", false, s.within(s.report)},
		{"GET /v1/collections/{collection}/map", reading, "", false, s.within(s.map_)},
		{"GET /healthz", none, "*", false, health},
		{"GET /readyz", none, "*", false, s.readiness},
		{"GET /metrics", reading, "*", false, s.writeMetrics},
		{"GET /openapi.json", none, "*", false, s.file("openapi.json")},
		{"GET /{$}", none, "*", false, s.file("page/index.html")},
		{"GET /assets/{name}", none, "*", false, s.file("")},
		{"/", reading, "*", true, s.noRoute},
	}
}

// handle registers a route.
func (s *Server) handle(at route) {
	s.mux.HandleFunc(at.pattern, func(w http.ResponseWriter, r *http.Request) {
		a := w.(*answer)
		a.access = at.access
		err := cmp.Or(s.admit(w, r, at.access), checkAddress(r), at.check(r))
		var v any
		if err == nil {
			v, err = at.answer(a, r)
		}
		var b []byte
		if err == nil && v != nil {
			b, err = json.Marshal(v) // a NaN fails
		}
		switch {
		case err != nil:
			s.writeError(a, r, err)
		case v != nil:
			a.body(cmp.Or(a.status, http.StatusOK), kindJSON, append(b, '\n'))
		}
	})
}

// within looks up the collection in the URL and rejects requests that expect another model.
func (s *Server) within(h collectionHandler) handler {
	return func(a *answer, r *http.Request) (any, error) {
		c, err := s.collection(r.PathValue("collection"))
		if err != nil {
			return nil, err
		}
		f := c.open().fingerprint()
		a.Header()["Hashgrove-Fingerprint"] = []string{f.String()}
		if err := expects(r, f); err != nil {
			return nil, err
		}
		return h(a, r, c)
	}
}

// item also reads the id of the item in the URL.
func (s *Server) item(h func(a *answer, r *http.Request, c *collection, id index.ID) (any, error)) handler {
	return s.within(func(a *answer, r *http.Request, c *collection) (any, error) {
		id, err := index.ParseID(r.PathValue("id"))
		if err != nil {
			return nil, bad("id: %v", err)
		}
		return h(a, r, c, id)
	})
}

// expects refuses a request that names another model, in its header or in its address.
func expects(r *http.Request, f hamming.Fingerprint) error {
	return cmp.Or(search.Accept(f, r.Header.Get("Hashgrove-Fingerprint")), search.Accept(f,
		r.URL.Query().Get("fingerprint")))
}

// Route is a kind of request that another package answers, under the service's tokens, limits, checks and logs. Of a
// POST a good answer has status 202.
type Route struct {
	Pattern    string // such as "GET /v1/try/{job}"
	Parameters string // that its address may have, separated by spaces
	Body       bool
	Answer     func(w http.ResponseWriter, r *http.Request) (any, error) // sent as JSON
}

// Threads returns the number of cores that a batch of searches may use; 0 means all.
func (s *Server) Threads() int { return s.options.Threads }

// MountTry adds the requests of "try your own"; nothing is answered yet.
func (s *Server) MountTry(routes ...Route) {
	s.tries = true
	for _, at := range routes {
		needed := writing
		if strings.HasPrefix(at.Pattern, "GET ") {
			needed = reading
		}
		s.handle(route{at.Pattern, needed, at.Parameters, at.Body, func(a *answer, r *http.Request) (any, error) {
			v, err := at.Answer(a, r)
			if r.Method == http.MethodPost {
				a.status = http.StatusAccepted
			}
			return v, err
		}})
	}
}

// validName restricts collection names, because they appear in URLs.
var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

func checkName(name string) error {
	if !validName.MatchString(name) {
		return bad("a collection cannot be called %.80q: use up to 64 letters, digits, '.', '_' and '-', "+
			"beginning with a letter or a digit", name)
	}
	return nil
}

// AddCollection opens an index and starts serving it.
func (s *Server) AddCollection(ctx context.Context, o CollectionOptions) error {
	if err := checkName(o.Name); err != nil {
		return err
	}
	c, err := s.openCollection(ctx, o)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.collections[o.Name]; there {
		return errors.Join(fmt.Errorf("two collections are called %q: rename one of them", o.Name), c.close())
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
	return slices.SortedFunc(maps.Values(s.collections), func(a, b *collection) int { return cmp.Compare(a.name, b.name) })
}

// Close stops background work and closes the files.
func (s *Server) Close() error {
	s.ready.Store(false)
	s.stop()
	s.behind.Wait()
	var errs []error
	if s.stopTry != nil {
		errs = append(errs, s.stopTry())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.collections {
		errs = append(errs, c.close())
	}
	clear(s.collections)
	return errors.Join(errs...)
}
