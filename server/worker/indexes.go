package worker

import (
	"bytes"
	"context"
	"math"
	"net/http"
	"os"
	"path/filepath"

	"hashgrove"
	"hashgrove/api"
	"hashgrove/internal/model/inside"
	"hashgrove/internal/store"
	"hashgrove/server"
)

// unlimited are the limits of a service whose one user has started it.
var unlimited = server.Limits{
	Body: math.MaxInt64 / 4, Bodies: math.MaxInt64 / 4, Searches: 1 << 10, Waiting: 1 << 20, Wait: math.MaxInt64,
	K: math.MaxInt32, Batch: math.MaxInt32, Hits: math.MaxInt / 4, Explained: math.MaxInt32, Compared: math.MaxInt64 / 4,
	Page: math.MaxInt32, FilterBytes: math.MaxInt32, FilterDepth: math.MaxInt32, Pixels: math.MaxInt32,
}

// service returns the service of the worker's indexes.
func (s *workerState) service() (*server.Server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.web != nil {
		return s.web, nil
	}
	web, err := server.New(context.Background(), server.Options{Limits: unlimited, Threads: s.threads})
	s.web = web
	return web, err
}

// indexParams are those of the operations on an index.
type indexParams struct {
	Name string `json:"name"`
	Path string `json:"path,omitempty"`

	Model uint64 `json:"model,omitempty"` // of a new index, or
	Bits  int    `json:"bits,omitempty"`

	Radius int  `json:"radius,omitempty"` // of near-duplicates
	Groups bool `json:"groups,omitempty"`
	Most   int  `json:"most,omitempty"`

	IDs []api.ID `json:"ids,omitempty"` // of vectors
}

// openIndex opens an index as a collection of the service: that of a file, or with a model or the length of codes an
// empty one, in memory or in a new file.
func (c *call) openIndex(p *indexParams) (any, []Array, error) {
	o, made := server.CollectionOptions{Name: p.Name, Path: p.Path, Bits: p.Bits}, store.Options{Bits: p.Bits}
	if p.Model != 0 {
		m, err := c.model(p.Model)
		if err != nil {
			return nil, nil, err
		}
		own, err := file(m)
		if err != nil {
			return nil, nil, err
		}
		o.Model, made.Model = own.data, inside.Model(m)
	}
	if p.Path != "" && (p.Model != 0 || p.Bits != 0) {
		s, err := store.Create(c.ctx, p.Path, made)
		if err == nil {
			err = s.Close()
		}
		if err != nil {
			return nil, nil, err
		}
	}
	web, err := c.service()
	if err == nil {
		err = web.AddCollection(c.ctx, o)
	}
	return nil, nil, err
}

// saveIndex writes an index to a new file.
func (c *call) saveIndex(p *indexParams) (any, []Array, error) {
	web, err := c.service()
	if err == nil {
		err = web.Save(c.ctx, p.Name, p.Path)
	}
	return nil, nil, err
}

// duplicates finds near-duplicates among the items of an index. The array has a row for each pair, two places in the
// list of ids and a distance, or for each item of a group, the group, a place in the list, and 0.
func (c *call) duplicates(p *indexParams) (any, []Array, error) {
	web, err := c.service()
	if err != nil {
		return nil, nil, err
	}
	folder, err := os.MkdirTemp("", "hashgrove-duplicates-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "index")
	if err := web.Save(c.ctx, p.Name, path); err != nil {
		return nil, nil, err
	}
	d, err := hashgrove.FindDuplicates(c.ctx, path, hashgrove.DuplicateOptions{
		Radius: p.Radius, Groups: p.Groups, Most: p.Most, Threads: c.threads,
	})
	if err != nil {
		return nil, nil, err
	}
	ids, rows, places := []api.ID{}, []int32{}, map[api.ID]int32{}
	place := func(id api.ID) int32 {
		n, ok := places[id]
		if !ok {
			n = int32(len(ids))
			ids, places[id] = append(ids, id), n
		}
		return n
	}
	for pair, err := range d.AllPairs(c.ctx) {
		if err != nil {
			return nil, nil, err
		}
		rows = append(rows, place(pair.A), place(pair.B), int32(pair.Distance))
	}
	group := int32(0)
	for members := range d.AllGroups() {
		for _, id := range members {
			rows = append(rows, group, place(id), 0)
		}
		group++
	}
	return map[string]any{"ids": ids}, []Array{arrayOf(rows, len(rows)/3, 3)}, nil
}

// setVectors keeps the vectors of items, which are the array, so that searches can rerank and explain.
func (c *call) setVectors(p *indexParams) (any, []Array, error) {
	rows, err := c.rows(0)
	if err != nil {
		return nil, nil, err
	}
	if len(p.IDs) != len(rows) {
		return nil, nil, api.Errorf(api.ErrInvalid, "%d ids for %d vectors", len(p.IDs), len(rows))
	}
	ids := make([]string, len(rows))
	for i, id := range p.IDs {
		ids[i] = string(id)
	}
	web, err := c.service()
	if err == nil {
		err = web.SetVectors(c.ctx, p.Name, ids, rows)
	}
	return nil, nil, err
}

type httpParams struct {
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers,omitempty"`
}

// http passes a request of the HTTP API to the service. The first array, if there is one, is its body, and the second
// has the vectors of its items or queries. The array of the answer is the body of the response.
func (c *call) http(p *httpParams) (any, []Array, error) {
	web, err := c.service()
	if err != nil {
		return nil, nil, err
	}
	ctx, body := c.ctx, []byte(nil)
	if len(c.arrays) > 0 {
		body = c.arrays[0].data
	}
	if len(c.arrays) > 1 {
		rows, err := c.rows(1)
		if err != nil {
			return nil, nil, err
		}
		ctx = server.WithVectors(ctx, rows)
	}
	r, err := http.NewRequestWithContext(ctx, p.Method, "http://localhost"+p.Path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, api.Errorf(api.ErrInvalid, "%v", err)
	}
	r.RequestURI = p.Path
	for name, value := range p.Headers {
		r.Header.Set(name, value)
	}
	w := &response{status: http.StatusOK, header: http.Header{}}
	web.Handler().ServeHTTP(w, r)
	if err := context.Cause(c.ctx); err != nil {
		return nil, nil, err
	}
	headers := map[string]string{}
	for name := range w.header {
		headers[name] = w.header.Get(name)
	}
	return map[string]any{"status": w.status, "headers": headers}, []Array{arrayOf(w.body)}, nil
}

// response is an http.ResponseWriter that keeps the response.
type response struct {
	status int
	header http.Header
	body   []byte
}

func (w *response) Header() http.Header    { return w.header }
func (w *response) WriteHeader(status int) { w.status = status }
func (w *response) Write(b []byte) (int, error) {
	w.body = append(w.body, b...)
	return len(b), nil
}
