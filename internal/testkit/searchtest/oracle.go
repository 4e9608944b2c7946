package searchtest

import (
	"cmp"
	"context"
	"math"
	"strconv"

	"hashgrove/api"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/search"
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
	if err := cmp.Or(r.Check(), r.CheckBits(o.Bits()), search.Accept(o.Items.Fingerprint, r.Fingerprint)); err != nil {
		return nil, err
	}
	if r.Rank == api.Expected && o.Model.Ranking == nil {
		return nil, api.Errorf(api.ErrInvalid, "the model knows no codes of training rows")
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

// read finds the code and the vector of query i.
func (o Oracle) read(all []index.Item, asked *api.Query, i int) (*query, error) {
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
	one := hamming.NewCodes(1, o.Bits())
	if err := search.SetCode(one, 0, asked.Code, asked.PackedCode); err != nil {
		return nil, err
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
		Query: q.name, Label: q.label, Code: search.HexCode(q.code, o.Bits()),
		Tied: found.Tied, TiedHits: found.TiedHits, Compared: found.Compared,
	}
	byID := map[index.ID]index.Item{}
	for _, it := range items {
		byID[it.ID] = it
	}
	r.Hits = make([]api.Hit, len(found.Hits))
	for i := range found.Hits {
		it := byID[found.Hits[i].ID]
		search.FillHit(&r.Hits[i], &found.Hits[i], &it, options, o.Detail() > 0, asked.weighted())
	}
	if options.Explain && len(r.Hits) > 0 {
		r.Why = o.why(q, byID[found.Hits[0].ID])
	}
	return r, nil
}

// byVectors reports whether vectors order hits, or those at the same distance.
func byVectors(o *api.Options) bool { return o.Rerank != "" || o.Ties == api.Vectors }

// why explains the distance of an item, by the bits of the codes alone.
func (o Oracle) why(q *query, it index.Item) *api.Why {
	w := &api.Why{Query: q.name, ID: api.ID(it.ID.String()), CodeQuery: search.HexCode(q.code, o.Bits()),
		CodeItem: search.HexCode(it.Code, o.Bits()), Agree: []int{}, Differ: []int{}}
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
