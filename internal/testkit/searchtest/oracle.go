package searchtest

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hashgrove/api"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/vectors"
)

// Oracle defines a search: for every query it goes through all items of a fixture, and sorts.
type Oracle struct{ *Fixture }

// query is a parsed query of a request.
type query struct {
	name, label string
	code        []uint64
	vector      []float32 // nil if unknown
}

// Search implements api.Searcher.
func (o Oracle) Search(ctx context.Context, r *api.Request) (*api.Answer, error) {
	if err := o.check(r); err != nil {
		return nil, err
	}
	f, err := index.Parse(r.Where)
	if err != nil {
		return nil, api.Errorf(api.ErrFilter, "%v", err)
	}
	all := o.sorted()
	items, err := Matching(all, f)
	if err != nil {
		return nil, err
	}
	a := &api.Answer{
		Fingerprint: o.Items.Fingerprint.String(), Items: len(all), Bits: o.Bits(),
		Rank: o.rank(&r.Options), Results: []api.Result{},
	}
	for i, asked := range r.All() {
		q, err := o.read(all, &asked, i)
		if err != nil {
			return nil, err
		}
		result, err := o.answer(ctx, items, q, &r.Options)
		if err != nil {
			return nil, err
		}
		a.Results = append(a.Results, *result)
	}
	return a, nil
}

// check rejects invalid requests.
func (o Oracle) check(r *api.Request) error {
	known := func(text string, of ...string) bool { return text == "" || slices.Contains(of, text) }
	switch {
	case r.K != nil && *r.K < 1, r.Radius != nil && *r.Radius < 0, r.Prefix < 0, r.Prefix > o.Bits():
		return api.Errorf(api.ErrInvalid, "a number is out of its bounds")
	case !known(r.Rank, api.Auto, api.Hamming, api.Margins, api.Expected), !known(r.Ties, api.Margins, api.Vectors),
		!known(r.Rerank, api.Euclidean, api.Cosine):
		return api.Errorf(api.ErrInvalid, "there is no such rank, order of ties or reranking")
	case r.Rank == api.Expected && o.Model.Ranking == nil:
		return api.Errorf(api.ErrInvalid, "the model knows no codes of training rows")
	case r.Queries != nil && targets(&r.Query) > 0:
		return api.Errorf(api.ErrInvalid, "one query, and a list of them")
	}
	have := o.Items.Fingerprint
	if f := strings.ToLower(r.Fingerprint); f != "" && f != have.String() && f != have.Full() {
		return api.Errorf(api.ErrOtherModel, "the codes are of model %v", have)
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

// read finds the code and the vector of query i.
func (o Oracle) read(all []index.Item, asked *api.Query, i int) (*query, error) {
	if n := targets(asked); n != 1 {
		return nil, api.Errorf(api.ErrInvalid, "query %d looks for %d things", i, n)
	}
	q := &query{name: cmp.Or(asked.Name, string(asked.ID), strconv.Itoa(i)), label: asked.Label, vector: asked.Vector}
	switch {
	case asked.Vector != nil:
		if len(asked.Vector) != Dimension {
			return nil, api.Errorf(api.ErrDimension, "query %d has %d values", i, len(asked.Vector))
		}
		code, err := o.Model.EncodeRow(asked.Vector)
		q.code = code
		return q, err
	case asked.Picture != nil:
		return nil, api.Errorf(api.ErrUnsupported, "the model was not learned from pictures")
	case asked.ID != "":
		for _, it := range all {
			if it.ID.String() == string(asked.ID) {
				q.label, q.code, q.vector = cmp.Or(q.label, it.Label), it.Code, o.Vectors[asked.ID]
				return q, nil
			}
		}
		return nil, api.Errorf(api.ErrNotFound, "no item has the id %q", asked.ID)
	}
	packed, one := asked.PackedCode, hamming.NewCodes(1, o.Bits())
	if packed == nil {
		var err error
		if packed, err = hex.DecodeString(asked.Code); err != nil {
			return nil, api.Errorf(api.ErrInvalid, "query %d: %v", i, err)
		}
	}
	if !one.SetBytes(0, packed) {
		return nil, api.Errorf(api.ErrInvalid, "query %d is no code of %d bits", i, o.Bits())
	}
	q.code = one.Row(0)
	return q, nil
}

// rank returns how the hits are ordered: as asked, or as the model chose.
func (o Oracle) rank(options *api.Options) string {
	switch {
	case options.Rank != "" && options.Rank != api.Auto:
		return options.Rank
	case options.Radius != nil || options.Ties == api.Margins:
		return api.Hamming
	}
	return o.Model.Rank()
}

// scores returns the scores of the bits of a query: its margins or, unless those were asked for, its bits, turned into
// the expected code if that is the ranking. The model defines both.
func (o Oracle) scores(ctx context.Context, q *query, options *api.Options) ([]float32, error) {
	s := vectors.Matrix{Rows: 1, Cols: o.Bits()}
	switch {
	case q.vector != nil:
		m, err := o.Model.Margins(ctx, vectors.Matrix{Rows: 1, Cols: Dimension, Data: q.vector}, 1)
		if err != nil {
			return nil, err
		}
		s.Data = m.Data
	case options.NeedsMargins():
		return nil, api.Errorf(api.ErrNoVector, "margins need a vector")
	default:
		for b := range o.Bits() {
			s.Data = append(s.Data, map[bool]float32{true: 1, false: -1}[bitOf(q.code, b)])
		}
	}
	if o.rank(options) == api.Expected {
		if err := o.Model.Expect(ctx, s); err != nil {
			return nil, err
		}
	}
	return s.Data, nil
}

// answer answers one query from the matching items.
func (o Oracle) answer(ctx context.Context, items []index.Item, q *query, options *api.Options) (*api.Result, error) {
	asked := Question{
		Code: q.code, Bits: o.Bits(), Detail: o.Detail(), K: cmp.Or(options.Limit(), math.MaxInt), Radius: math.MaxInt,
		ByMargins: o.rank(options) != api.Hamming, Prefix: options.Prefix,
	}
	if options.Radius != nil {
		asked.Radius = *options.Radius
	}
	if asked.ByMargins || options.Ties == api.Margins {
		var err error
		if asked.Margins, err = o.scores(ctx, q, options); err != nil {
			return nil, err
		}
	}
	if byVectors(options) {
		if q.vector == nil {
			return nil, api.Errorf(api.ErrNoVector, "vectors are compared with a vector")
		}
		asked.TiesOnly = options.Rerank == ""
		asked.Score = func(id index.ID) float64 {
			if y := o.Vectors[api.ID(id.String())]; y != nil {
				return distances[cmp.Or(options.Rerank, api.Euclidean)](q.vector, y)
			}
			return math.Inf(1)
		}
	}
	found := asked.Answer(items)
	if options.Rerank != "" && len(found.Hits) > 0 && math.IsInf(found.Hits[0].Score, 1) {
		return nil, api.Errorf(api.ErrInvalid, "no item near the query has a vector to rerank by")
	}
	r := &api.Result{
		Query: q.name, Label: q.label, Code: o.hex(q.code), Hits: []api.Hit{},
		Tied: found.Tied, TiedHits: found.TiedHits, Compared: found.Compared,
	}
	byID := map[index.ID]index.Item{}
	for _, it := range items {
		byID[it.ID] = it
	}
	for _, h := range found.Hits {
		r.Hits = append(r.Hits, o.hit(h, byID[h.ID], options, asked.weighted()))
	}
	if options.Explain && len(r.Hits) > 0 {
		r.Why = o.why(q, byID[found.Hits[0].ID])
	}
	return r, nil
}

// byVectors reports whether vectors order hits, or those at the same distance.
func byVectors(o *api.Options) bool { return o.Rerank != "" || o.Ties == api.Vectors }

// hit returns a hit with the wanted fields of its item.
func (o Oracle) hit(h index.Hit, it index.Item, options *api.Options, weighted bool) api.Hit {
	hit := api.Hit{ID: api.ID(h.ID.String()), Distance: h.Distance}
	if o.Detail() > 0 {
		hit.DetailDistance = &h.DetailDistance
	}
	if weighted {
		hit.MarginDistance = &h.MarginDistance
	}
	if byVectors(options) && !math.IsInf(h.Score, 0) {
		hit.Score = &h.Score
	}
	wanted := func(name string) bool { return options.Fields == nil || slices.Contains(options.Fields, name) }
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
	return hit
}

// why explains the distance of an item, by the bits of the codes alone.
func (o Oracle) why(q *query, it index.Item) *api.Why {
	w := &api.Why{Query: q.name, ID: api.ID(it.ID.String()), CodeQuery: o.hex(q.code), CodeItem: o.hex(it.Code)}
	number := map[bool]int{true: 1}
	for b := range o.Bits() {
		x, y, detail := bitOf(q.code, b), bitOf(it.Code, b), b >= o.Bits()-o.Detail()
		w.Bits = append(w.Bits, api.Bit{Bit: b, Query: number[x], Item: number[y], Agree: x == y, Detail: detail})
		switch {
		case x == y:
			w.Agree = append(w.Agree, b)
			continue
		case detail:
			w.Detail++
		default:
			w.Distance++
		}
		w.Differ = append(w.Differ, b)
	}
	return w
}

func (o Oracle) hex(code []uint64) string {
	text := ""
	for _, word := range code {
		text += fmt.Sprintf("%016x", word)
	}
	return text[:(o.Bits()+7)/8*2]
}
