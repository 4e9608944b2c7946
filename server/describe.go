package server

import (
	"net/http"
	"time"

	"hashgrove/internal/index"
	"hashgrove/internal/model"
	"hashgrove/internal/search"
)

// serverAnswer tells clients about the server and its limits.
type serverAnswer struct {
	Version     string       `json:"version"`
	ReadOnly    bool         `json:"read_only"`
	Access      string       `json:"access"` // of this request: read or write
	TokenNeeded bool         `json:"token_needed"`
	Try         bool         `json:"try"` // whether data can be uploaded for training
	Limits      limitsAnswer `json:"limits"`
	Collections []string     `json:"collections"`
}

type limitsAnswer struct {
	K             int   `json:"k"`
	Batch         int   `json:"batch"`
	Hits          int   `json:"hits"`
	Page          int   `json:"page"`
	BodyBytes     int64 `json:"body_bytes"`
	FilterBytes   int   `json:"filter_bytes"`
	FilterDepth   int   `json:"filter_depth"`
	PicturePixels int   `json:"picture_pixels"`
	TryBytes      int64 `json:"try_bytes"`
}

func (s *Server) describeServer(w http.ResponseWriter, r *http.Request) error {
	l, may := s.limits, s.accessOf(r)
	if s.options.ReadOnly {
		may = min(may, reading)
	}
	a := serverAnswer{
		Version: model.Version, ReadOnly: s.options.ReadOnly, Access: may.String(),
		TokenNeeded: s.options.ReadToken != "" || s.options.WriteToken != "", Try: s.hasMounted("try"),
		Limits: limitsAnswer{
			l.K, l.Batch, l.Hits, l.Page, l.Body, l.FilterBytes, l.FilterDepth, l.Pixels, l.Upload,
		},
		Collections: []string{},
	}
	for _, c := range s.all() {
		a.Collections = append(a.Collections, c.name)
	}
	writeJSON(w, http.StatusOK, a)
	return nil
}

// summary is a collection in a list.
type summary struct {
	Name        string `json:"name"`
	Items       int    `json:"items"`
	Distinct    int    `json:"distinct_codes"`
	Bits        int    `json:"bits"`
	Fingerprint string `json:"fingerprint"`
	Model       bool   `json:"model"`
	Takes       string `json:"takes"` // vectors, pictures or codes
	Dims        int    `json:"dims,omitempty"`
	Pictures    bool   `json:"pictures"` // whether there are thumbnails
	Vectors     bool   `json:"vectors"`  // whether the items' vectors are known
	Report      bool   `json:"report"`
	ReadOnly    bool   `json:"read_only"`
	Health      string `json:"health"`
}

func (c *collection) summary() summary {
	o := c.open()
	x, info := o.snapshot(), o.store.Info()
	a := summary{
		Name: c.name, Items: x.Len(), Distinct: x.Codes(), Bits: x.Bits(), Fingerprint: x.Fingerprint().String(),
		Model: o.model != nil, Takes: "codes", Pictures: c.album != nil, Vectors: c.vectors != nil,
		Report: c.options.Report != "", ReadOnly: info.ReadOnly, Health: "ok",
	}
	if o.model != nil {
		a.Takes, a.Dims = "vectors", o.model.Encoder.Dim()
		if o.model.Pictures != nil {
			a.Takes = "pictures"
		}
	}
	if info.Degraded != "" {
		a.Health = "degraded: " + info.Degraded
	}
	return a
}

func (s *Server) listCollections(w http.ResponseWriter, _ *http.Request) error {
	list := []summary{}
	for _, c := range s.all() {
		list = append(list, c.summary())
	}
	writeJSON(w, http.StatusOK, map[string]any{"collections": list})
	return nil
}

// collectionAnswer is everything known about a collection except its model.
type collectionAnswer struct {
	summary
	File         fileAnswer        `json:"file"`
	Memory       memoryAnswer      `json:"memory"`
	Attributes   []index.Attribute `json:"attributes"`
	Labels       bool              `json:"labels"`
	Tags         bool              `json:"tags"`
	BitsState    []bitState        `json:"bits_state"`
	Buckets      bucketState       `json:"buckets"`
	RecentWrites []recentWrite     `json:"recent_writes"`
}

type fileAnswer struct {
	Bytes     int64     `json:"bytes"`
	FreeBytes int64     `json:"free_bytes"`
	Writes    uint64    `json:"writes"`
	Created   time.Time `json:"created"`
	Note      string    `json:"note,omitempty"`
}

type memoryAnswer struct {
	Total    int `json:"total_bytes"`
	Codes    int `json:"codes_bytes"`
	Postings int `json:"postings_bytes"`
	IDs      int `json:"ids_bytes"`
	Columns  int `json:"columns_bytes"`
	Tables   int `json:"tables_bytes"`
}

func (s *Server) describeCollection(w http.ResponseWriter, r *http.Request, c *collection) error {
	if err := s.gate.enter(r.Context()); err != nil {
		return err
	}
	defer s.gate.leave()
	o := c.open()
	x, info := o.snapshot(), o.store.Info()
	a := collectionAnswer{
		summary:    c.summary(),
		File:       fileAnswer{info.FileBytes, info.FreeBytes, info.Writes, info.Created, info.Note},
		Attributes: x.Attributes(), RecentWrites: c.recent.latest(),
	}
	if a.Attributes == nil {
		a.Attributes = []index.Attribute{}
	}
	m := x.Memory()
	a.Memory = memoryAnswer{m.Total(), m.Codes, m.Postings, m.IDs, m.Columns, m.Tables}
	if x.Len() > 0 {
		a.Labels, a.Tags = x.CheckFilter(index.Label()) == nil, x.CheckFilter(index.Tag()) == nil
	}
	a.BitsState, a.Buckets = c.codeStats(x)
	writeJSON(w, http.StatusOK, a)
	return nil
}

// modelAnswer describes a model as "hashgrove info" does.
type modelAnswer struct {
	about
	Kind       string       `json:"kind"`
	Dims       int          `json:"dims"`
	Bits       int          `json:"bits"`
	Features   string       `json:"features,omitempty"`
	Pictures   string       `json:"pictures,omitempty"`
	Averaged   bool         `json:"averaged,omitempty"`
	Info       model.Info   `json:"info"`
	Importance []importance `json:"importance"`
}

// importance counts how often the trees of all bits test a column.
type importance struct {
	Column int     `json:"column"`
	Name   string  `json:"name"`
	Tests  int     `json:"tests"`
	Share  float64 `json:"share"`
}

// shownColumns limits the columns whose importance is listed.
const shownColumns = 100

func (s *Server) describeModel(w http.ResponseWriter, _ *http.Request, c *collection) error {
	m := c.open().model
	if m == nil {
		return problem(http.StatusNotFound, "the collection has no model: it was built from codes")
	}
	a := modelAnswer{
		about: c.about(), Kind: m.Encoder.Kind(), Dims: m.Encoder.Dim(), Bits: m.Encoder.Bits(), Info: m.Info,
		Importance: []importance{},
	}
	a.Info.Sketch = nil // thousands of digits
	if m.Features != nil {
		a.Features = m.Features.Kind()
	}
	if m.Pictures != nil {
		a.Pictures, a.Averaged = m.Pictures.String(), m.Pictures.Averaged
	}
	if b, _, ok := model.Behind(m.Encoder); ok {
		tests, all := b.ColumnTests(), 0
		for _, t := range tests {
			all += t.Tests
		}
		for _, t := range tests[:min(len(tests), shownColumns)] {
			a.Importance = append(a.Importance,
				importance{t.Column, search.ColumnName(m, t.Column), t.Tests, float64(t.Tests) / float64(all)})
		}
	}
	writeJSON(w, http.StatusOK, a)
	return nil
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}
