package api

import "time"

// Server describes the server and what this token allows.
type Server struct {
	Version     string   `json:"version"`
	ReadOnly    bool     `json:"read_only"`
	Access      string   `json:"access"` // read or write
	TokenNeeded bool     `json:"token_needed"`
	Try         bool     `json:"try"` // whether data can be uploaded for training
	Limits      Limits   `json:"limits"`
	Collections []string `json:"collections"`
}

// Limits on requests.
type Limits struct {
	K             int   `json:"k"`
	Batch         int   `json:"batch"`
	Hits          int   `json:"hits"`      // of all queries of a request
	Explained     int   `json:"explained"` // queries of a request with explanations
	Page          int   `json:"page"`
	BodyBytes     int64 `json:"body_bytes"`
	FilterBytes   int   `json:"filter_bytes"`
	FilterDepth   int   `json:"filter_depth"`
	PicturePixels int   `json:"picture_pixels"`
	TryBytes      int64 `json:"try_bytes"`
}

// Summary of a collection.
type Summary struct {
	Name          string `json:"name"`
	Items         int    `json:"items"`
	DistinctCodes int    `json:"distinct_codes"`
	Bits          int    `json:"bits"`
	DetailBits    int    `json:"detail_bits,omitempty"` // how many of the bits, the last ones, are detail
	Fingerprint   string `json:"fingerprint"`
	Model         bool   `json:"model"` // whether it can encode
	Takes         string `json:"takes"` // vectors, pictures or codes
	Dims          int    `json:"dims"`
	Pictures      bool   `json:"pictures"`                // whether there are thumbnails
	PicturesMade  *int   `json:"pictures_made,omitempty"` // how many so far, while they are being made
	Vectors       bool   `json:"vectors"`                 // whether the items' vectors are known
	Report        bool   `json:"report"`
	ReadOnly      bool   `json:"read_only"`
	Health        string `json:"health"` // ok, or degraded with the reason

	// Rankings lists those that searches can ask for. The first is what auto means.
	Rankings []string `json:"rankings,omitempty"`
}

// CreateRequest asks for a new, empty collection.
type CreateRequest struct {
	Like string `json:"like,omitempty"` // name of a collection whose model the new one shares
	Bits int    `json:"bits,omitempty"` // in its place: length of codes that somebody else computes
}

// Dropped is the answer to dropping a collection.
type Dropped struct {
	Collection  string `json:"collection"`
	Fingerprint string `json:"fingerprint"`
	Items       int    `json:"items"` // that went with it
}

// Description of a collection in detail.
type Description struct {
	Summary
	File         File        `json:"file"`
	Memory       Memory      `json:"memory"`
	Attributes   []Attribute `json:"attributes"`
	Labels       bool        `json:"labels"` // whether any item has one
	Tags         bool        `json:"tags"`
	RecentWrites []Write     `json:"recent_writes"`
}

// File describes an index file.
type File struct {
	Bytes     int64     `json:"bytes"`
	FreeBytes int64     `json:"free_bytes"`
	Writes    uint64    `json:"writes"` // transactions since the file was made
	Created   time.Time `json:"created"`
	Note      string    `json:"note,omitempty"`
}

// Memory usage in bytes.
type Memory struct {
	Total    int `json:"total_bytes"`
	Codes    int `json:"codes_bytes"`
	Postings int `json:"postings_bytes"`
	IDs      int `json:"ids_bytes"`
	Columns  int `json:"columns_bytes"`
	Tables   int `json:"tables_bytes"`
}

// Attribute is the name and type of an attribute.
type Attribute struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// Write is one recent write to the collection.
type Write struct {
	Time    time.Time `json:"time"`
	Kind    string    `json:"kind"` // put, patch or delete
	Items   int       `json:"items"`
	Seconds float64   `json:"seconds"`
}

// Facets counts labels, tags and attribute values among the items that match a filter.
type Facets struct {
	Collection  string           `json:"collection"`
	Fingerprint string           `json:"fingerprint"`
	Items       int              `json:"items"`
	Labels      []Count          `json:"labels"`
	Tags        []Count          `json:"tags"`
	Attributes  []AttributeFacet `json:"attributes"`
}

// Count is the number of items with a value.
type Count struct {
	Value string `json:"value"`
	Count int    `json:"count"`
}

// AttributeFacet holds the values of one attribute.
type AttributeFacet struct {
	Name      string  `json:"name"`
	Kind      string  `json:"kind"`
	Count     int     `json:"count"`
	Min       any     `json:"min,omitempty"` // float64 for numbers, string for dates
	Max       any     `json:"max,omitempty"`
	Histogram []int   `json:"histogram,omitempty"` // numbers only: twenty equal bins from Min to Max
	Values    []Count `json:"values,omitempty"`    // texts only: the most frequent values
	Distinct  int     `json:"distinct,omitempty"`
}
