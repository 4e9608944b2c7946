package server

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/server/internal/atlas"
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
	drawn       *asset     // nil before the first
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
	m.drawn.send(a, r)
	return nil, nil
}

// drawMap lays out the codes of a collection.
func drawMap(ctx context.Context, name string, x *index.Snapshot) (*asset, error) {
	began := time.Now()
	m, err := atlas.Make(ctx, x)
	if err != nil {
		return nil, err
	}
	items := map[string]int{}
	for _, g := range m.Groups {
		items[g.Label] += g.Items
	}
	delete(items, "")
	a := mapAnswer{
		about: about{name, x.Fingerprint().String()}, Items: x.Len(), Points: len(m.Groups), Sampled: !m.All,
		Labels: append([]string{}, slices.SortedFunc(maps.Keys(items), func(a, b string) int {
			return cmp.Or(cmp.Compare(items[b], items[a]), cmp.Compare(a, b))
		})...),
		XY: []byte{}, Label: []byte{}, Count: []byte{}, IDs: []index.ID{},
	}
	number := map[string]uint16{"": noLabel}
	for i, label := range a.Labels {
		number[label] = uint16(i)
	}
	le := binary.LittleEndian
	for i, g := range m.Groups {
		a.XY = le.AppendUint16(le.AppendUint16(a.XY, m.X[i]), m.Y[i])
		a.Label, a.Count = le.AppendUint16(a.Label, number[g.Label]), le.AppendUint32(a.Count, uint32(g.Items))
		a.IDs = append(a.IDs, g.ID)
	}
	a.Seconds = time.Since(began).Seconds()
	b, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	return new(newAsset("map.json", b)), nil
}
