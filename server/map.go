package server

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// mapAnswer is a layout of the distinct codes. Lists of numbers are base64 of little-endian bytes.
type mapAnswer struct {
	about
	Items   int        `json:"items"`
	Points  int        `json:"points"`
	Labels  []string   `json:"labels"` // most frequent first
	XY      []byte     `json:"xy"`     // two uint16 per point
	Label   []byte     `json:"label"`  // a uint16 per point: the label of most of its items
	Count   []byte     `json:"count"`  // a uint32 per point: the number of items
	IDs     []index.ID `json:"ids"`    // one item per point
	Sampled bool       `json:"sampled"`
	Seconds float64    `json:"seconds"` // that it took
}

// noLabel is the number of points without a label.
const noLabel = math.MaxUint16

// mapMaker keeps the map of a collection until more than 1 % of the items have changed.
type mapMaker struct {
	mu          sync.Mutex // held while it is drawn
	drawn       []byte     // nil before the first
	fingerprint hamming.Fingerprint
	changed     int64 // items put, changed or deleted before it was drawn, since the service started
}

// map_ sends the map of a collection, and draws it first if need be.
func (s *Server) map_(a *answer, r *http.Request, c *collection) (any, error) {
	m, x := &c.atlas, c.open().snapshot()
	m.mu.Lock()
	defer m.mu.Unlock()
	changed := c.changed.Load()
	if m.drawn == nil || m.fingerprint != x.Fingerprint() || changed-m.changed > int64(x.Len())/100 {
		leave, err := s.enter(r.Context(), true)
		if err != nil {
			return nil, err
		}
		defer leave()
		drawn, err := drawMap(r.Context(), c.name, x)
		if err != nil {
			return nil, err
		}
		m.drawn, m.fingerprint, m.changed = drawn, x.Fingerprint(), changed
	}
	a.body(http.StatusOK, kindJSON, m.drawn)
	return nil, nil
}

// Limits of a map.
const (
	mostMapped = 50_000 // items that are looked at: more are sampled
	mostPoints = 4_000  // as many as people can tell apart, and few enough that drawing takes about a second
)

// mapPoint is the items that share a code.
type mapPoint struct {
	id     index.ID // the first of their ids
	code   []uint64
	items  int
	labels map[string]int // items with each
	label  string         // the most frequent, alphabetically first among equals; empty if none has one
}

// pointsOf returns the distinct codes with their items, in order of their ids, and whether these are all.
func pointsOf(x *index.Snapshot) (points []*mapPoint, all bool, err error) {
	hits, err := x.Matches(index.Filter{})
	known := map[string]*mapPoint{}
	for _, h := range evenly(hits, mostMapped) {
		it := x.Item(h)
		key := fmt.Sprint(it.Code)
		p := known[key]
		if p == nil {
			p = &mapPoint{id: it.ID, code: it.Code, labels: map[string]int{}}
			known[key], points = p, append(points, p)
		}
		p.items++
		if it.Label != "" {
			p.labels[it.Label]++
		}
	}
	for _, p := range points {
		for label, n := range p.labels { // the winner does not depend on the order
			if most := p.labels[p.label]; n > most || n == most && label < p.label {
				p.label = label
			}
		}
	}
	return evenly(points, mostPoints), len(hits) <= mostMapped && len(points) <= mostPoints, err
}

// evenly returns n entries of a list, from all over it, or all if there are no more.
func evenly[T any](list []T, n int) []T {
	if len(list) <= n {
		return list
	}
	some := make([]T, n)
	for i := range some {
		some[i] = list[i*len(list)/n]
	}
	return some
}

// drawMap lays out the codes of a collection.
func drawMap(ctx context.Context, name string, x *index.Snapshot) ([]byte, error) {
	began := time.Now()
	points, all, err := pointsOf(x)
	if err != nil {
		return nil, err
	}
	codes, items := hamming.NewCodes(0, x.Bits()), map[string]int{}
	for _, p := range points {
		codes.Data = append(codes.Data, p.code...)
		if p.label != "" {
			items[p.label] += p.items
		}
	}
	y, err := layOut(ctx, codes, x.Detail())
	if err != nil {
		return nil, err
	}
	a := mapAnswer{
		about: about{name, x.Fingerprint().String()}, Items: x.Len(), Points: len(points), Sampled: !all,
		Labels: append([]string{}, slices.SortedFunc(maps.Keys(items), func(a, b string) int {
			return cmp.Or(cmp.Compare(items[b], items[a]), cmp.Compare(a, b))
		})...),
		XY: packed(y), Label: []byte{}, Count: []byte{}, IDs: []index.ID{},
	}
	number := map[string]uint16{"": noLabel}
	for i, label := range a.Labels {
		number[label] = uint16(i)
	}
	for _, p := range points {
		a.Label = binary.LittleEndian.AppendUint16(a.Label, number[p.label])
		a.Count = binary.LittleEndian.AppendUint32(a.Count, uint32(p.items))
		a.IDs = append(a.IDs, p.id)
	}
	a.Seconds = time.Since(began).Seconds()
	return json.Marshal(a)
}
