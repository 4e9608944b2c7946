package api

import (
	"fmt"
	"strings"
)

// Answer has a result for each query, in their order.
type Answer struct {
	Collection  string   `json:"collection,omitempty"` // of a service
	Fingerprint string   `json:"fingerprint"`          // of the model
	Items       int      `json:"items"`                // that were searched
	Bits        int      `json:"bits"`                 // of a code
	Seconds     float64  `json:"seconds"`
	Rank        string   `json:"rank"` // what the hits are ordered by: Hamming or Margins
	Results     []Result `json:"results"`
	Doubts      []string `json:"doubts,omitempty"` // what the answer lacks, in sentences
}

// Result is the answer to one query.
type Result struct {
	Query string `json:"query"`           // its name, its id, or its number
	Label string `json:"label,omitempty"` // of the query, where it is known
	Code  string `json:"code"`            // hexadecimal digits
	Hits  []Hit  `json:"hits"`            // by distance, then by id
	Plan  Plan   `json:"plan,omitempty"`  // with Options.Explain
	Why   *Why   `json:"why,omitempty"`   // about the first hit, with Options.Explain

	Tied     int `json:"tied,omitempty"`      // items at the distance of the last hit, among the hits or not
	TiedHits int `json:"tied_hits,omitempty"` // those of them among the hits
	Compared int `json:"compared,omitempty"`  // vectors that a reranking compared
}

// Hit is an item that was found.
type Hit struct {
	ID             ID             `json:"id"`
	Distance       int            `json:"distance"`                  // in bits
	MarginDistance *int           `json:"margin_distance,omitempty"` // in sixteenths of a bit, when ranked by margins
	Score          *float64       `json:"score,omitempty"`           // distance of the vectors, when reranked
	Label          string         `json:"label,omitempty"`
	Tags           []string       `json:"tags,omitempty"`
	Attributes     map[string]any `json:"attributes,omitempty"` // numbers are float64, texts are string
}

// Ranked returns the distance that hits are ordered by, before any reranking.
func (h *Hit) Ranked() int {
	if h.MarginDistance != nil {
		return *h.MarginDistance
	}
	return h.Distance
}

// Plan is how a search was done, segment by segment.
type Plan []Step

// Step is how one segment of an index was searched.
type Step struct {
	Method   string `json:"method"`
	Items    int    `json:"items"` // in the segment
	Codes    int    `json:"codes"` // distinct ones
	Reason   string `json:"reason"`
	LookUps  int    `json:"look_ups,omitempty"`
	CodesMet int    `json:"codes_met,omitempty"`
}

// String explains the plan in a line per segment.
func (p Plan) String() string {
	var b strings.Builder
	for i, s := range p {
		fmt.Fprintf(&b, "segment %d, %d items with %d codes: %s, because %s", i, s.Items, s.Codes, s.Method, s.Reason)
		if s.LookUps > 0 {
			fmt.Fprintf(&b, " (%d look-ups met %d codes)", s.LookUps, s.CodesMet)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Why explains the distance of a query and an item, bit by bit.
type Why struct {
	Query     string         `json:"query"`
	ID        ID             `json:"id"`
	Distance  int            `json:"distance"`
	CodeQuery string         `json:"code_query"`
	CodeItem  string         `json:"code_item"`
	Agree     []int          `json:"agree"`             // bits that are equal
	Differ    []int          `json:"differ"`            // the others
	Bits      []Bit          `json:"bits"`              // all of them
	Columns   []ColumnWeight `json:"columns,omitempty"` // those that decided most
	Picture   *Shape         `json:"picture,omitempty"` // the columns are its pixels
	Heat      []float64      `json:"heat,omitempty"`    // where the deciding columns lie, 0 to 1, row by row
}

// Bit is a bit of a query and of an item. Margins and reasons are known where the vectors are.
type Bit struct {
	Bit         int      `json:"bit"`
	Query       int      `json:"query"` // 0 or 1
	Item        int      `json:"item"`
	Agree       bool     `json:"agree"`
	MarginQuery *float32 `json:"margin_query,omitempty"` // how certain the query is of the bit
	MarginItem  *float32 `json:"margin_item,omitempty"`
	Weight      *int     `json:"weight,omitempty"` // what the bit counts in a ranking by margins, in sixteenths
	Reasons     []Reason `json:"reasons,omitempty"`
}

// Reason is a column that decided a bit, with the threshold between the query and the item, or beside both.
type Reason struct {
	Name      string   `json:"name"`
	Column    int      `json:"column"`
	Threshold *float32 `json:"threshold,omitempty"` // a hyperplane has none
	Query     float32  `json:"query"`
	Item      float32  `json:"item"`
	Weight    float64  `json:"weight"` // share of the weights of the bit's reasons
}

// ColumnWeight is how much a column decided.
type ColumnWeight struct {
	Column int     `json:"column"`
	Name   string  `json:"name"`
	Weight float64 `json:"weight"`
}

// Shape is that of a picture whose pixels are columns.
type Shape struct {
	Width    int `json:"width"`
	Height   int `json:"height"`
	Channels int `json:"channels"`
}
