// Package api is the vocabulary of Hashgrove: what a search asks for, what it answers, what an item is, and which
// errors can be told apart. It needs nothing but the standard library.
//
// The JSON tags are the format of the service and of the command's --json, so an answer reads the same wherever it
// comes from. Everything that searches is a Searcher: an index in memory or in a file, the client of a service, a table
// in a database.
//
//	a, err := searcher.Search(ctx, &api.Request{Query: api.Query{Vector: x}, Options: api.Options{K: new(5)}})
//	for _, hit := range a.Results[0].Hits {
//		fmt.Println(hit.ID, hit.Distance)
//	}
package api

import "context"

// Searcher finds the items whose codes are nearest to those of queries. Answers are exact and in a fixed order: by
// distance, then by id. A searcher that cannot do something that a request asks for returns ErrUnsupported; it never
// answers another question instead.
type Searcher interface {
	Search(ctx context.Context, r *Request) (*Answer, error)
}

// Query is what to search for: exactly one of Vector, Picture, Code, PackedCode and ID.
type Query struct {
	Name       string    `json:"name,omitempty"`  // comes back with the result; empty means the id, or the number
	Label      string    `json:"label,omitempty"` // comes back with the result; empty means that of the item
	Vector     []float32 `json:"vector,omitempty"`
	Picture    []byte    `json:"picture,omitempty"`     // a picture file; the model must take pictures
	Code       string    `json:"code,omitempty"`        // hexadecimal digits
	PackedCode []byte    `json:"code_base64,omitempty"` // the bytes of a code
	ID         ID        `json:"id,omitempty"`          // of an item, which finds itself too
}

// Request is one query, or many in Queries, and how to search for them.
type Request struct {
	Query
	Queries []Query `json:"queries,omitempty"`
	Options
}

// Options are how to search. The zero value means the ten nearest by Hamming distance.
type Options struct {
	K      *int   `json:"k,omitempty"`      // number of hits, at least 1; nil means 10, or all within Radius
	Radius *int   `json:"radius,omitempty"` // only items at this distance or less, in bits
	Where  string `json:"where,omitempty"`  // a filter, such as `label = "boots" and price < 30`

	// Rank is what items are ordered by: Hamming, which "" means, or Margins, which needs vectors or pictures.
	Rank string `json:"rank,omitempty"`
	// Ties says what orders items at the same distance: "" means their ids; Margins means how certain the query's bits
	// are, then ids.
	Ties string `json:"ties,omitempty"`

	// Prefix is the number of leading bits to search by. The shortlist of nearest items by the prefix is then ordered by
	// all bits; 0 means all bits.
	Prefix int `json:"prefix,omitempty"`
	// Rerank orders the shortlist by the distance of vectors that the searcher knows: Euclidean or Cosine; "" means not.
	// Items without a vector come last, without a score.
	Rerank string `json:"rerank,omitempty"`
	// Shortlist is the least number of items that Prefix and Rerank look at; all that tie with the last are looked at,
	// too. 0 means ten times K and at least 100 for Prefix; for Rerank all items up to 65,536, and two thirds of more.
	Shortlist int `json:"shortlist,omitempty"`

	// Strategy is how to search: auto, which "" means, scan, tables or list. It never changes the answer.
	Strategy string `json:"strategy,omitempty"`
	Explain  bool   `json:"explain,omitempty"` // say how the search was done, and why the first hit is near

	// Fields of the hits that are wanted: some of label, tags and attributes. Nil means all, and an empty list none.
	Fields []string `json:"fields,omitzero"`

	// Fingerprint of the model that codes must be of; a searcher with another model refuses. Empty means any.
	Fingerprint string `json:"fingerprint,omitempty"`
}

// What Options.Rank, Options.Ties and Options.Rerank can be.
const (
	Hamming   = "hamming"   // the number of bits that differ
	Margins   = "margins"   // the bits that differ, weighed by how certain the query is of them
	Euclidean = "euclidean" // the distance of vectors
	Cosine    = "cosine"    // one less the cosine of the angle between vectors
)

// All lists the queries of a request, one or many.
func (r *Request) All() []Query {
	if r.Queries != nil {
		return r.Queries
	}
	return []Query{r.Query}
}

// DefaultK is the number of hits where a request says neither K nor Radius.
const DefaultK = 10

// Limit returns the number of hits that the options ask for; 0 means all within the radius.
func (o *Options) Limit() int {
	switch {
	case o.K != nil:
		return *o.K
	case o.Radius != nil:
		return 0
	}
	return DefaultK
}

// Nearest finds the k items nearest to a vector, by distance, then by id.
func Nearest(ctx context.Context, s Searcher, vector []float32, k int) ([]Hit, error) {
	a, err := s.Search(ctx, &Request{Query: Query{Vector: vector}, Options: Options{K: &k}})
	if err != nil {
		return nil, err
	}
	return a.Results[0].Hits, nil
}
