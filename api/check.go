package api

import (
	"slices"
)

// Check returns an error that is ErrInvalid if no searcher could answer the request. Every Searcher calls it first, so
// the same request is refused everywhere for the same reason.
func (r *Request) Check() error {
	if r == nil {
		return invalid("", "there is no request")
	}
	if err := r.Options.Check(); err != nil {
		return err
	}
	if r.Queries != nil && (r.Query.targets() > 0 || r.Name != "" || r.Label != "") {
		return invalid("queries", "give one query, or several in queries, not both")
	}
	for i, q := range r.All() {
		n := q.targets()
		switch {
		case n == 1:
		case len(r.Queries) > 1:
			return invalid("queries", "query %d: give one of vector, picture, code, code_base64 and id; it has %d of them", i, n)
		default:
			return invalid("queries", "a query needs one of vector, picture, code, code_base64 and id, and has %d of them", n)
		}
	}
	return nil
}

// targets counts the ways in which the query names its target.
func (q *Query) targets() int {
	n := 0
	for _, given := range []bool{q.Vector != nil, q.Picture != nil, q.Code != "", q.PackedCode != nil, q.ID != ""} {
		if given {
			n++
		}
	}
	return n
}

// Check returns an error for options that make no sense.
func (o *Options) Check() error {
	switch {
	case o.K != nil && *o.K < 1:
		return invalid("k", "k = %d: ask for 1 hit or more", *o.K)
	case o.Radius != nil && *o.Radius < 0:
		return invalid("radius", "radius = %d: a distance is 0 or more", *o.Radius)
	case o.Prefix < 0:
		return invalid("prefix", "prefix = %d: give a number of bits, or 0 for all", o.Prefix)
	case o.Ties != "" && o.Rerank != "":
		return invalid("ties", "ties = %.40q has no effect beside rerank: leave one of them out", o.Ties)
	}
	for _, choice := range []struct {
		name, value string
		from        []string
	}{
		{"rank", o.Rank, Rankings()},
		{"ties", o.Ties, []string{Margins, Vectors}},
		{"rerank", o.Rerank, []string{Euclidean, Cosine}},
	} {
		if choice.value != "" && !slices.Contains(choice.from, choice.value) {
			return invalid(choice.name, "%s = %.40q: choose one of %q", choice.name, choice.value, choice.from)
		}
	}
	for _, f := range o.Fields {
		if !slices.Contains([]string{"label", "tags", "attributes"}, f) {
			return invalid("fields", "there is no field %.40q: fields are label, tags and attributes", f)
		}
	}
	return nil
}

// CheckBits returns an error for options that codes of this length do not allow.
func (o *Options) CheckBits(bits int) error {
	if o.Prefix > bits {
		return invalid("prefix", "prefix = %d: the codes have %d bits", o.Prefix, bits)
	}
	return nil
}

// NeedsMargins reports whether the order needs the margins of the queries.
func (o *Options) NeedsMargins() bool { return o.Rank == Margins || o.Ties == Margins }

// Wants reports whether a field of the hits is wanted.
func (o *Options) Wants(field string) bool {
	return o.Fields == nil || slices.Contains(o.Fields, field)
}
