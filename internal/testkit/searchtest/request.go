package searchtest

import (
	"encoding/hex"
	"fmt"
	"slices"

	"hashgrove/api"
	"hashgrove/internal/hamming"
)

// query draws a query: a code near one of the items, an id, or a vector if the searcher takes vectors.
func (s *suite) query() api.Query {
	n := len(s.fixture.Items.IDs)
	switch kind := s.rng.IntN(4); {
	case kind == 0 && n > 0:
		return api.Query{ID: api.ID(s.fixture.Items.IDs[s.rng.IntN(n)].String())}
	case kind == 1:
		return api.Query{Vector: RandomVector(s.rng)}
	case kind == 2:
		return api.Query{PackedCode: s.code()}
	}
	return api.Query{Code: hex.EncodeToString(s.code())}
}

// code draws the code of an item with a few bits changed.
func (s *suite) code() []byte {
	one := hamming.NewCodes(1, s.fixture.Bits())
	if n := len(s.fixture.Items.IDs); n > 0 {
		copy(one.Row(0), s.fixture.Items.Codes.Row(s.rng.IntN(n)))
	}
	for range s.rng.IntN(4) {
		bit := s.rng.IntN(one.Bits)
		one.SetBit(0, bit, !one.Bit(0, bit))
	}
	return one.AppendBytes(nil, 0)
}

// vectorQuery draws the vector of an item that has one, or another vector.
func (s *suite) vectorQuery() api.Query {
	if n := len(s.fixture.Items.IDs); n > 0 && s.rng.IntN(3) == 0 {
		if id := api.ID(s.fixture.Items.IDs[s.rng.IntN(n)].String()); s.fixture.Vectors[id] != nil {
			return api.Query{Vector: slices.Clone(s.fixture.Vectors[id])}
		}
	}
	return api.Query{Vector: RandomVector(s.rng)}
}

// request draws a request that the searcher can answer.
func (s *suite) request() *api.Request {
	r := &api.Request{Options: s.options()}
	query := s.query
	if r.Rank == api.Margins || r.Ties != "" || r.Rerank != "" {
		query = s.vectorQuery
	}
	if n := s.rng.IntN(4); n == 0 {
		r.Query = query()
	} else {
		for range n {
			r.Queries = append(r.Queries, query())
		}
		if s.rng.IntN(4) == 0 {
			r.Queries[0].Name, r.Queries[0].Label = "the first", "unknown"
		}
	}
	return r
}

// options draws search options.
func (s *suite) options() api.Options {
	bits, o := s.fixture.Bits(), api.Options{Where: s.where()}
	if s.rng.IntN(3) > 0 {
		o.K = new([]int{1, 2, 5, 10, 50, 100_000}[s.rng.IntN(6)])
	}
	if s.rng.IntN(3) == 0 {
		o.Radius = new([]int{0, 1, 3, bits / 3, bits / 2, bits}[s.rng.IntN(6)])
	}
	if s.can.Full {
		switch s.rng.IntN(7) {
		case 0, 1:
			o.Rank = api.Margins
		case 2:
			if o.Ties = api.Margins; s.fixture.Model.Ranking != nil {
				o.Rank = []string{"", api.Expected}[s.rng.IntN(2)]
			}
		case 3:
			o.Rank = api.Hamming
		case 4:
			if o.Rank = api.Auto; s.fixture.Model.Ranking != nil {
				o.Rank = api.Expected
			}
		case 5:
			o.Ties = api.Vectors
		}
	}
	if s.can.Full && s.rng.IntN(4) == 0 {
		o.Prefix = 1 + s.rng.IntN(bits)
	}
	if s.can.Full && o.Ties == "" && s.rng.IntN(4) == 0 {
		o.Rerank = []string{api.Euclidean, api.Cosine}[s.rng.IntN(2)]
	}
	o.Explain = s.can.Full && s.rng.IntN(4) == 0
	switch s.rng.IntN(8) {
	case 0:
		o.Fields = []string{}
	case 1:
		o.Fields = []string{"label", "attributes"}
	case 2:
		o.Fields = []string{"tags"}
	}
	if s.rng.IntN(8) == 0 {
		o.Fingerprint = []string{s.fixture.Items.Fingerprint.String(), s.fixture.Items.Fingerprint.Full()}[s.rng.IntN(2)]
	}
	return o
}

// where draws a filter, often none.
func (s *suite) where() string {
	condition := func() string {
		all := [][]string{Filters, Filters, Filters, DateFilters, strangeFilters}[s.rng.IntN(5)]
		return all[s.rng.IntN(len(all))]
	}
	switch s.rng.IntN(8) {
	case 0, 1, 2:
		return condition()
	case 3:
		return fmt.Sprintf("(%s) and (%s)", condition(), condition())
	case 4:
		return fmt.Sprintf("not (%s or %s)", condition(), condition())
	}
	return ""
}
