package server

import (
	"cmp"
	"context"
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

func (s *Server) getItem(_ *answer, _ *http.Request, c *collection, id index.ID) (any, error) {
	x := c.open().snapshot()
	it, ok := x.Get(id)
	if !ok {
		return nil, noItem(id)
	}
	return struct {
		about
		Item api.Item `json:"item"`
	}{c.about(), search.Item(it, x.Bits())}, nil
}

// listItems sends a page of items ordered by id.
func (s *Server) listItems(a *answer, r *http.Request, c *collection) (any, error) {
	p := r.URL.Query()
	text := p.Get("contains")
	sample, err := truth(r, "sample")
	limit, err2 := whole(r, "limit", 100, 1, s.limits.Page)
	f, err3 := s.filter(p.Get("where"))
	switch err := cmp.Or(err, err2, err3); {
	case err != nil:
		return nil, err
	case len(text) > s.limits.FilterBytes:
		return nil, bad("contains: give a text of at most %d bytes", s.limits.FilterBytes)
	case sample && p.Get("after") != "":
		return nil, bad("a sample is not a page: leave out after")
	}
	if err := s.gate.enter(r.Context()); err != nil {
		return nil, err
	}
	defer s.gate.leave()
	x := c.open().snapshot()
	matches, err := x.Matches(f)
	if err != nil {
		return nil, err
	}
	if text != "" {
		if matches, err = containing(r.Context(), x, matches, text); err != nil {
			return nil, err
		}
	}
	total := len(matches)
	if sample {
		matches = evenly(matches, limit) // so that there are some of every class
	}
	page := api.ItemsPage{
		Collection: c.name, Fingerprint: x.Fingerprint().String(), Items: []api.Item{}, Total: total,
	}
	if matches, page.Next, err = search.Page(matches, limit, api.ID(p.Get("after"))); err != nil {
		return nil, err
	}
	for _, h := range matches {
		page.Items = append(page.Items, search.Item(x.Item(h), x.Bits()))
	}
	return page, nil
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

// itemsRequest holds items one by one or by column.
type itemsRequest struct {
	Items []api.NewItem `json:"items,omitempty"`

	IDs           []api.ID         `json:"ids,omitempty"`
	Vectors       [][]float32      `json:"vectors,omitempty"`
	VectorsBase64 []byte           `json:"vectors_base64,omitempty"`
	Codes         []string         `json:"codes,omitempty"`
	Labels        []string         `json:"labels,omitempty"`
	Tags          [][]string       `json:"tags,omitempty"`
	Attributes    []map[string]any `json:"attributes,omitempty"`

	Mode string `json:"mode,omitempty"` // upsert or add
}

// written is the response to a write.
type written struct {
	about
	Written int `json:"written"`
}

// putItem writes the item named in the URL.
func (s *Server) putItem(a *answer, r *http.Request, c *collection, id index.ID) (any, error) {
	it := api.NewItem{ID: api.ID(id.String())}
	if err := s.readJSON(a, r, c, &it); err != nil {
		return nil, err
	}
	if string(it.ID) != id.String() {
		return nil, bad("the URL has the id %.80q but the body %.80q", id, it.ID)
	}
	return s.put(r, c, &itemsRequest{Items: []api.NewItem{it}})
}

// putItems writes all items of the request or none.
func (s *Server) putItems(a *answer, r *http.Request, c *collection) (any, error) {
	var request itemsRequest
	if err := s.readJSON(a, r, c, &request); err != nil {
		return nil, err
	}
	if !slices.Contains([]string{"", "upsert", "add"}, request.Mode) {
		return nil, bad("mode = %.40q: choose upsert or add", request.Mode)
	}
	return s.put(r, c, &request)
}

func (s *Server) put(r *http.Request, c *collection, q *itemsRequest) (any, error) {
	n, err := c.write(r, "put", func(o *opened) (int, error) {
		if q.Mode == "add" {
			return s.writeItems(r, o, q, o.store.Add) // of several that add one id, one wins, and the others get an error
		}
		return s.writeItems(r, o, q, o.store.Upsert)
	})
	return written{c.about(), n}, err
}

// writeItems encodes the items of a request, writes them, and remembers their vectors where the service has those of
// items.
func (s *Server) writeItems(
	r *http.Request, o *opened, q *itemsRequest, write func(context.Context, *index.Batch) error,
) (int, error) {
	b, rows, err := s.batch(r, o, q)
	if err != nil {
		return 0, err
	}
	done := o.vectors.Set(b, rows, o.snapshot)
	err = write(r.Context(), b)
	if done(err == nil); err != nil {
		return 0, err
	}
	return len(b.IDs), nil
}

// batch encodes the items of a request. It also returns their vectors: nil for items that come with a code.
func (s *Server) batch(r *http.Request, o *opened, q *itemsRequest) (*index.Batch, [][]float32, error) {
	if rows, ok := givenVectors(r.Context()); ok && q.Vectors == nil && q.VectorsBase64 == nil {
		q.Vectors = rows
	}
	list, err := q.list(o)
	if err != nil {
		return nil, nil, err
	}
	bits := o.snapshot().Bits()
	b, codes := index.NewBatch(bits), hamming.NewCodes(len(list), bits)
	b.Fingerprint = o.fingerprint()
	x, rows, encoded := vectors.Matrix{}, make([][]float32, len(list)), []int(nil)
	for i, it := range list {
		rows[i], err = s.itemVector(o, &it)
		switch {
		case err != nil:
		case rows[i] == nil:
			err = search.SetCode(codes, i, it.Code, it.PackedCode)
		case x.Rows > 0 && len(rows[i]) != x.Cols:
			err = bad("a vector of %d values, but earlier ones have %d", len(rows[i]), x.Cols)
		default:
			x.Rows, x.Cols, x.Data = x.Rows+1, len(rows[i]), append(x.Data, rows[i]...)
			encoded = append(encoded, i)
		}
		if err != nil {
			return nil, nil, inItem(i, err)
		}
	}
	if x.Rows > 0 {
		made, err := o.model.Encode(r.Context(), x, search.Threads(x.Rows, s.options.Threads))
		if err != nil {
			return nil, nil, bad("%v", err)
		}
		for n, i := range encoded {
			copy(codes.Row(i), made.Row(n))
		}
	}
	for i, it := range list {
		id, err := index.ParseID(string(it.ID))
		if err != nil {
			return nil, nil, inItem(i, err)
		}
		values, err := search.Values(it.Attributes)
		if err != nil {
			return nil, nil, inItem(i, err)
		}
		b.Append(index.Item{ID: id, Code: codes.Row(i), Label: it.Label, Tags: it.Tags, Attributes: values})
	}
	if err := b.Check(bits); err != nil {
		return nil, nil, bad("%v", err)
	}
	if _, err := b.Order(false); err != nil {
		return nil, nil, bad("%v", err) // nobody can say which of two items with one id is meant
	}
	return b, rows, nil
}

// inItem adds the number of the item to an error.
func inItem(i int, err error) error { return bad("item %d: %v", i, err) }

// itemVector returns an item's vector, or nil if it comes with a code.
func (s *Server) itemVector(o *opened, it *api.NewItem) ([]float32, error) {
	given := 0
	for _, is := range []bool{it.Vector != nil, it.Code != "", it.PackedCode != nil, it.Picture != nil} {
		if is {
			given++
		}
	}
	switch {
	case it.ID == "":
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

// list returns the items of a request in row form. A request has either items or columns, and columns have exactly one
// kind of vectors or codes: a key without effect would be an item that is not as it was sent.
func (q *itemsRequest) list(o *opened) ([]api.NewItem, error) {
	n := max(len(q.Items), len(q.IDs))
	if n == 0 {
		return nil, bad("give items to write: items, or ids and columns")
	}
	var sources []string
	for _, c := range []struct {
		name     string
		given    bool
		entries  int
		isSource bool // of the codes
	}{
		{"ids", q.IDs != nil, len(q.IDs), false}, {"vectors", q.Vectors != nil, len(q.Vectors), true},
		{"vectors_base64", q.VectorsBase64 != nil, n, true}, // counted when all else is well
		{"codes", q.Codes != nil, len(q.Codes), true}, {"labels", q.Labels != nil, len(q.Labels), false},
		{"tags", q.Tags != nil, len(q.Tags), false}, {"attributes", q.Attributes != nil, len(q.Attributes), false},
	} {
		switch {
		case !c.given:
			continue
		case q.Items != nil:
			return nil, bad("%s beside items: give items one by one, or ids and columns, not both", c.name)
		case c.entries != n:
			return nil, bad("%s has %d entries for %d ids", c.name, c.entries, n)
		}
		if c.isSource {
			sources = append(sources, c.name)
		}
	}
	if q.Items != nil {
		return q.Items, nil
	}
	if len(sources) != 1 {
		return nil, bad("give exactly one of vectors, vectors_base64 and codes beside ids, not %s",
			cmp.Or(strings.Join(sources, " and "), "none"))
	}
	rows := q.Vectors
	if q.VectorsBase64 != nil {
		if o.model == nil {
			return nil, search.ErrNoModel
		}
		x, err := floatRows(q.VectorsBase64, o.model.Encoder.Dim())
		if err == nil && x.Rows != n {
			err = bad("vectors_base64: %d vectors for %d ids", x.Rows, n)
		}
		if err != nil {
			return nil, err
		}
		for i := range n {
			rows = append(rows, x.Row(i))
		}
	}
	list := make([]api.NewItem, n)
	for i, id := range q.IDs {
		list[i] = api.NewItem{
			ID: id, Vector: at(rows, i), Code: at(q.Codes, i), Label: at(q.Labels, i), Tags: at(q.Tags, i),
			Attributes: at(q.Attributes, i),
		}
	}
	return list, nil
}

// at returns an entry of a column, or nothing if the column is not there.
func at[T any](column []T, i int) (entry T) {
	if column != nil {
		entry = column[i]
	}
	return entry
}
