package searchtest

import (
	"encoding/hex"
	"errors"
	"strings"

	"hashgrove/api"
)

// refusals sends requests that must be refused, and checks the codes of the errors.
func (s *suite) refusals() {
	bits := s.fixture.Bits()
	code := api.Query{Code: hex.EncodeToString(s.code())}
	vector := api.Query{Vector: make([]float32, Dimension)}
	refuse := func(name string, want api.ErrorCode, q api.Query, o api.Options) {
		s.Helper()
		a, err := s.searcher.Search(s.Context(), &api.Request{Query: q, Options: o})
		if !errors.Is(err, want) {
			s.Errorf("%s: %v, %v, want an error with the code %q", name, a, err, want)
		}
	}
	refuse("k = 0", api.ErrInvalid, code, api.Options{K: new(0)})
	refuse("k < 0", api.ErrInvalid, code, api.Options{K: new(-1), Radius: new(3)})
	refuse("radius < 0", api.ErrInvalid, code, api.Options{Radius: new(-1)})
	refuse("an unknown ranking", api.ErrInvalid, code, api.Options{Rank: "best"})
	refuse("an unknown order of ties", api.ErrInvalid, code, api.Options{Ties: "hamming"})
	refuse("an unknown reranking", api.ErrInvalid, code, api.Options{Rerank: "manhattan"})
	refuse("nothing to search for", api.ErrInvalid, api.Query{Name: "nothing"}, api.Options{})
	refuse("a code and an id", api.ErrInvalid, api.Query{Code: code.Code, ID: "5"}, api.Options{})
	refuse("a code twice", api.ErrInvalid, api.Query{Code: code.Code, PackedCode: s.code()}, api.Options{})
	refuse("a vector and a code", api.ErrInvalid, api.Query{Vector: vector.Vector, Code: code.Code}, api.Options{})
	refuse("an unknown id", api.ErrNotFound, api.Query{ID: "nobody's"}, api.Options{})
	refuse("an unknown integer", api.ErrNotFound, api.Query{ID: "123456789012"}, api.Options{})
	refuse("a filter that ends early", api.ErrFilter, code, api.Options{Where: "label ="})
	refuse("a filter with another operator", api.ErrFilter, code, api.Options{Where: "label ~ 3"})
	refuse("a short code", api.ErrInvalid, api.Query{PackedCode: []byte{}}, api.Options{})
	refuse("a long code", api.ErrInvalid, api.Query{Code: code.Code + "00"}, api.Options{})
	refuse("digits that are none", api.ErrInvalid, api.Query{Code: "x" + code.Code[1:]}, api.Options{})
	if bits%8 != 0 {
		refuse("bits beyond the end", api.ErrInvalid, api.Query{Code: strings.Repeat("f", len(code.Code))}, api.Options{})
	}
	refuse("another model", api.ErrOtherModel, code, api.Options{Fingerprint: strings.Repeat("ab", 32)})
	both := &api.Request{Query: code, Queries: []api.Query{code}}
	if _, err := s.searcher.Search(s.Context(), both); !errors.Is(err, api.ErrInvalid) {
		s.Errorf("a query, and a list of them: %v", err)
	}
	s.lacks(refuse, code, vector)
}

// lacks sends requests that need what the searcher or the query lacks.
func (s *suite) lacks(refuse func(string, api.ErrorCode, api.Query, api.Options), code, vector api.Query) {
	for _, n := range []int{1, Dimension + 1} {
		refuse("another dimension", api.ErrDimension, api.Query{Vector: make([]float32, n)}, api.Options{})
	}
	if !s.can.Full {
		refuse("margins", api.ErrUnsupported, vector, api.Options{Rank: api.Margins})
		refuse("the expected code", api.ErrUnsupported, vector, api.Options{Rank: api.Expected})
		refuse("ties by margins", api.ErrUnsupported, vector, api.Options{Ties: api.Margins})
		refuse("ties by vectors", api.ErrUnsupported, vector, api.Options{Ties: api.Vectors})
		refuse("reranking", api.ErrUnsupported, vector, api.Options{Rerank: api.Euclidean})
		refuse("a prefix", api.ErrUnsupported, code, api.Options{Prefix: 3})
		refuse("an explanation", api.ErrUnsupported, code, api.Options{Explain: true})
		return
	}
	refuse("margins of a code", api.ErrNoVector, code, api.Options{Rank: api.Margins})
	if s.fixture.Model.Ranking == nil {
		refuse("an expected code that nobody knows", api.ErrInvalid, code, api.Options{Rank: api.Expected})
	}
	refuse("reranking by a code", api.ErrNoVector, code, api.Options{Rerank: api.Euclidean})
	refuse("ties of a code by vectors", api.ErrNoVector, code, api.Options{Ties: api.Vectors})
	refuse("a prefix that is too long", api.ErrInvalid, code, api.Options{Prefix: s.fixture.Bits() + 1})
	refuse("a negative prefix", api.ErrInvalid, code, api.Options{Prefix: -1})
}
