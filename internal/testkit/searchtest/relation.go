package searchtest

import (
	"encoding/hex"
	"slices"

	"hashgrove/api"
	"hashgrove/internal/hamming"
)

// relations compares answers of the searcher with each other, which needs no oracle.
func (s *suite) relations() {
	if s.can.Approximate {
		return
	}
	n := 12
	if s.can.Brief {
		n = 2
	}
	for range n {
		where := s.where()
		for s.refuses(where) || s.strange(where) {
			where = s.where()
		}
		o := api.Options{Where: where}
		if s.can.Margins && s.can.Vectors && s.rng.IntN(3) == 0 {
			o.Rank = api.Margins
			s.relateNear(s.vectorQuery(), o)
			continue
		}
		s.relateNear(s.query(), o)
		s.relateSpellings()
		s.relateQueries(o)
	}
}

// strange reports whether a filter names something that no item has.
func (s *suite) strange(where string) bool {
	r := &api.Request{Query: api.Query{PackedCode: s.code()}, Options: api.Options{Where: where}}
	_, err := s.oracle.Search(s.Context(), r)
	return err != nil
}

// find returns the hits of a query.
func (s *suite) find(q api.Query, o api.Options) []api.Hit {
	s.Helper()
	r := &api.Request{Query: q, Options: o}
	a, err := s.searcher.Search(s.Context(), r)
	s.compared++
	if err != nil || len(a.Results) != 1 {
		s.Fatalf("%s: %v, %v", spelled(r), a, err)
	}
	return a.Results[0].Hits
}

// relateNear checks that the answer for more neighbours begins with that for fewer, that a smaller radius returns the
// nearer hits of a larger one, and that a filter returns the hits it lets through.
func (s *suite) relateNear(q api.Query, o api.Options) {
	s.Helper()
	k, radius := 1+s.rng.IntN(20), 1+s.rng.IntN(s.world.Bits()/2)
	with := func(k, radius *int, where string) []api.Hit {
		asked := o
		asked.K, asked.Radius, asked.Where = k, radius, where
		return s.find(q, asked)
	}
	fewer, more := with(&k, nil, o.Where), with(new(k+1), nil, o.Where)
	if err := sameHits(fewer, more[:min(k, len(more))]); err != nil || len(more) > k+1 {
		s.Fatalf("%+v: the %d nearest do not begin with the %d nearest: %v", q, k+1, k, err)
	}
	near, nearer := with(nil, &radius, o.Where), with(nil, new(radius-1), o.Where)
	unit := 1
	if o.Rank == api.Margins || s.world.Detail() > 0 {
		unit = 16
	}
	kept := slices.DeleteFunc(slices.Clone(near), func(h api.Hit) bool { return h.Ranked() > unit*(radius-1) })
	if err := sameHits(kept, nearer); err != nil {
		s.Fatalf("%+v: within %d there are others than within %d: %v", q, radius-1, radius, err)
	}
	through := map[api.ID]bool{}
	for _, h := range with(new(1_000_000), nil, o.Where) {
		through[h.ID] = true
	}
	unfiltered := slices.DeleteFunc(with(nil, &radius, ""), func(h api.Hit) bool { return !through[h.ID] })
	if err := sameHits(near, unfiltered); err != nil {
		s.Fatalf("%+v: filtering hits by %s gives others than searching with the filter: %v", q, o.Where, err)
	}
}

// relateSpellings checks that an item is found by id, by its code in hex and by its bytes, at distance 0.
func (s *suite) relateSpellings() {
	n := len(s.world.Items.IDs)
	if n == 0 {
		return
	}
	i := s.rng.IntN(n)
	id, packed := api.ID(s.world.Items.IDs[i].String()), s.world.Items.Codes.AppendBytes(nil, i)
	byID := s.find(api.Query{ID: id}, api.Options{Radius: new(0)})
	if !slices.ContainsFunc(byID, func(h api.Hit) bool { return h.ID == id }) {
		s.Fatalf("%q does not find itself", id)
	}
	for _, q := range []api.Query{{PackedCode: packed}, {Code: hex.EncodeToString(packed)}} {
		if err := sameHits(s.find(q, api.Options{Radius: new(0)}), byID); err != nil {
			s.Fatalf("%q is not found by its code: %v", id, err)
		}
	}
	other := s.rng.IntN(n)
	back := s.find(api.Query{ID: api.ID(s.world.Items.IDs[other].String())}, api.Options{K: new(n)})
	at := slices.IndexFunc(back, func(h api.Hit) bool { return h.ID == id })
	class := s.world.Items.Codes.Prefix(s.world.Bits() - s.world.Detail())
	distance := hamming.Distance(class.Row(i), class.Row(other))
	if at < 0 || back[at].Distance != distance {
		s.Fatalf("%q is not at distance %d of %q", id, distance, s.world.Items.IDs[other])
	}
}

// relateQueries checks that queries have the same answers together and alone, in any order, and when repeated.
func (s *suite) relateQueries(o api.Options) {
	list := []api.Query{s.query(), s.query(), s.query()}
	for _, order := range [][]int{{0, 1, 2}, {2, 0, 1}} {
		r := &api.Request{Options: o}
		for _, i := range order {
			r.Queries = append(r.Queries, list[i])
		}
		a, err := s.searcher.Search(s.Context(), r)
		if err != nil || len(a.Results) != len(order) {
			s.Fatalf("%s: %v, %v", spelled(r), a, err)
		}
		for at, i := range order {
			if err := sameHits(a.Results[at].Hits, s.find(list[i], o)); err != nil {
				s.Fatalf("%s: query %d alone has another answer: %v", spelled(r), at, err)
			}
		}
	}
}
