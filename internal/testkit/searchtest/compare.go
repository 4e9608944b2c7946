package searchtest

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"hashgrove/api"
)

// same returns an error that tells how an answer differs from the wanted one.
func (s *suite) same(got, want *api.Answer, o *api.Options) error {
	full := s.fixture.Items.Fingerprint.Full()
	switch {
	case len(got.Fingerprint) < 16 || !strings.HasPrefix(full, got.Fingerprint):
		return fmt.Errorf("the fingerprint is %q, want %s", got.Fingerprint, full)
	case got.Items != want.Items || got.Bits != want.Bits || got.Rank != want.Rank:
		return fmt.Errorf("%d items of %d bits ranked by %q, want %d, %d, %q",
			got.Items, got.Bits, got.Rank, want.Items, want.Bits, want.Rank)
	case len(got.Results) != len(want.Results):
		return fmt.Errorf("%d results, want %d", len(got.Results), len(want.Results))
	}
	for i := range want.Results {
		if err := s.sameResult(&got.Results[i], &want.Results[i], o); err != nil {
			return fmt.Errorf("query %d: %w", i, err)
		}
	}
	return nil
}

// sameResult compares the answers to one query.
func (s *suite) sameResult(got, want *api.Result, o *api.Options) error {
	if got.Query != want.Query || got.Label != want.Label || got.Code != want.Code {
		return fmt.Errorf("the query is %q (%q), code %s; want %q (%q), code %s",
			got.Query, got.Label, got.Code, want.Query, want.Label, want.Code)
	}
	if s.can.Approximate {
		return s.near(got.Hits, want.Hits)
	}
	if err := sameHits(got.Hits, want.Hits); err != nil {
		return err
	}
	if o.Explain {
		if err := sameWhy(got.Why, want.Why); err != nil {
			return err
		}
	}
	switch {
	case !s.can.Full && (got.Tied > 0 || got.TiedHits > 0):
		return errors.New("ties are counted, and the searcher is not able to")
	case s.can.Full && !byVectors(o) && (got.Tied != want.Tied || got.TiedHits != want.TiedHits):
		return fmt.Errorf("%d hits of %d items tie with the last, want %d of %d",
			got.TiedHits, got.Tied, want.TiedHits, want.Tied)
	case !byVectors(o) && got.Compared != 0 || got.Compared > want.Compared:
		return fmt.Errorf("%d vectors were compared, of %d on the shortlist", got.Compared, want.Compared)
	}
	return nil
}

// near checks that no hit of an approximate answer is nearer than the items are, and counts those that are near enough.
func (s *suite) near(got, want []api.Hit) error {
	if len(got) > len(want) {
		return fmt.Errorf("%d hits, and there are %d", len(got), len(want))
	}
	s.exact += len(want)
	for i, h := range got {
		if h.Ranked() < want[i].Ranked() {
			return fmt.Errorf("%s at distance %d comes as hit %d, and there are fewer items as near", h.ID, h.Ranked(), i)
		}
		if h.Ranked() <= want[len(want)-1].Ranked() {
			s.found++
		}
	}
	return nil
}

// sameHits compares the found items and their fields.
func sameHits(got, want []api.Hit) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d hits, want %d", len(got), len(want))
	}
	for i := range want {
		if !sameHit(&got[i], &want[i]) {
			return fmt.Errorf("hit %d is\n%s, want\n%s", i, spelled(got[i]), spelled(want[i]))
		}
	}
	return nil
}

func sameHit(a, b *api.Hit) bool {
	return a.ID == b.ID && a.Distance == b.Distance && equal(a.DetailDistance, b.DetailDistance) &&
		equal(a.MarginDistance, b.MarginDistance) &&
		(a.Score == nil) == (b.Score == nil) && (a.Score == nil || math.Abs(*a.Score-*b.Score) <= 1e-9) &&
		a.Label == b.Label && slices.Equal(slices.Sorted(slices.Values(a.Tags)), slices.Sorted(slices.Values(b.Tags))) &&
		maps.Equal(a.Attributes, b.Attributes)
}

func equal[T comparable](a, b *T) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

// sameWhy compares explanations bit by bit. Margins and reasons need vectors and are covered by other tests.
func sameWhy(got, want *api.Why) error {
	if got == nil || want == nil {
		if got != want {
			return errors.New("only one of the answers explains a hit")
		}
		return nil
	}
	own := api.Why{
		Query: got.Query, ID: got.ID, Distance: got.Distance, Detail: got.Detail, Agree: got.Agree, Differ: got.Differ,
		CodeQuery: got.CodeQuery, CodeItem: got.CodeItem,
	}
	for _, b := range got.Bits {
		own.Bits = append(own.Bits, api.Bit{Bit: b.Bit, Query: b.Query, Item: b.Item, Agree: b.Agree, Detail: b.Detail})
	}
	if spelled(own) != spelled(want) {
		return fmt.Errorf("the explanation is %s, want %s", spelled(own), spelled(want))
	}
	return nil
}
