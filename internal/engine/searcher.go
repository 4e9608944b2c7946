package engine

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"hashgrove/api"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
	"hashgrove/internal/picture/gallery"
)

// Searcher answers requests from the table of an engine: by code, by id and, with a model, by vector and picture. An
// engine knows codes alone, so margins, prefixes, reranking and explanations are refused.
type Searcher struct {
	engine Engine
	model  *model.Model // nil means none
	info   Info
}

// maxPixels is the largest picture that a query may be.
const maxPixels = 100_000_000

// NewSearcher makes an api.Searcher of an engine. The model may be nil; another than that of the codes is refused.
func NewSearcher(ctx context.Context, e Engine, m *model.Model) (*Searcher, error) {
	info, err := e.Info(ctx)
	if err == nil && m != nil {
		err = info.Accept(Space{m.Encoder.Bits(), m.Fingerprint()})
	}
	return &Searcher{e, m, info}, err
}

// Search implements api.Searcher.
func (s *Searcher) Search(ctx context.Context, r *api.Request) (*api.Answer, error) {
	began := time.Now()
	if err := s.check(r); err != nil {
		return nil, err
	}
	q := Query{Codes: hamming.NewCodes(0, s.info.Bits), K: r.Limit(), Radius: -1}
	if r.Radius != nil {
		q.Radius = *r.Radius
	}
	var err error
	if q.Filter, err = index.Parse(r.Where); err != nil {
		return nil, api.Errorf(api.ErrFilter, "the filter %q: %v", r.Where, err)
	}
	a := &api.Answer{
		Fingerprint: s.info.Fingerprint.String(), Bits: s.info.Bits, Rank: api.Hamming, Results: []api.Result{},
	}
	for i, asked := range r.All() {
		result, err := s.read(ctx, &asked, i, &q.Codes)
		if err != nil {
			return nil, err
		}
		a.Results = append(a.Results, result)
	}
	found, err := s.engine.Search(ctx, q)
	_, strange := errors.AsType[*index.FilterError](err)
	switch {
	case strange:
		return nil, api.Errorf(api.ErrFilter, "%v", err)
	case errors.Is(err, ErrFilter):
		return nil, api.Errorf(api.ErrUnsupported, "%v", err)
	case err != nil:
		return nil, err
	}
	if a.Items, err = s.engine.Count(ctx); err != nil {
		return nil, err
	}
	if err := s.describe(ctx, a, found, r.Fields); err != nil {
		return nil, err
	}
	a.Seconds = time.Since(began).Seconds()
	return a, nil
}

// check refuses what cannot be meant, and what an engine cannot do.
func (s *Searcher) check(r *api.Request) error {
	known := func(text string, of ...string) bool { return text == "" || slices.Contains(of, text) }
	switch f := strings.ToLower(r.Fingerprint); {
	case r.K != nil && *r.K < 1:
		return api.Errorf(api.ErrInvalid, "k = %d: ask for 1 hit or more", *r.K)
	case r.Radius != nil && *r.Radius < 0:
		return api.Errorf(api.ErrInvalid, "radius = %d: give a distance of 0 bits or more", *r.Radius)
	case !known(r.Rank, api.Hamming, api.Margins), !known(r.Ties, api.Margins),
		!known(r.Rerank, api.Euclidean, api.Cosine), !known(r.Strategy, "auto", "scan", "tables", "list"):
		return api.Errorf(api.ErrInvalid, "rank, ties, rerank or strategy has a value that is not known")
	case r.Queries != nil && targets(&r.Query) > 0:
		return api.Errorf(api.ErrInvalid, "give one query, or several in queries, not both")
	case r.Rank == api.Margins, r.Ties != "", r.Prefix != 0, r.Rerank != "", r.Shortlist != 0, r.Strategy != "", r.Explain:
		return api.Errorf(api.ErrUnsupported, "%s ranks by Hamming distance alone, without margins, prefix, rerank, "+
			"strategy and explain: search an index for those", s.info.Engine)
	case f != "" && f != s.info.Fingerprint.String() && f != s.info.Fingerprint.Full():
		return api.Errorf(api.ErrOtherModel, "the request expects codes of model %.64q, and the table has those of %v",
			r.Fingerprint, s.info.Fingerprint)
	}
	return nil
}

// targets counts what a query looks for, which should be one thing.
func targets(q *api.Query) (n int) {
	for _, given := range []bool{q.Vector != nil, q.Picture != nil, q.Code != "", q.PackedCode != nil, q.ID != ""} {
		if given {
			n++
		}
	}
	return n
}

// read adds the code of query i to the others, and begins its result.
func (s *Searcher) read(ctx context.Context, q *api.Query, i int, codes *hamming.Codes) (api.Result, error) {
	result := api.Result{Query: cmp.Or(q.Name, string(q.ID), strconv.Itoa(i)), Label: q.Label, Hits: []api.Hit{}}
	if n := targets(q); n != 1 {
		return result, api.Errorf(api.ErrInvalid,
			"query %d: a query needs one of vector, picture, code, code_base64 and id, and has %d of them", i, n)
	}
	packed := q.PackedCode
	switch {
	case q.ID != "":
		item, err := s.item(ctx, q.ID)
		if err != nil {
			return result, err
		}
		codes.Data = append(codes.Data, item.Code...)
		result.Label = cmp.Or(q.Label, item.Label)
	case q.Vector != nil || q.Picture != nil:
		code, err := s.encode(q)
		if err != nil {
			return result, err
		}
		codes.Data = append(codes.Data, code...)
	case packed == nil:
		var err error
		if packed, err = hex.DecodeString(q.Code); err != nil {
			return result, api.Errorf(api.ErrInvalid, "query %d: a code has hexadecimal digits: %v", i, err)
		}
	}
	if packed != nil && (len(packed) != codes.Bytes() || !codes.Append(packed)) {
		return result, api.Errorf(api.ErrInvalid, "query %d: a code of %d bits is %d bytes with unused bits 0",
			i, codes.Bits, codes.Bytes())
	}
	result.Code = hex.EncodeToString(codes.AppendBytes(nil, codes.Len()-1))
	return result, nil
}

// item reads an item of the table.
func (s *Searcher) item(ctx context.Context, id api.ID) (item index.Item, err error) {
	found := false
	err = s.engine.Read(ctx, index.IDs(index.Text(string(id))), func(b *index.Batch) error {
		item, found = b.Item(0), true
		return nil
	})
	if err == nil && !found {
		err = api.Errorf(api.ErrNotFound, "no item of the table %s has the id %q", s.info.Table, id)
	}
	return item, err
}

// encode turns a vector or a picture into a code.
func (s *Searcher) encode(q *api.Query) ([]uint64, error) {
	if s.model == nil {
		return nil, api.Errorf(api.ErrNoModel, "there is no model to encode with: search by code or by id")
	}
	x := q.Vector
	if q.Picture != nil {
		if s.model.Pictures == nil {
			return nil, api.Errorf(api.ErrUnsupported, "the model takes vectors, not pictures")
		}
		row, err := gallery.Row(*s.model.Pictures, q.Picture, maxPixels)
		if err == nil {
			x, err = s.model.PixelVector(row)
		}
		if err != nil {
			return nil, api.Errorf(api.ErrInvalid, "the picture %v", err)
		}
	}
	code, err := s.model.EncodeRow(x)
	switch {
	case errors.Is(err, model.ErrDim):
		return nil, api.Errorf(api.ErrDimension, "%v", err)
	case err != nil:
		return nil, api.Errorf(api.ErrInvalid, "%v", err)
	}
	return code, nil
}

// describe makes hits of what was found, with those fields of the items that are wanted.
func (s *Searcher) describe(ctx context.Context, a *api.Answer, found [][]index.Hit, fields []string) error {
	items := map[index.ID]index.Item{}
	if fields == nil || len(fields) > 0 {
		for _, hits := range found {
			for _, h := range hits {
				items[h.ID] = index.Item{}
			}
		}
		if err := s.fill(ctx, items); err != nil {
			return err
		}
	}
	wanted := func(name string) bool { return fields == nil || slices.Contains(fields, name) }
	for i, hits := range found {
		for _, h := range hits {
			it, hit := items[h.ID], api.Hit{ID: api.ID(h.ID.String()), Distance: h.Distance}
			if wanted("label") {
				hit.Label = it.Label
			}
			if wanted("tags") {
				hit.Tags = it.Tags
			}
			for name, v := range it.Attributes {
				if !wanted("attributes") && !wanted(name) {
					continue
				}
				if hit.Attributes == nil {
					hit.Attributes = map[string]any{}
				}
				if text, ok := v.Text(); ok {
					hit.Attributes[name] = text
				} else {
					hit.Attributes[name], _ = v.Number()
				}
			}
			a.Results[i].Hits = append(a.Results[i].Hits, hit)
		}
	}
	return nil
}

// fill reads items by their ids, some at a time.
func (s *Searcher) fill(ctx context.Context, items map[index.ID]index.Item) error {
	var ids []index.ID
	for id := range items {
		ids = append(ids, id)
	}
	const some = 1000
	for part := range slices.Chunk(ids, some) {
		err := s.engine.Read(ctx, index.IDs(part...), func(b *index.Batch) error {
			for i, id := range b.IDs {
				items[id] = b.Item(i)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
