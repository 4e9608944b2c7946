package server

import (
	"context"
	"net/http"

	"hashgrove/api"
	"hashgrove/internal/index"
	"hashgrove/internal/search"
)

// items returns a searcher over the current items of a collection.
func (s *Server) items(c *collection) *search.Items {
	now := c.open()
	x := &search.Items{
		Snapshot: now.snapshot(), Model: now.model, Threads: s.options.Threads, MaxHits: s.limits.K,
		Pixels: s.limits.Pixels, Filter: s.filter,
	}
	if now.vectors != nil {
		x.Vectors = now.vectors
	}
	return x
}

// searchByAddress searches for the item or code named in the URL.
func (s *Server) searchByAddress(a *answer, r *http.Request, c *collection) (any, error) {
	p := r.URL.Query()
	o, err := api.ParseOptions(p, "id", "code")
	if err != nil {
		return nil, err
	}
	request := &api.Request{Query: api.Query{ID: api.ID(p.Get("id")), Code: p.Get("code")}, Options: o}
	if request.ID == "" && request.Code == "" {
		return nil, bad("search for an item or a code: /search?id=ID or /search?code=HEX; POST sends vectors and pictures")
	}
	return s.answerSearch(r, c, request)
}

// search runs the search described by the request body.
func (s *Server) search(a *answer, r *http.Request, c *collection) (any, error) {
	if kind(r) == kindJSON {
		request := new(api.Request)
		if err := s.readJSON(a, r, c, request); err != nil {
			return nil, err
		}
		return s.answerSearch(r, c, request)
	}
	o, err := api.ParseOptions(r.URL.Query())
	if err != nil {
		return nil, err
	}
	x, err := s.rows(a, r, c.open().model)
	if err != nil {
		return nil, err
	}
	request := &api.Request{Queries: make([]api.Query, x.Rows), Options: o}
	for i := range request.Queries {
		request.Queries[i].Vector = x.Row(i)
	}
	return s.answerSearch(r, c, request)
}

// answerSearch checks limits, waits for a slot and sends the result of a search.
func (s *Server) answerSearch(r *http.Request, c *collection, request *api.Request) (any, error) {
	if err := s.checkLimits(c, request); err != nil {
		return nil, err
	}
	long := len(request.Queries) > 100 || request.Explain || request.Rerank != ""
	leave, err := s.enter(r.Context(), long)
	if err != nil {
		return nil, err
	}
	defer leave()
	found, err := s.items(c).Search(r.Context(), request)
	if err != nil {
		return nil, err
	}
	found.Collection = c.name
	return found, nil
}

// enter waits for a slot. Requests that may take much longer than most wait for each other first, so that they never
// hold all slots and short ones are not kept waiting by them.
func (s *Server) enter(ctx context.Context, long bool) (leave func(), err error) {
	if !long {
		return s.gate.leave, s.gate.enter(ctx)
	}
	if err := s.long.enter(ctx); err != nil {
		return nil, err
	}
	if err := s.gate.enter(ctx); err != nil {
		s.long.leave()
		return nil, err
	}
	return func() {
		s.gate.leave()
		s.long.leave()
	}, nil
}

// checkLimits rejects requests larger than the service allows.
func (s *Server) checkLimits(c *collection, r *api.Request) error {
	n, most := len(r.All()), s.limits.K
	if r.K != nil || r.Radius == nil {
		most = r.Limit()
	}
	switch {
	case most > s.limits.K:
		return bad("k = %d: ask for 1 to %d hits", most, s.limits.K)
	case n*most > s.limits.Hits:
		return problem(http.StatusRequestEntityTooLarge,
			"%d queries of %d hits each: at most %d hits are allowed in one response", n, most, s.limits.Hits)
	case r.Explain && n > s.limits.Explained:
		return problem(http.StatusRequestEntityTooLarge,
			"%d queries with explanations in one request: at most %d are allowed", n, s.limits.Explained)
	}
	o := c.open()
	if r.Rerank == "" || o.vectors == nil {
		return nil
	}
	items, dim := o.snapshot().Len(), o.model.Dim()
	if r.Radius == nil {
		items = min(items, index.Shortlisted(r.Limit()))
	}
	if most := max(1, s.limits.Compared/max(1, int64(items)*int64(dim))); int64(n) > most {
		return problem(http.StatusRequestEntityTooLarge,
			"%d queries reranked over %d items of %d values each: at most %d such queries are allowed in one request",
			n, items, dim, most)
	}
	return nil
}

// explain says why an item is at its distance from a query.
func (s *Server) explain(a *answer, r *http.Request, c *collection) (any, error) {
	var request api.ExplainRequest
	if err := s.readJSON(a, r, c, &request); err != nil {
		return nil, err
	}
	if request.ID == "" {
		return nil, bad("give the id of the item to compare the query with")
	}
	leave, err := s.enter(r.Context(), true)
	if err != nil {
		return nil, err
	}
	defer leave()
	x := s.items(c)
	why, err := x.Explain(r.Context(), request.Query, request.ID)
	if err != nil {
		return nil, err
	}
	return api.Explanation{Collection: c.name, Fingerprint: x.Snapshot.Fingerprint().String(), Why: *why}, nil
}
