package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Summary is a collection in brief.
type Summary struct {
	Name          string `json:"name"`
	Items         int    `json:"items"`
	DistinctCodes int    `json:"distinct_codes"`
	Bits          int    `json:"bits"`
	Fingerprint   string `json:"fingerprint"`
	Model         bool   `json:"model"` // it can encode
	Takes         string `json:"takes"` // vectors, pictures or codes
	Dims          int    `json:"dims"`
	Pictures      bool   `json:"pictures"` // thumbnails can be had
	Vectors       bool   `json:"vectors"`  // vectors of items are known
	Report        bool   `json:"report"`
	ReadOnly      bool   `json:"read_only"`
	Health        string `json:"health"` // ok, or degraded: and why
}

// Description is all that is known about a collection.
type Description struct {
	Summary
	File         File        `json:"file"`
	Memory       Memory      `json:"memory"`
	Attributes   []Attribute `json:"attributes"`
	Labels       bool        `json:"labels"` // some items have one
	Tags         bool        `json:"tags"`
	BitsState    []BitState  `json:"bits_state"`
	Buckets      Buckets     `json:"buckets"`
	RecentWrites []Write     `json:"recent_writes"`
}

// File is the file of an index.
type File struct {
	Bytes     int64     `json:"bytes"`
	FreeBytes int64     `json:"free_bytes"`
	Writes    uint64    `json:"writes"` // transactions since it was made
	Created   time.Time `json:"created"`
	Note      string    `json:"note"`
}

// Memory is bytes in memory.
type Memory struct {
	Total    int `json:"total_bytes"`
	Codes    int `json:"codes_bytes"`
	Postings int `json:"postings_bytes"`
	IDs      int `json:"ids_bytes"`
	Columns  int `json:"columns_bytes"`
	Tables   int `json:"tables_bytes"`
}

// Attribute is the name of an attribute and what its values are.
type Attribute struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// BitState is how much a bit tells.
type BitState struct {
	Bit   int     `json:"bit"`
	Share float64 `json:"share"`          // of the items whose bit is 1
	State string  `json:"state"`          // ok, dead or redundant
	Like  *int    `json:"like,omitempty"` // the earlier bit that a redundant one repeats
}

// Buckets is how items share codes.
type Buckets struct {
	Largest int     `json:"largest"`
	Mean    float64 `json:"mean"`
	Single  int     `json:"single"` // codes of one item
}

// Write is a change of the collection.
type Write struct {
	Time    time.Time `json:"time"`
	Kind    string    `json:"kind"` // put, patch or delete
	Items   int       `json:"items"`
	Seconds float64   `json:"seconds"`
}

// Facets is labels, tags and attributes with counts, among the items that match a filter.
type Facets struct {
	Collection  string           `json:"collection"`
	Fingerprint string           `json:"fingerprint"`
	Items       int              `json:"items"`
	Labels      []Count          `json:"labels"`
	Tags        []Count          `json:"tags"`
	Attributes  []AttributeFacet `json:"attributes"`
}

// Count is how many items have a value.
type Count struct {
	Value string `json:"value"`
	Count int    `json:"count"`
}

// AttributeFacet is the values of an attribute.
type AttributeFacet struct {
	Name      string  `json:"name"`
	Kind      string  `json:"kind"`
	Count     int     `json:"count"`
	Min       any     `json:"min,omitempty"` // of numbers float64, of dates string
	Max       any     `json:"max,omitempty"`
	Histogram []int   `json:"histogram,omitempty"` // of numbers: twenty equal steps from Min to Max
	Values    []Count `json:"values,omitempty"`    // of texts, the most frequent ones
	Distinct  int     `json:"distinct,omitempty"`
}

// Describe tells all that is known about the collection.
func (c *Collection) Describe(ctx context.Context) (*Description, error) {
	return ask[Description](ctx, c.Client, c.request(http.MethodGet, ""))
}

// Facets counts labels, tags and attributes among the items that a filter lets through, and returns the top most
// frequent values of each; an empty filter means all items, and 0 the default of the server.
func (c *Collection) Facets(ctx context.Context, where string, top int) (*Facets, error) {
	r := c.request(http.MethodGet, "/facets")
	r.query = url.Values{}
	if where != "" {
		r.query.Set("where", where)
	}
	if top != 0 {
		r.query.Set("top", strconv.Itoa(top))
	}
	return ask[Facets](ctx, c.Client, r)
}

// Backup writes a copy of the index file, as it is at one moment, and returns its size.
func (c *Collection) Backup(ctx context.Context, w io.Writer) (int64, error) {
	a, err := c.Client.send(ctx, c.request(http.MethodGet, "/backup"))
	if err != nil {
		return 0, err
	}
	defer a.Body.Close()
	return io.Copy(w, a.Body)
}

// Reload lets the server open the file again, after it was migrated or replaced.
func (c *Collection) Reload(ctx context.Context) (*Summary, error) {
	return askWith[Summary](ctx, c.Client, c.request(http.MethodPost, "/reload"), struct{}{})
}
