package server

import (
	"net/http"

	"hashgrove/internal/index"
)

type facetsAnswer struct {
	about
	Items      int         `json:"items"` // that match
	Labels     []count     `json:"labels"`
	Tags       []count     `json:"tags"`
	Attributes []attribute `json:"attributes"`
}

type count struct {
	Value string `json:"value"`
	Count int    `json:"count"`
}

type attribute struct {
	Name      string     `json:"name"`
	Kind      index.Kind `json:"kind"`
	Count     int        `json:"count"`
	Min       any        `json:"min,omitempty"` // number or date
	Max       any        `json:"max,omitempty"`
	Histogram []int      `json:"histogram,omitempty"`
	Values    []count    `json:"values,omitempty"`
	Distinct  int        `json:"distinct,omitempty"`
}

const (
	histogramParts = 20
	mostValues     = 1000
)

// facets counts labels, tags and attributes among the items that match a filter.
func (s *Server) facets(w http.ResponseWriter, r *http.Request, c *collection) error {
	p := &parameters{Values: r.URL.Query()}
	p.known("where", "top")
	top := 50
	if n := p.number("top"); n != nil {
		top = *n
	}
	switch {
	case p.err != nil:
		return p.err
	case top < 1 || top > mostValues:
		return bad("top=%d: ask for 1 to %d values", top, mostValues)
	}
	f, err := s.filter(p.Get("where"))
	if err != nil {
		return err
	}
	if err := s.gate.enter(r.Context()); err != nil {
		return err
	}
	defer s.gate.leave()
	x := c.open().snapshot()
	if err := x.CheckFilter(f); err != nil {
		return err
	}
	a := facetsAnswer{about: c.about(), Items: x.Count(f), Attributes: []attribute{}}
	a.Labels = counts(x.Facet(index.LabelName, f, top, 0).Texts)
	a.Tags = counts(x.Facet(index.TagName, f, top, 0).Texts)
	for _, known := range x.Attributes() {
		n := x.Facet(known.Name, f, top, histogramParts)
		of := attribute{Name: n.Name, Kind: known.Kind, Count: n.Items, Histogram: n.Histogram, Distinct: n.Distinct}
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
	writeJSON(w, http.StatusOK, a)
	return nil
}

func counts(list []index.Count) []count {
	all := make([]count, len(list))
	for i, n := range list {
		all[i] = count{n.Text, n.Items}
	}
	return all
}
