package server

import (
	"bytes"
	"cmp"
	"net/http"

	"hashgrove/api"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
	"hashgrove/internal/search"
)

func (s *Server) describeServer(_ *answer, r *http.Request) (any, error) {
	l, may := s.limits, s.accessOf(r)
	if s.options.ReadOnly {
		may = min(may, reading)
	}
	a := api.Server{
		Version: model.Version, ReadOnly: s.options.ReadOnly, Access: may.String(),
		TokenNeeded: s.options.ReadToken != "" || s.options.WriteToken != "", Try: s.tries,
		Limits: api.Limits{
			K: l.K, Batch: l.Batch, Hits: l.Hits, Explained: l.Explained, Page: l.Page, BodyBytes: l.Body,
			FilterBytes: l.FilterBytes, FilterDepth: l.FilterDepth, PicturePixels: l.Pixels, TryBytes: l.Upload,
		},
		Collections: []string{},
	}
	for _, c := range s.all() {
		a.Collections = append(a.Collections, c.name)
	}
	return a, nil
}

func (c *collection) summary() api.Summary {
	o := c.open()
	x, info := o.snapshot(), o.store.Info()
	a := api.Summary{
		Name: c.name, Items: x.Len(), DistinctCodes: x.Codes(), Bits: x.Bits(), DetailBits: x.Detail(),
		Fingerprint: x.Fingerprint().String(), Rankings: rankings(o.model),
		Model: o.model != nil, Takes: "codes", Pictures: c.album != nil, Vectors: o.vectors != nil,
		Report: c.options.Report != "", ReadOnly: info.ReadOnly, Health: "ok",
	}
	if o.model != nil {
		a.Takes, a.Dims = "vectors", o.model.Encoder.Dim()
		if o.model.Pictures != nil {
			a.Takes = "pictures"
		}
	}
	if made, unfinished := c.album.progress(); unfinished {
		a.PicturesMade = &made
	}
	if info.Degraded != "" {
		a.Health = "degraded: " + info.Degraded
	}
	return a
}

// rankings lists the rankings that a model can answer with, the one that it chose first.
func rankings(m *model.Model) []string {
	if m == nil {
		return nil
	}
	list := []string{m.Rank()}
	for _, rank := range model.Rankings() {
		if rank != list[0] && (rank != model.ByExpected || m.Ranking != nil) {
			list = append(list, rank)
		}
	}
	return list
}

func (s *Server) listCollections(_ *answer, _ *http.Request) (any, error) {
	list := []api.Summary{}
	for _, c := range s.all() {
		list = append(list, c.summary())
	}
	return map[string]any{"collections": list}, nil
}

func (s *Server) describeCollection(_ *answer, r *http.Request, c *collection) (any, error) {
	if err := s.gate.enter(r.Context()); err != nil {
		return nil, err
	}
	defer s.gate.leave()
	o := c.open()
	x, info := o.snapshot(), o.store.Info()
	a := api.Description{
		Summary: c.summary(),
		File: api.File{
			Bytes: info.FileBytes, FreeBytes: info.FreeBytes, Writes: info.Writes, Created: info.Created, Note: info.Note,
		},
		Memory: *search.Memory(x.Memory()), Attributes: []api.Attribute{}, RecentWrites: c.latest(),
	}
	for _, known := range x.Attributes() {
		a.Attributes = append(a.Attributes, api.Attribute{Name: known.Name, Kind: known.Kind.String()})
	}
	if x.Len() > 0 {
		a.Labels, a.Tags = x.CheckFilter(index.Label()) == nil, x.CheckFilter(index.Tag()) == nil
	}
	return a, nil
}

// modelAnswer describes a model as "hashgrove info" does.
type modelAnswer struct {
	about
	Kind       string       `json:"kind"`
	Dims       int          `json:"dims"`
	Bits       int          `json:"bits"`
	Features   string       `json:"features,omitempty"`
	Pictures   string       `json:"pictures,omitempty"`
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

func (s *Server) describeModel(a *answer, r *http.Request, c *collection) (any, error) {
	m := c.open().model
	if m == nil {
		return nil, problem(http.StatusNotFound, "the collection has no model: it was built from codes")
	}
	if r.Header.Get("Accept") == kindFloats { // the file
		var b bytes.Buffer
		if err := model.Write(&b, m); err != nil {
			return nil, err
		}
		a.body(http.StatusOK, kindFloats, b.Bytes())
		return nil, nil
	}
	about := modelAnswer{
		about: c.about(), Kind: m.Encoder.Kind(), Dims: m.Encoder.Dim(), Bits: m.Encoder.Bits(), Info: m.Info,
		Importance: []importance{},
	}
	about.Info.Sketch = nil // thousands of digits
	if m.Features != nil {
		about.Features = m.Features.Kind()
	}
	if m.Pictures != nil {
		about.Pictures = m.Pictures.String()
	}
	if b, _, ok := model.Behind(m.Encoder); ok {
		tests, all := b.ColumnTests(), 0
		for _, t := range tests {
			all += t.Tests
		}
		for _, t := range tests[:min(len(tests), shownColumns)] {
			about.Importance = append(about.Importance,
				importance{t.Column, search.ColumnName(m, t.Column), t.Tests, float64(t.Tests) / float64(all)})
		}
	}
	return about, nil
}

const (
	histogramParts = 20
	mostValues     = 1000
)

// facets counts labels, tags and attributes among the items that match a filter.
func (s *Server) facets(_ *answer, r *http.Request, c *collection) (any, error) {
	top, err := whole(r, "top", 50, 1, mostValues)
	f, err2 := s.filter(r.URL.Query().Get("where"))
	if err := cmp.Or(err, err2); err != nil {
		return nil, err
	}
	if err := s.gate.enter(r.Context()); err != nil {
		return nil, err
	}
	defer s.gate.leave()
	x := c.open().snapshot()
	if err := x.CheckFilter(f); err != nil {
		return nil, err
	}
	about := c.about()
	a := api.Facets{
		Collection: about.Collection, Fingerprint: about.Fingerprint, Items: x.Count(f), Attributes: []api.AttributeFacet{},
	}
	a.Labels = counts(x.Facet(index.LabelName, f, top, 0).Texts)
	a.Tags = counts(x.Facet(index.TagName, f, top, 0).Texts)
	for _, known := range x.Attributes() {
		n := x.Facet(known.Name, f, top, histogramParts)
		of := api.AttributeFacet{
			Name: n.Name, Kind: known.Kind.String(), Count: n.Items, Histogram: n.Histogram, Distinct: n.Distinct,
		}
		switch {
		case n.Numbers > 0:
			of.Min, of.Max = n.Min, n.Max
		case n.First != "":
			of.Min, of.Max = n.First, n.Last
		}
		if len(n.Texts) > 0 {
			of.Values = counts(n.Texts)
		}
		a.Attributes = append(a.Attributes, of)
	}
	return a, nil
}

func counts(list []index.Count) []api.Count {
	all := make([]api.Count, len(list))
	for i, n := range list {
		all[i] = api.Count{Value: n.Text, Count: n.Items}
	}
	return all
}
