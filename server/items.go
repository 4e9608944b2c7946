package server

import (
	"context"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"hashgrove/api"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/search"
	"hashgrove/internal/vectors"
)

// about is the common head of responses about a collection.
type about struct {
	Collection  string `json:"collection"`
	Fingerprint string `json:"fingerprint"`
}

func (c *collection) about() about { return about{c.name, c.open().fingerprint().String()} }

func (s *Server) getItem(w http.ResponseWriter, r *http.Request, c *collection) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	x := c.open().snapshot()
	it, ok := x.Get(id)
	if !ok {
		return noItem(id)
	}
	writeJSON(w, http.StatusOK, struct {
		about
		Item api.Item `json:"item"`
	}{c.about(), search.Item(it, x.Bits())})
	return nil
}

// listItems sends a page of items ordered by id.
func (s *Server) listItems(w http.ResponseWriter, r *http.Request, c *collection) error {
	if err := noBody(r); err != nil {
		return err
	}
	p := &parameters{Values: r.URL.Query()}
	p.known("where", "contains", "limit", "after", "sample")
	sample := p.truth("sample")
	limit := 100
	if n := p.number("limit"); n != nil {
		limit = *n
	}
	switch {
	case p.err != nil:
		return p.err
	case limit < 1 || limit > s.limits.Page:
		return bad("limit=%d: ask for 1 to %d items", limit, s.limits.Page)
	case p.Has("contains") && (p.Get("contains") == "" || len(p.Get("contains")) > s.limits.FilterBytes):
		return bad("contains: give a text of 1 to %d bytes", s.limits.FilterBytes)
	}
	f, err := s.filter(p.Get("where"))
	if err != nil {
		return err
	}
	if err := s.gate.enter(r.Context()); err != nil {
		return err
	}
	defer s.gate.leave()
	x := c.open().snapshot()
	matches, err := x.Matches(f)
	if err != nil {
		return err
	}
	if text := p.Get("contains"); text != "" {
		if matches, err = containing(r.Context(), x, matches, text); err != nil {
			return err
		}
	}
	total := len(matches)
	if sample && p.Get("after") != "" {
		return bad("a sample is not a page: leave out after")
	}
	if sample && total > limit { // spread evenly, so that there are some of every class
		spread := make([]index.Hit, limit)
		for i := range spread {
			spread[i] = matches[i*total/limit]
		}
		matches = spread
	}
	if p.Get("after") != "" {
		after, err := index.ParseID(p.Get("after"))
		if err != nil {
			return bad("after: %v", err)
		}
		at, found := slices.BinarySearchFunc(matches, after, func(h index.Hit, id index.ID) int { return h.ID.Compare(id) })
		if found {
			at++
		}
		matches = matches[at:]
	}
	a := api.ItemsPage{
		Collection: c.name, Fingerprint: x.Fingerprint().String(), Items: []api.Item{}, Total: total,
	}
	if len(matches) > limit {
		matches = matches[:limit]
		a.Next = api.ID(matches[limit-1].ID.String())
	}
	for _, h := range matches {
		a.Items = append(a.Items, search.Item(x.Item(h), x.Bits()))
	}
	writeJSON(w, http.StatusOK, a)
	return nil
}

// containing keeps the items that have a text in their id, label, a tag or an attribute, in upper or lower case.
func containing(ctx context.Context, x *index.Snapshot, list []index.Hit, text string) (kept []index.Hit, err error) {
	text = strings.ToLower(text)
	has := func(s string) bool { return strings.Contains(strings.ToLower(s), text) }
	for i, h := range list {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		it := x.Item(h)
		found := has(h.ID.String()) || has(it.Label) || slices.ContainsFunc(it.Tags, has)
		for _, v := range it.Attributes {
			words, isText := v.Text()
			found = found || isText && has(words)
		}
		if found {
			kept = append(kept, h)
		}
	}
	return kept, nil
}

// newItem is an item to write.
type newItem struct {
	ID         *index.ID              `json:"id,omitempty"`
	Vector     []float32              `json:"vector,omitempty"`
	Code       string                 `json:"code,omitempty"`
	CodeBase64 []byte                 `json:"code_base64,omitempty"`
	Picture    []byte                 `json:"picture,omitempty"`
	Label      string                 `json:"label,omitempty"`
	Tags       []string               `json:"tags,omitempty"`
	Attributes map[string]index.Value `json:"attributes,omitempty"`
}

// itemsRequest holds items one by one or by column.
type itemsRequest struct {
	Items []newItem `json:"items,omitempty"`

	IDs           []index.ID               `json:"ids,omitempty"`
	Vectors       [][]float32              `json:"vectors,omitempty"`
	VectorsBase64 string                   `json:"vectors_base64,omitempty"`
	Codes         []string                 `json:"codes,omitempty"`
	Labels        []string                 `json:"labels,omitempty"`
	Tags          [][]string               `json:"tags,omitempty"`
	Attributes    []map[string]index.Value `json:"attributes,omitempty"`

	Mode        string `json:"mode,omitempty"` // upsert or add
	Fingerprint string `json:"fingerprint,omitempty"`
}

// written is the response to a write.
type written struct {
	about
	Written int   `json:"written"`
	Created *bool `json:"created,omitempty"` // of one item
}

// putItem writes the item named in the URL.
func (s *Server) putItem(w http.ResponseWriter, r *http.Request, c *collection) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	var request struct {
		newItem
		Fingerprint string `json:"fingerprint,omitempty"`
	}
	release, err := s.readJSON(w, r, c, &request)
	if err != nil {
		return err
	}
	defer release()
	it := request.newItem
	if it.ID != nil && *it.ID != id {
		return bad("the URL has the id %.80q but the body %.80q", id, it.ID)
	}
	it.ID = &id
	created := false
	_, err = c.write("put", func(o *opened) (int, error) {
		if err := search.Accept(o.fingerprint(), request.Fingerprint); err != nil {
			return 0, err
		}
		b, err := s.batch(r, o, &itemsRequest{Items: []newItem{it}})
		if err != nil {
			return 0, err
		}
		replaced, err := o.store.Put(r.Context(), b)
		created = replaced == 0
		return 1, err
	})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, written{c.about(), 1, &created})
	return nil
}

// putItems writes all items of the request or none.
func (s *Server) putItems(w http.ResponseWriter, r *http.Request, c *collection) error {
	var request itemsRequest
	release, err := s.readJSON(w, r, c, &request)
	if err != nil {
		return err
	}
	defer release()
	if !slices.Contains([]string{"", "upsert", "add"}, request.Mode) {
		return bad("mode = %.40q: choose upsert or add", request.Mode)
	}
	n, err := c.write("put", func(o *opened) (int, error) {
		if err := search.Accept(o.fingerprint(), request.Fingerprint); err != nil {
			return 0, err
		}
		b, err := s.batch(r, o, &request)
		if err != nil {
			return 0, err
		}
		if request.Mode != "add" {
			return len(b.IDs), o.store.Upsert(r.Context(), b)
		}
		return len(b.IDs), o.store.Add(r.Context(), b) // of several that add one id, one wins, and the others are told
	})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, written{about: c.about(), Written: n})
	return nil
}

// batch encodes the items of a request.
func (s *Server) batch(r *http.Request, o *opened, q *itemsRequest) (*index.Batch, error) {
	bits := o.snapshot().Bits()
	b := index.NewBatch(bits)
	b.Fingerprint = o.fingerprint()
	list, err := q.list()
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, bad("give items to write")
	}
	if len(list) > s.limits.Batch {
		return nil, problem(http.StatusRequestEntityTooLarge, "%d items in one request: at most %d are allowed",
			len(list), s.limits.Batch)
	}
	x, rows := vectors.Matrix{}, make([]int, len(list)) // row numbers from 1; 0 for items with codes
	if q.VectorsBase64 != "" {
		if x, err = packedRows(q.VectorsBase64, o, len(list)); err != nil {
			return nil, err
		}
		for i := range rows {
			rows[i] = i + 1
		}
	}
	codes := make([][]uint64, len(list))
	for i := range list {
		if rows[i] > 0 {
			continue
		}
		vector, err := s.itemVector(o, &list[i])
		if err != nil {
			return nil, inItem(i, err)
		}
		if vector == nil {
			one := hamming.NewCodes(1, bits)
			if err := search.SetCode(one, 0, list[i].Code, list[i].CodeBase64); err != nil {
				return nil, inItem(i, err)
			}
			codes[i] = one.Data
			continue
		}
		if x.Rows > 0 && len(vector) != x.Cols {
			return nil, inItem(i, bad("a vector of %d values, but earlier ones have %d", len(vector), x.Cols))
		}
		x.Cols, x.Data = len(vector), append(x.Data, vector...)
		x.Rows++
		rows[i] = x.Rows
	}
	if x.Rows > 0 {
		made, err := o.model.Encode(r.Context(), x, search.Threads(x.Rows, s.options.Threads))
		if err != nil {
			return nil, bad("%v", err)
		}
		for i, row := range rows {
			if row > 0 {
				codes[i] = made.Row(row - 1)
			}
		}
	}
	for i, it := range list {
		b.Append(index.Item{ID: *it.ID, Code: codes[i], Label: it.Label, Tags: it.Tags, Attributes: it.Attributes})
	}
	if err := b.Check(bits); err != nil {
		return nil, bad("%v", err)
	}
	if _, err := b.Order(false); err != nil {
		return nil, bad("%v", err) // nobody can say which of two items with one id is meant
	}
	return b, nil
}

// inItem adds the number of the item to an error.
func inItem(i int, err error) error { return bad("item %d: %v", i, err) }

// packedRows decodes vectors from base64.
func packedRows(text string, o *opened, n int) (vectors.Matrix, error) {
	if o.model == nil {
		return vectors.Matrix{}, search.ErrNoModel
	}
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return vectors.Matrix{}, bad("vectors_base64: %v", err)
	}
	x, err := floatRows(packed, o.model.Encoder.Dim())
	if err == nil && x.Rows != n {
		err = bad("%d vectors for %d ids", x.Rows, n)
	}
	return x, err
}

// itemVector returns an item's vector, or nil if it comes with a code.
func (s *Server) itemVector(o *opened, it *newItem) ([]float32, error) {
	given := 0
	for _, is := range []bool{it.Vector != nil, it.Code != "", it.CodeBase64 != nil, it.Picture != nil} {
		if is {
			given++
		}
	}
	switch {
	case it.ID == nil:
		return nil, bad("no id")
	case given != 1:
		return nil, bad("an item needs exactly one of vector, code, code_base64 and picture, but has %d of them", given)
	case it.Picture != nil:
		return search.PictureVector(o.model, it.Picture, s.limits.Pixels)
	case it.Vector != nil && o.model == nil:
		return nil, search.ErrNoModel
	}
	return it.Vector, nil
}

// list returns the items of a request in row form.
func (q *itemsRequest) list() ([]newItem, error) {
	if len(q.IDs) == 0 {
		return q.Items, nil
	}
	n := len(q.IDs)
	switch {
	case len(q.Items) > 0:
		return nil, bad("give items, or ids and columns, not both")
	case q.Vectors != nil && len(q.Vectors) != n, q.Codes != nil && len(q.Codes) != n:
		return nil, bad("%d vectors and %d codes for %d ids", len(q.Vectors), len(q.Codes), n)
	case q.Labels != nil && len(q.Labels) != n, q.Tags != nil && len(q.Tags) != n,
		q.Attributes != nil && len(q.Attributes) != n:
		return nil, bad("labels, tags and attributes need one entry for each of the %d ids", n)
	}
	list := make([]newItem, n)
	for i := range list {
		list[i].ID = &q.IDs[i]
		if q.Vectors != nil {
			list[i].Vector = q.Vectors[i]
		}
		if q.Codes != nil {
			list[i].Code = q.Codes[i]
		}
		if q.Labels != nil {
			list[i].Label = q.Labels[i]
		}
		if q.Tags != nil {
			list[i].Tags = q.Tags[i]
		}
		if q.Attributes != nil {
			list[i].Attributes = q.Attributes[i]
		}
	}
	return list, nil
}
