package server

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/items"
	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// target is what one query looks for: one of its fields.
type target struct {
	Name       string    `json:"name,omitempty"`
	Vector     []float32 `json:"vector,omitempty"`
	Code       string    `json:"code,omitempty"`
	CodeBase64 string    `json:"code_base64,omitempty"`
	ID         *index.ID `json:"id,omitempty"`
	Picture    []byte    `json:"picture,omitempty"`
}

// isGiven tells whether a target names anything.
func (t *target) isGiven() bool {
	return t.Vector != nil || t.Code != "" || t.CodeBase64 != "" || t.ID != nil || t.Picture != nil
}

// searchOptions say how to search.
type searchOptions struct {
	K           *int     `json:"k,omitempty"`
	Radius      *int     `json:"radius,omitempty"`
	Where       string   `json:"where,omitempty"`
	Rank        string   `json:"rank,omitempty"`
	Prefix      int      `json:"prefix,omitempty"`
	Shortlist   int      `json:"shortlist,omitempty"`
	Rerank      string   `json:"rerank,omitempty"`
	Explain     bool     `json:"explain,omitempty"`
	Fields      []string `json:"fields,omitempty"`
	Fingerprint string   `json:"fingerprint,omitempty"`
}

// searchRequest is one query, or several.
type searchRequest struct {
	target
	searchOptions
	Queries []target `json:"queries,omitempty"`
}

// searchAnswer is the answer to a search.
type searchAnswer struct {
	Collection  string        `json:"collection"`
	Fingerprint string        `json:"fingerprint"`
	Items       int           `json:"items"`
	Bits        int           `json:"bits"`
	Seconds     float64       `json:"seconds"`
	Rank        string        `json:"rank"`
	Results     []queryAnswer `json:"results"`
}

// queryAnswer is the answer to one query, with the keys that the search verb of the command has.
type queryAnswer struct {
	Query string       `json:"query"`
	Label string       `json:"label,omitempty"`
	Code  string       `json:"code"`
	Hits  []hitAnswer  `json:"hits"`
	Plan  index.Plan   `json:"plan,omitempty"`
	Why   *explanation `json:"why,omitempty"`

	Tied     int `json:"tied,omitempty"`
	TiedHits int `json:"tied_hits,omitempty"`
	Compared int `json:"compared,omitempty"`
}

type hitAnswer struct {
	ID             index.ID               `json:"id"`
	Distance       int                    `json:"distance"`
	MarginDistance *int                   `json:"margin_distance,omitempty"`
	Score          *float64               `json:"score,omitempty"`
	Label          string                 `json:"label,omitempty"`
	Tags           []string               `json:"tags,omitempty"`
	Attributes     map[string]index.Value `json:"attributes,omitempty"`
}

// queries are targets that were read, with what their answers need of the collection.
type queries struct {
	items.Queries
	at    *index.Snapshot // all queries of a request see the same items
	model *model.Model
	known bool // the vectors of all queries are known
}

// searchByAddress searches for an item or a code that the address names.
func (s *Server) searchByAddress(w http.ResponseWriter, r *http.Request, c *collection) error {
	p := &parameters{Values: r.URL.Query()}
	request := searchRequest{searchOptions: p.searchOptions("id", "code")}
	request.Code = p.Get("code")
	if text := p.Get("id"); text != "" {
		id, err := index.ParseID(text)
		if err != nil {
			return bad("the id: %v", err)
		}
		request.ID = &id
	}
	if p.err != nil {
		return p.err
	}
	if !request.isGiven() {
		return bad("search for an item or a code: /search?id=ID or /search?code=HEX; vectors and pictures are sent with POST")
	}
	return s.answerSearch(w, r, c, request, vectors.Matrix{})
}

// search searches for what the body of the request has.
func (s *Server) search(w http.ResponseWriter, r *http.Request, c *collection) error {
	if kind(r) == kindJSON {
		var request searchRequest
		release, err := s.readJSON(w, r, &request)
		if err != nil {
			return err
		}
		defer release()
		return s.answerSearch(w, r, c, request, vectors.Matrix{})
	}
	p := &parameters{Values: r.URL.Query()}
	request := searchRequest{searchOptions: p.searchOptions()}
	if p.err != nil {
		return p.err
	}
	x, release, err := s.rows(w, r, c.open().model)
	if err != nil {
		return err
	}
	defer release()
	return s.answerSearch(w, r, c, request, x)
}

// searchOptions reads the options of a search from an address; more are other parameters that it may have.
func (p *parameters) searchOptions(more ...string) searchOptions {
	p.known(append(more, "k", "radius", "where", "rank", "prefix", "shortlist", "rerank", "explain", "fields")...)
	o := searchOptions{
		K: p.number("k"), Radius: p.number("radius"), Where: p.Get("where"), Rank: p.Get("rank"), Rerank: p.Get("rerank"),
		Explain: p.truth("explain"),
	}
	for name, to := range map[string]*int{"prefix": &o.Prefix, "shortlist": &o.Shortlist} {
		if n := p.number(name); n != nil {
			*to = *n
		}
	}
	if p.Has("fields") {
		o.Fields = strings.FieldsFunc(p.Get("fields"), func(r rune) bool { return r == ',' })
		if o.Fields == nil {
			o.Fields = []string{}
		}
	}
	return o
}

// answerSearch answers a search: for the rows of x where it has some, else for what the request names.
func (s *Server) answerSearch(
	w http.ResponseWriter, r *http.Request, c *collection, request searchRequest, x vectors.Matrix,
) error {
	if err := s.checkSearch(c, &request); err != nil {
		return err
	}
	if err := s.gate.enter(r.Context()); err != nil {
		return err
	}
	defer s.gate.leave()
	began := time.Now()
	q, err := s.readQueries(r.Context(), c, &request, x)
	if err != nil {
		return err
	}
	if err := accept(q.at.Fingerprint(), request.Fingerprint); err != nil {
		return err
	}
	results, compared, err := s.find(r.Context(), c, q, &request.searchOptions)
	if err != nil {
		return err
	}
	a := searchAnswer{
		Collection: c.name, Fingerprint: q.at.Fingerprint().String(), Items: q.at.Len(), Bits: q.at.Bits(),
		Seconds: time.Since(began).Seconds(), Rank: request.Rank, Results: make([]queryAnswer, len(results)),
	}
	for i := range results {
		if a.Results[i], err = s.queryAnswer(c, q, i, &results[i], &request.searchOptions); err != nil {
			return err
		}
		if compared != nil {
			a.Results[i].Compared = compared[i]
		}
	}
	return writeSearch(w, &a)
}

// checkSearch refuses options that cannot be meant, and fills in defaults.
func (s *Server) checkSearch(c *collection, r *searchRequest) error {
	o := &r.searchOptions
	if o.Rank == "" {
		o.Rank = string(index.ByHamming)
	}
	if o.K == nil && o.Radius == nil {
		ten := 10
		o.K = &ten
	}
	bits := c.open().snapshot().Bits()
	switch {
	case o.K != nil && (*o.K < 1 || *o.K > s.limits.K):
		return bad("k = %d: ask for 1 to %d hits", *o.K, s.limits.K)
	case o.Radius != nil && (*o.Radius < 0 || *o.Radius > bits):
		return bad("radius = %d: give a distance of 0 to %d bits", *o.Radius, bits)
	case o.Prefix < 0 || o.Prefix > bits:
		return bad("prefix = %d: give 1 to %d bits, or 0 for all", o.Prefix, bits)
	case o.Shortlist < 0:
		return bad("shortlist = %d: give a number of items, or 0 for the default", o.Shortlist)
	case o.Rank != string(index.ByHamming) && o.Rank != string(index.ByMargins):
		return bad("rank = %.40q: choose hamming or margins", o.Rank)
	case !slices.Contains([]string{"", "euclidean", "cosine"}, o.Rerank):
		return bad("rerank = %.40q: choose euclidean or cosine", o.Rerank)
	case o.Rerank != "" && c.vectors == nil:
		return bad("the service does not know the vectors of this collection, so it cannot rerank by them")
	case o.Rerank != "" && o.Rank == string(index.ByMargins):
		return bad("rerank and rank = margins are two orders: choose one")
	case len(r.Queries) > s.limits.Batch:
		return problem(http.StatusRequestEntityTooLarge, "%d queries in one request, and at most %d are allowed",
			len(r.Queries), s.limits.Batch)
	case len(r.Queries) > 0 && r.isGiven():
		return bad("give one query, or several in queries, not both")
	}
	for _, f := range o.Fields {
		if !slices.Contains([]string{"label", "tags", "attributes"}, f) {
			return bad("there is no field %.40q: fields are label, tags and attributes", f)
		}
	}
	return nil
}

// readQueries finds the codes of all queries, and their margins and vectors where the search needs them.
func (s *Server) readQueries(ctx context.Context, c *collection, r *searchRequest, x vectors.Matrix) (*queries, error) {
	now := c.open()
	q := &queries{at: now.snapshot(), model: now.model}
	q.Codes = hamming.NewCodes(0, q.at.Bits())
	if x.Rows > 0 {
		codes, err := q.model.Encode(ctx, x, s.threadsFor(x.Rows))
		if err != nil {
			return nil, bad("%v", err)
		}
		q.Codes, q.Vectors, q.known = codes, x, true
		for i := range x.Rows {
			q.Names, q.Labels = append(q.Names, strconv.Itoa(i)), append(q.Labels, "")
		}
		return q, s.addMargins(ctx, q, r.Rank)
	}
	list := r.Queries
	if len(list) == 0 {
		list = []target{r.target}
	}
	q.known = true
	for i := range list {
		if err := s.addQuery(c, q, &list[i], i); err != nil {
			if len(list) > 1 {
				return nil, inQuery(i, err)
			}
			return nil, err
		}
	}
	return q, s.addMargins(ctx, q, r.Rank)
}

// inQuery says which query an error is about.
func inQuery(i int, err error) error {
	f := new(failure)
	if errors.As(err, &f) {
		return problem(f.status, "query %d: %s", i, f.text)
	}
	return fmt.Errorf("query %d: %w", i, err)
}

// addQuery reads one target.
func (s *Server) addQuery(c *collection, q *queries, t *target, i int) error {
	given := 0
	for _, is := range []bool{t.Vector != nil, t.Code != "", t.CodeBase64 != "", t.ID != nil, t.Picture != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		return bad("a query needs one of vector, code, code_base64, id and picture, and has %d of them", given)
	}
	name, label, code, vector := t.Name, "", []uint64(nil), t.Vector
	var err error
	switch {
	case t.ID != nil:
		item, ok := q.at.Get(*t.ID)
		if !ok {
			return noItem(t.ID)
		}
		label, code = item.Label, item.Code
		if vector = c.vectors.vector(*t.ID); name == "" {
			name = t.ID.String()
		}
	case t.Code != "" || t.CodeBase64 != "":
		if code, err = readCode(t.Code, t.CodeBase64, q.at.Bits()); err != nil {
			return err
		}
	case t.Picture != nil:
		if vector, err = s.pictureVector(q.model, t.Picture); err != nil {
			return err
		}
	}
	if code == nil {
		if q.model == nil {
			return errNoModel
		}
		if code, err = q.model.EncodeRow(vector); err != nil {
			return bad("%v", err)
		}
	}
	if name == "" {
		name = strconv.Itoa(i)
	}
	if q.known = q.known && vector != nil; !q.known {
		vector, q.Vectors = nil, vectors.Matrix{}
	}
	q.Add(name, label, code, vector)
	return nil
}

// readCode reads a code in hexadecimal digits or base64.
func readCode(digits, packed string, bits int) ([]uint64, error) {
	b, err := hex.DecodeString(digits)
	if digits == "" {
		b, err = base64.StdEncoding.DecodeString(packed)
	}
	one := hamming.NewCodes(1, bits)
	if err != nil || !one.SetBytes(0, b) {
		return nil, bad("a code of %d bits is %d bytes, %d hexadecimal digits, with unused bits 0",
			bits, one.Bytes(), 2*one.Bytes())
	}
	return one.Row(0), nil
}

// addMargins finds the margins of the queries when they decide the order.
func (s *Server) addMargins(ctx context.Context, q *queries, rank string) error {
	if rank != string(index.ByMargins) {
		return nil
	}
	if !q.known || q.Vectors.Rows != q.Codes.Len() || q.model == nil {
		return bad("a ranking by margins needs vectors or pictures: codes do not say how certain they are")
	}
	m, err := q.model.Margins(ctx, q.Vectors, s.threadsFor(q.Vectors.Rows))
	if err != nil {
		return bad("%v", err)
	}
	q.Margins = m.Data
	return nil
}

// threadsFor is the number of threads for some queries: many requests run at a time, so a small one takes one.
func (s *Server) threadsFor(queries int) int {
	if queries < 32 {
		return 1
	}
	return s.options.Threads
}

// find searches for all queries; compared is the number of vectors that were compared for each, with a reranking.
func (s *Server) find(
	ctx context.Context, c *collection, q *queries, o *searchOptions,
) (results []index.Result, compared []int, err error) {
	n := q.Codes.Len()
	io := index.Options{
		Prefix: o.Prefix, Rank: index.Rank(o.Rank), Margins: q.Margins, Shortlist: o.Shortlist, Ties: true,
		Threads: s.threadsFor(n), Explain: o.Explain,
	}
	if io.Filter, err = s.filter(o.Where); err != nil {
		return nil, nil, err
	}
	most := s.limits.K
	if o.K != nil {
		most = *o.K
	}
	if n*most > s.limits.Hits {
		return nil, nil, problem(http.StatusRequestEntityTooLarge,
			"%d queries of %d hits each, and at most %d hits are allowed in one answer", n, most, s.limits.Hits)
	}
	switch {
	case o.Rerank != "":
		return s.rerank(ctx, c, q, o, io)
	case o.Radius != nil:
		io.Limit = most
		results, err = q.at.WithinBatch(ctx, q.Codes, *o.Radius, io)
	case n == 1:
		results = make([]index.Result, 1)
		results[0], err = q.at.Search(ctx, q.Codes.Row(0), most, io)
	default:
		results, err = q.at.SearchBatch(ctx, q.Codes, most, io)
	}
	return results, nil, err
}

// rerank orders the items on the shortlist of every query by their vectors.
func (s *Server) rerank(
	ctx context.Context, c *collection, q *queries, o *searchOptions, io index.Options,
) ([]index.Result, []int, error) {
	if !q.known || q.Vectors.Rows != q.Codes.Len() {
		return nil, nil, bad("a reranking needs the vectors of the queries, and a code has none")
	}
	k, radius := s.limits.K, math.MaxInt
	if o.K != nil {
		k = *o.K
	}
	if o.Radius != nil {
		radius = *o.Radius
	}
	results, compared := make([]index.Result, q.Codes.Len()), make([]int, q.Codes.Len())
	for i := range results {
		distance, err := items.Distance(o.Rerank, q.Vectors.Row(i))
		if err != nil {
			return nil, nil, err
		}
		results[i], err = q.at.Rerank(ctx, q.Codes.Row(i), k, radius, io, func(h index.Hit) (float64, error) {
			compared[i]++
			if y := c.vectors.vector(h.ID); y != nil {
				return distance(y), nil
			}
			return math.Inf(1), nil // an item whose vector is not known comes last
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return results, compared, nil
}

// queryAnswer collects the answer to one query.
func (s *Server) queryAnswer(
	c *collection, q *queries, i int, found *index.Result, o *searchOptions,
) (queryAnswer, error) {
	a := queryAnswer{
		Query: q.Names[i], Label: q.Labels[i], Code: hex.EncodeToString(q.Codes.AppendBytes(nil, i)),
		Hits: make([]hitAnswer, len(found.Hits)), Plan: found.Plan, Tied: found.Tied,
	}
	wants := func(name string) bool { return o.Fields == nil || slices.Contains(o.Fields, name) }
	label, tags, attributes := wants("label"), wants("tags"), wants("attributes")
	for j := range found.Hits {
		h, to := &found.Hits[j], &a.Hits[j]
		to.ID, to.Distance = h.ID, h.Distance
		if o.Rank == string(index.ByMargins) {
			to.MarginDistance = &h.MarginDistance
		}
		if o.Rerank != "" && !math.IsInf(h.Score, 0) {
			to.Score = &h.Score
		}
		if !label && !tags && !attributes {
			continue
		}
		item := q.at.Item(*h)
		if label {
			to.Label = item.Label
		}
		if tags {
			to.Tags = item.Tags
		}
		if attributes {
			to.Attributes = item.Attributes
		}
	}
	if a.Tied > 0 && len(found.Hits) > 0 {
		last := found.Hits[len(found.Hits)-1]
		for _, h := range found.Hits {
			if o.Rank == string(index.ByMargins) && h.MarginDistance == last.MarginDistance ||
				o.Rank != string(index.ByMargins) && h.Distance == last.Distance {
				a.TiedHits++
			}
		}
	}
	if !o.Explain || len(found.Hits) == 0 {
		return a, nil
	}
	var err error
	a.Why, err = s.why(c, q, i, q.at.Item(found.Hits[0]))
	return a, err
}
