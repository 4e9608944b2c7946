package server

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
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

// Limits on the size of a map, since ids and labels can be long.
const (
	noLabel       = math.MaxUint16 // for points without a label or with a rare one
	mapIDBytes    = 16 << 20
	mapLabelBytes = 4 << 20
)

// mapMaker draws the map of a collection on the first request, and again once more than 1 % of the items have changed.
// The service draws one map at a time, on half of the cores, so that searches are still answered.
type mapMaker struct {
	mu      sync.Mutex
	running *drawing // nil when none is being drawn
	drawn   *asset   // nil before the first
	of      basis    // of drawn
}

// drawing is a map being drawn.
type drawing struct {
	progress atomic.Uint64 // a float64
	done     chan struct{} // closed at the end
	err      error         // then
}

// basis identifies the state of a collection that a map was drawn from.
type basis struct {
	fingerprint hamming.Fingerprint
	items       int
	changed     int64 // items put, changed or deleted since the service started
}

func (c *collection) basis() basis {
	x := c.open().snapshot()
	return basis{x.Fingerprint(), x.Len(), c.changed.Load()}
}

// patience is how long a request waits for a map, so that small ones are answered at once.
const patience = time.Second

// get returns the map, or the drawing of it.
func (m *mapMaker) get(s *Server, c *collection) (*asset, *drawing) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := c.basis()
	if m.drawn != nil && m.of.fingerprint == now.fingerprint && now.changed-m.of.changed <= int64(now.items)/100 {
		return m.drawn, nil
	}
	if m.running == nil {
		m.running = &drawing{done: make(chan struct{})}
		s.behind.Go(func() { m.draw(s, c, now) })
	}
	return nil, m.running
}

// draw draws the map once no other is being drawn.
func (m *mapMaker) draw(s *Server, c *collection, of basis) {
	var drawn *asset
	r, err := m.running, context.Canceled
	select {
	case s.computing <- struct{}{}:
		drawn, err = s.drawMap(c, func(share float64) { r.progress.Store(math.Float64bits(share)) })
		<-s.computing
	case <-s.work.Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil {
		m.drawn, m.of = drawn, of
	}
	r.err, m.running = err, nil
	close(r.done)
}

// map_ sends the map of a collection, or how far it is if drawing it takes long.
func (s *Server) map_(w http.ResponseWriter, r *http.Request, c *collection) error {
	drawn, running := c.atlas.get(s, c)
	if drawn != nil {
		drawn.send(w, r)
		return nil
	}
	select {
	case <-running.done:
		if running.err != nil {
			return running.err
		}
		c.atlas.mu.Lock()
		drawn := c.atlas.drawn
		c.atlas.mu.Unlock()
		drawn.send(w, r)
		return nil
	case <-r.Context().Done():
		return context.Cause(r.Context())
	case <-time.After(patience):
	}
	w.Header().Set("Retry-After", "1")
	progress := math.Float64frombits(running.progress.Load())
	writeJSON(w, http.StatusAccepted, map[string]float64{"progress": progress})
	return nil
}

// drawMap lays out the codes of a collection. A panic becomes an error, because it must not end the service.
func (s *Server) drawMap(c *collection, report func(float64)) (drawn *asset, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("panic", "panic", p, "stack", string(debug.Stack()))
			err = problem(http.StatusInternalServerError, "internal error: see the service's log")
		}
	}()
	began, x := time.Now(), c.open().snapshot()
	o := atlas.Options{Threads: max(1, runtime.GOMAXPROCS(0)/2), Progress: report}
	if mean := x.Memory().IDs / max(x.Len(), 1); mean > mapIDBytes/atlas.MaxPoints {
		o.Points = mapIDBytes / mean
	}
	m, err := atlas.Make(s.work, x, o)
	if err != nil {
		return nil, err
	}
	n := len(m.Groups)
	a := mapAnswer{
		about: about{c.name, x.Fingerprint().String()}, Items: x.Len(), Points: n,
		Labels: commonLabels(m.Groups), Sampled: !m.All,
		XY: make([]byte, 0, 4*n), Label: make([]byte, 0, 2*n), Count: make([]byte, 0, 4*n), IDs: make([]index.ID, n),
	}
	number := map[string]uint16{}
	for i, label := range a.Labels {
		number[label] = uint16(i)
	}
	le := binary.LittleEndian
	for i, g := range m.Groups {
		label, ok := number[g.Label]
		if !ok {
			label = noLabel
		}
		a.XY = le.AppendUint16(le.AppendUint16(a.XY, m.X[i]), m.Y[i])
		a.Label, a.Count = le.AppendUint16(a.Label, label), le.AppendUint32(a.Count, uint32(g.Items))
		a.IDs[i] = g.ID
	}
	a.Seconds = time.Since(began).Seconds()
	b, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	return new(newAsset("map.json", b)), nil
}

// commonLabels returns the most frequent labels of the groups, ties in alphabetical order, up to the limits on
// number and size.
func commonLabels(groups []index.Group) []string {
	items := map[string]int{}
	for _, g := range groups {
		if g.Label != "" {
			items[g.Label] += g.Items
		}
	}
	labels := slices.SortedFunc(maps.Keys(items), func(a, b string) int {
		return cmp.Or(cmp.Compare(items[b], items[a]), cmp.Compare(a, b))
	})
	bytes := 0
	for i, label := range labels {
		if bytes += len(label); i == noLabel || bytes > mapLabelBytes {
			return labels[:i]
		}
	}
	return append([]string{}, labels...)
}
