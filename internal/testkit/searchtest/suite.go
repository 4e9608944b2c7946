// Package searchtest is the conformance suite of everything that searches. Run asks a searcher thousands of questions
// about generated items and compares every answer with that of the Oracle, the definition written down: a double loop
// and a sort.
//
//	fixture    items, vectors and a model, made from a seed
//	oracle     an api.Searcher that goes through all items
//	ranking    the definition of distances, ties, shortlists and reranking
//	condition  the definition of filters
//	request    random requests that a searcher can answer
//	refusal    requests that must be refused, with the code of the error
package searchtest

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/api"
	"hashgrove/internal/testkit/needs"
)

// Abilities says what a searcher can do. All encode vectors, find the nearest codes or those within a radius, filter,
// and return fields.
type Abilities struct {
	// Full means everything that an index with a model and the vectors of its items can: other rankings, prefixes,
	// reranking, explanations, counts of ties, and the refusal of filters that name what no item has. A searcher without
	// it must refuse requests for these with ErrUnsupported, and counts no ties.
	Full bool

	// Approximate searchers may miss a few of the nearest items and order ties as they like.
	Approximate bool
}

// fixtures lists the fixtures of the suite.
var fixtures = []Size{
	{Items: 300, Bits: 64}, {Items: 0, Bits: 32}, {Items: 1, Bits: 8}, {Items: 40, Bits: 8}, {Items: 300, Bits: 13},
	{Items: 200, Bits: 100}, {Items: 700, Bits: 128}, {Items: 300, Bits: 256},
	{Items: 300, Bits: 96, Detail: 32, Rank: api.Expected}, {Items: 300, Bits: 20, Detail: 13},
	{Items: 200, Bits: 128, Detail: 64, Rank: api.Margins}, {Items: 200, Bits: 64, Rank: api.Expected},
	{Items: 0, Bits: 9, Detail: 1, Rank: api.Hamming},
}

// Run checks a searcher. newSearcher returns one that holds exactly the items of the fixture.
func Run(t *testing.T, newSearcher func(t *testing.T, w *Fixture) api.Searcher, can Abilities) {
	for i, size := range fixtures {
		t.Run(size.String(), func(t *testing.T) {
			w := NewFixture(size, uint64(i))
			s := newSuite(t, w, can, uint64(i))
			s.searcher = newSearcher(t, w)
			s.run()
			if s.exact > 0 && float64(s.found) < 0.95*float64(s.exact) {
				t.Errorf("%d of %d hits were found", s.found, s.exact)
			}
		})
	}
}

// Ask sends a searcher one random request and compares the answer with the definition. Unlike those of Run, the items
// of the fixture may be any.
func Ask(t Tester, w *Fixture, searcher api.Searcher, can Abilities, seed uint64) {
	s := newSuite(t, w, can, seed)
	s.searcher = searcher
	s.compare(s.request())
}

// Tester is a test, of package testing or another.
type Tester interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// suite checks one searcher in one fixture.
type suite struct {
	Tester
	fixture      *Fixture
	can          Abilities
	searcher     api.Searcher
	oracle       Oracle
	rng          *rand.Rand
	exact, found int // hits of an approximate searcher
}

func newSuite(t Tester, w *Fixture, can Abilities, seed uint64) *suite {
	return &suite{Tester: t, fixture: w, can: can, oracle: Oracle{w}, rng: rand.New(rand.NewPCG(seed, 3))}
}

func (s *suite) run() {
	s.refusals()
	s.filters()
	s.random()
}

// filters searches with every filter of the lists: in full runs in four ways, else in one of them.
func (s *suite) filters() {
	few := []api.Query{s.query(), s.query()}
	ways := []api.Options{{}, {K: new(1000)}, {Radius: new(3)}, {K: new(4), Radius: new(s.fixture.Bits())}}
	for i, where := range slices.Concat([]string{""}, Filters, DateFilters, strangeFilters) {
		for j, o := range ways {
			if o.Where = where; needs.Full() || i%len(ways) == j {
				s.compare(&api.Request{Queries: few, Options: o})
			}
		}
	}
}

// random sends random requests.
func (s *suite) random() {
	n := 300
	if !needs.Full() {
		n = 60
	}
	for range n {
		s.compare(s.request())
	}
}

// compare checks that the searcher answers a request like the oracle.
func (s *suite) compare(r *api.Request) {
	s.Helper()
	asked := *r
	if !s.can.Full && (r.Rank == "" || r.Rank == api.Auto) { // whatever the model chose
		asked.Rank = api.Hamming
	}
	want, wanted := s.oracle.Search(s.Context(), &asked)
	got, err := s.searcher.Search(s.Context(), r)
	if errors.Is(wanted, api.ErrFilter) && !s.can.Full {
		if err != nil && !errors.Is(err, api.ErrFilter) && !errors.Is(err, api.ErrUnsupported) {
			s.Fatalf("%s: %v", spelled(r), err)
		}
		return
	}
	if wanted != nil {
		if !errors.Is(err, wanted) {
			s.Fatalf("%s: %v, want an error like %v", spelled(r), err, wanted)
		}
		return
	}
	if err != nil {
		s.Fatalf("%s: %v", spelled(r), err)
	}
	if err := s.same(got, want, &r.Options); err != nil {
		s.Fatalf("%s: %v", spelled(r), err)
	}
}

// spelled formats a request, a hit or an explanation for a failure message.
func spelled(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
