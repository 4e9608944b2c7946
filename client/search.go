package client

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Query is what to search for: exactly one of Vector, Code, PackedCode, ID and Picture.
type Query struct {
	Vector     []float32 `json:"vector,omitempty"`
	Code       string    `json:"code,omitempty"`        // hexadecimal digits
	PackedCode []byte    `json:"code_base64,omitempty"` // the bytes of a code
	ID         ID        `json:"id,omitempty"`          // of an item, which finds itself too
	Picture    []byte    `json:"picture,omitempty"`     // a picture file; the model must take pictures
	Name       string    `json:"name,omitempty"`        // comes back with the result
}

// Options is how to search; the zero value means the ten nearest by Hamming distance.
type Options struct {
	K         int    `json:"k,omitempty"`         // number of hits; 0 means 10, or all within Radius
	Radius    *int   `json:"radius,omitempty"`    // only items at this distance or less, in bits
	Where     string `json:"where,omitempty"`     // a filter, such as `label = "boots" and price < 30`
	Rank      string `json:"rank,omitempty"`      // hamming, or margins: weigh bits by how certain the query is of them
	Prefix    int    `json:"prefix,omitempty"`    // compare only so many bits
	Shortlist int    `json:"shortlist,omitempty"` // rerank at least so many
	Rerank    string `json:"rerank,omitempty"`    // euclidean or cosine: order the shortlist by vectors of the server
	Explain   bool   `json:"explain,omitempty"`   // add the plan, and why the first hit is near

	// Fields of the hits: some of label, tags and attributes. Nil means all, and an empty list none.
	Fields []string `json:"fields,omitzero"`
}

// SearchRequest is one query, or many in Queries, and how to search for them.
type SearchRequest struct {
	Vector     []float32 `json:"vector,omitempty"`
	Code       string    `json:"code,omitempty"`
	PackedCode []byte    `json:"code_base64,omitempty"`
	ID         ID        `json:"id,omitempty"`
	Picture    []byte    `json:"picture,omitempty"`
	Queries    []Query   `json:"queries,omitempty"`
	Options
	Fingerprint string `json:"fingerprint,omitempty"` // as in Collection
}

// SearchAnswer is a result for each query, in their order.
type SearchAnswer struct {
	Collection  string   `json:"collection"`
	Fingerprint string   `json:"fingerprint"`
	Items       int      `json:"items"` // that were searched
	Bits        int      `json:"bits"`  // that were compared
	Seconds     float64  `json:"seconds"`
	Rank        string   `json:"rank"`
	Results     []Result `json:"results"`
}

// Result is the answer to one query.
type Result struct {
	Query    string       `json:"query"`           // its id, its name, or its row
	Label    string       `json:"label,omitempty"` // of a query by id
	Code     string       `json:"code"`
	Hits     []Hit        `json:"hits"`               // by distance, then by id
	Tied     int          `json:"tied"`               // items at the distance of the last hit, in all
	TiedHits int          `json:"tied_hits"`          // those of them among the hits
	Compared int          `json:"compared,omitempty"` // vectors that reranking compared
	Plan     []Step       `json:"plan,omitempty"`
	Why      *Explanation `json:"why,omitempty"` // of the first hit
}

// Hit is an item that was found.
type Hit struct {
	ID             ID             `json:"id"`
	Distance       int            `json:"distance"`                  // in bits
	MarginDistance int            `json:"margin_distance,omitempty"` // in sixteenths of a bit, when ranked by margins
	Score          float64        `json:"score,omitempty"`           // distance of the vectors, when reranked
	Label          string         `json:"label,omitempty"`
	Tags           []string       `json:"tags,omitempty"`
	Attributes     map[string]any `json:"attributes,omitempty"` // numbers are float64, texts are string
}

// Step is how one segment of the index was searched.
type Step struct {
	Method   string `json:"method"`
	Items    int    `json:"items"`
	Codes    int    `json:"codes"`
	Reason   string `json:"reason"`
	LookUps  int    `json:"look_ups,omitempty"`
	CodesMet int    `json:"codes_met,omitempty"`
}

// Search searches for one query or for many.
func (c *Collection) Search(ctx context.Context, r SearchRequest) (*SearchAnswer, error) {
	return askWith[SearchAnswer](ctx, c.Client, c.request(http.MethodPost, "/search"), r)
}

// SearchVectors searches for many vectors of the same length, which travel packed.
func (c *Collection) SearchVectors(ctx context.Context, rows [][]float32, o Options) (*SearchAnswer, error) {
	r, err := c.request(http.MethodPost, "/search").withRows(rows)
	if err != nil {
		return nil, err
	}
	r.query = o.values()
	return ask[SearchAnswer](ctx, c.Client, r)
}

// values are the options as parameters of an address.
func (o Options) values() url.Values {
	v := url.Values{}
	for name, n := range map[string]int{"k": o.K, "prefix": o.Prefix, "shortlist": o.Shortlist} {
		if n != 0 {
			v.Set(name, strconv.Itoa(n))
		}
	}
	for name, text := range map[string]string{"where": o.Where, "rank": o.Rank, "rerank": o.Rerank} {
		if text != "" {
			v.Set(name, text)
		}
	}
	if o.Radius != nil {
		v.Set("radius", strconv.Itoa(*o.Radius))
	}
	if o.Explain {
		v.Set("explain", "true")
	}
	if o.Fields != nil {
		v.Set("fields", strings.Join(o.Fields, ","))
	}
	return v
}

// withRows is the request with vectors as its body.
func (r request) withRows(rows [][]float32) (request, error) {
	b, err := packRows(rows)
	r.contentType, r.body = "application/octet-stream", bytes.NewReader(b)
	return r, err
}

// packRows are vectors as rows of float32, little endian.
func packRows(rows [][]float32) ([]byte, error) {
	var b []byte
	for i, row := range rows {
		if len(row) != len(rows[0]) {
			return nil, fmt.Errorf("vector %d has %d numbers, but vector 0 has %d", i, len(row), len(rows[0]))
		}
		b = slices.Grow(b, 4*len(row)*(len(rows)-i))
		for _, x := range row {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
	}
	return b, nil
}

// EncodeRequest is what to encode: either vectors or picture files.
type EncodeRequest struct {
	Vectors     [][]float32 `json:"vectors,omitempty"`
	Pictures    [][]byte    `json:"pictures,omitempty"`
	Margins     bool        `json:"margins,omitempty"`     // say how certain each bit is
	Fingerprint string      `json:"fingerprint,omitempty"` // as in Collection
}

// EncodeAnswer is a code for each vector or picture, in their order.
type EncodeAnswer struct {
	Collection  string      `json:"collection"`
	Fingerprint string      `json:"fingerprint"`
	Bits        int         `json:"bits"`
	Codes       []string    `json:"codes"` // hexadecimal digits
	Margins     [][]float32 `json:"margins,omitempty"`
}

// Encode makes codes of vectors or pictures, with margins if wanted.
func (c *Collection) Encode(ctx context.Context, r EncodeRequest) (*EncodeAnswer, error) {
	return askWith[EncodeAnswer](ctx, c.Client, c.request(http.MethodPost, "/encode"), r)
}

// longestCode is the greatest length of a code in bytes.
const longestCode = 512

// EncodeVectors makes packed codes of many vectors of the same length, which travel packed, too.
func (c *Collection) EncodeVectors(ctx context.Context, rows [][]float32) ([][]byte, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	r, err := c.request(http.MethodPost, "/encode").withRows(rows)
	if err != nil {
		return nil, err
	}
	r.accept = "application/octet-stream"
	a, err := c.Client.send(ctx, r)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	packed, err := io.ReadAll(io.LimitReader(a.Body, int64(len(rows)*longestCode)+1))
	if err != nil {
		return nil, err
	}
	width := len(packed) / len(rows)
	if width == 0 || len(packed) > len(rows)*longestCode || width*len(rows) != len(packed) {
		return nil, fmt.Errorf("the server sent %d bytes for the codes of %d vectors", len(packed), len(rows))
	}
	codes := make([][]byte, len(rows))
	for i := range codes {
		codes[i] = packed[i*width : (i+1)*width]
	}
	return codes, nil
}

// ExplainRequest asks why an item is near a query.
type ExplainRequest struct {
	Query       Query  `json:"query"`
	ID          ID     `json:"id"`                    // of the item
	Fingerprint string `json:"fingerprint,omitempty"` // as in Collection
}

// Explanation is why an item is near a query, bit by bit.
type Explanation struct {
	Collection  string         `json:"collection"`
	Fingerprint string         `json:"fingerprint"`
	Query       string         `json:"query"`
	ID          ID             `json:"id"`
	Distance    int            `json:"distance"`
	CodeQuery   string         `json:"code_query"`
	CodeItem    string         `json:"code_item"`
	Bits        []BitReasons   `json:"bits"`
	Columns     []ColumnWeight `json:"columns"`           // those that decided most
	Picture     *Shape         `json:"picture,omitempty"` // columns are pixels
	Heat        []float64      `json:"heat,omitempty"`    // where in the picture the deciding columns lie, row by row
}

// BitReasons is why a bit of a query and of an item agree or differ.
type BitReasons struct {
	Bit         int      `json:"bit"`
	Query       int      `json:"query"`
	Item        int      `json:"item"`
	Agree       bool     `json:"agree"`
	MarginQuery *float64 `json:"margin_query"` // how certain the query is of the bit; nil when its vector is not known
	MarginItem  *float64 `json:"margin_item"`
	Weight      *float64 `json:"weight"` // what the bit counts in a ranking by margins
	Reasons     []Reason `json:"reasons"`
}

// Reason is a column and a threshold between the query and the item.
type Reason struct {
	Name      string  `json:"name"`
	Column    int     `json:"column"`
	Threshold float64 `json:"threshold"`
	Query     float64 `json:"query"`
	Item      float64 `json:"item"`
	Weight    float64 `json:"weight"`
}

// ColumnWeight is how much a column decided.
type ColumnWeight struct {
	Column int     `json:"column"`
	Name   string  `json:"name"`
	Weight float64 `json:"weight"`
}

// Shape is of a picture whose pixels are columns: column = (y*Width + x)*Channels + channel.
type Shape struct {
	Width    int `json:"width"`
	Height   int `json:"height"`
	Channels int `json:"channels"`
}

// Explain asks why an item is near a query.
func (c *Collection) Explain(ctx context.Context, r ExplainRequest) (*Explanation, error) {
	return askWith[Explanation](ctx, c.Client, c.request(http.MethodPost, "/explain"), r)
}
