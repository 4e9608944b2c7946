// Package api is the vocabulary of Hashgrove: requests, answers, items, and errors to test for with errors.Is. It
// depends only on the standard library.
//
// The JSON tags define both the service's wire format and the command's --json output, so an answer looks the same
// wherever it comes from. Everything that searches is a Searcher: an index in memory or in a file, the client of a
// service, a table in a database.
//
//	hits, err := api.Nearest(ctx, searcher, vector, 5)
//	for _, hit := range hits {
//		fmt.Println(hit.ID, hit.Distance)
//	}
package api

import (
	"context"
	"strings"
)

// Searcher finds the items whose codes are nearest to those of the queries. Answers are exact and ordered by distance,
// then by id. A searcher that cannot honour a request returns ErrUnsupported rather than answer a different question.
type Searcher interface {
	Search(ctx context.Context, r *Request) (*Answer, error)
}

// Query names what to search for: exactly one of Vector, Picture, Code, PackedCode and ID.
type Query struct {
	Name       string    `json:"name,omitempty"`  // returned with the result; empty means the id, or the number
	Label      string    `json:"label,omitempty"` // returned with the result; empty means the item's
	Vector     []float32 `json:"vector,omitempty"`
	Picture    []byte    `json:"picture,omitempty"`     // a picture file, if the model takes pictures
	Code       string    `json:"code,omitempty"`        // hexadecimal digits
	PackedCode []byte    `json:"code_base64,omitempty"` // the bytes of a code
	ID         ID        `json:"id,omitempty"`          // of an item, which also finds itself
}

// Request holds one query, or many in Queries, and how to search for them.
type Request struct {
	Query
	Queries []Query `json:"queries,omitempty"`
	Options
}

// Options say how to search. The zero value asks for the ten nearest items.
type Options struct {
	K      *int   `json:"k,omitempty"`      // number of hits, at least 1; nil means 10, or all within Radius
	Radius *int   `json:"radius,omitempty"` // only items whose Distance is at most this
	Where  string `json:"where,omitempty"`  // a filter, such as `label = "boots" and price < 30`

	// Rank orders items by Hamming, by Margins, which needs vectors or pictures, by Expected, or as the model chose
	// when it was trained: Auto, the default. With Radius, or with Ties by Margins, Auto means Hamming.
	Rank string `json:"rank,omitempty"`
	// Ties orders items at the same distance: "" by id; Margins by how certain the query's bits are, then by id; Vectors
	// by the Euclidean distance of vectors known to the searcher, then by id.
	Ties string `json:"ties,omitempty"`

	// Prefix is the number of leading bits to search by; 0 means all. The items that are nearest by the prefix, ten times
	// K and at least 100, are then ordered by all bits.
	Prefix int `json:"prefix,omitempty"`
	// Rerank orders as many items, or all within a Radius, by the distance of vectors known to the searcher, Euclidean or
	// Cosine; "" means no reranking. Items without a vector come last, without a score.
	Rerank  string `json:"rerank,omitempty"`
	Explain bool   `json:"explain,omitempty"` // say why the first hit is near

	// Fields to return with hits: any of label, tags and attributes. Nil means all; an empty list means none.
	Fields []string `json:"fields,omitzero"`

	// Fingerprint of the model that codes must come from; a searcher with another model refuses. Empty means any.
	Fingerprint string `json:"fingerprint,omitempty"`
}

// Values of Options.Rank, Options.Ties and Options.Rerank.
const (
	Auto      = "auto"      // the ranking that the model chose in training, or Hamming
	Hamming   = "hamming"   // the number of bits that differ; bits of detail count an eighth
	Margins   = "margins"   // the bits that differ, weighted by how certain the query is of them
	Expected  = "expected"  // the code that the query most likely has, judging by those of training rows
	Vectors   = "vectors"   // ties go by the vectors
	Euclidean = "euclidean" // the distance between vectors
	Cosine    = "cosine"    // one minus the cosine of the angle between vectors
)

// rankings are the values of Options.Rank, with a line of help.
var rankings = [][2]string{
	{Auto, "what training found to be best"}, {Hamming, "the number of bits that differ"},
	{Margins, "those bits by how certain the query is of them"}, {Expected, "the code that the query most likely has"},
}

// Rankings returns the values of Options.Rank.
func Rankings() (names []string) {
	for _, r := range rankings {
		names = append(names, r[0])
	}
	return names
}

// RankingsText describes the values of Options.Rank for a line of help.
func RankingsText() string {
	var list []string
	for _, r := range rankings {
		list = append(list, r[0]+", "+r[1])
	}
	return strings.Join(list, "; ")
}

// All returns the queries of a request, one or many.
func (r *Request) All() []Query {
	if r.Queries != nil {
		return r.Queries
	}
	return []Query{r.Query}
}

// DefaultK is the number of hits if a request gives neither K nor Radius.
const DefaultK = 10

// Limit returns the number of hits asked for; 0 means all within the radius.
func (o *Options) Limit() int {
	switch {
	case o.K != nil:
		return *o.K
	case o.Radius != nil:
		return 0
	}
	return DefaultK
}

// Nearest returns the k items nearest to a vector, ordered by distance, then by id.
func Nearest(ctx context.Context, s Searcher, vector []float32, k int) ([]Hit, error) {
	if s == nil {
		return nil, Errorf(ErrInvalid, "there is nothing to search: nil")
	}
	a, err := s.Search(ctx, &Request{Query: Query{Vector: vector}, Options: Options{K: &k}})
	if err != nil {
		return nil, err
	}
	return a.Results[0].Hits, nil
}
