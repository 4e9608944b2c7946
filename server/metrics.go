package server

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hashgrove/internal/index"
	"hashgrove/internal/store"
)

// Metrics in the Prometheus text format. They are few: VictoriaMetrics/metrics would add 100 kB and three modules
// and leave the HELP texts empty.

// latencies are the upper bounds of the histogram buckets, in seconds.
var latencies = [...]float64{
	0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10,
}

// histogram counts durations.
type histogram struct {
	counts  [len(latencies) + 1]atomic.Uint64
	seconds atomic.Uint64 // bits of a float64
}

func (h *histogram) add(d time.Duration) {
	at, _ := slices.BinarySearch(latencies[:], d.Seconds())
	h.counts[at].Add(1)
	for {
		old := h.seconds.Load()
		if h.seconds.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+d.Seconds())) {
			return
		}
	}
}

// write writes the histogram under a name with the given labels.
func (h *histogram) write(b *strings.Builder, name, labels string) {
	total := uint64(0)
	for i := range h.counts {
		total += h.counts[i].Load()
		bound := "+Inf"
		if i < len(latencies) {
			bound = strconv.FormatFloat(latencies[i], 'g', -1, 64)
		}
		fmt.Fprintf(b, "%s_bucket{%sle=%q} %d\n", name, labels+",", bound, total)
	}
	fmt.Fprintf(b, "%s_sum{%s} %g\n", name, labels, math.Float64frombits(h.seconds.Load()))
	fmt.Fprintf(b, "%s_count{%s} %d\n", name, labels, total)
}

// answered is the key of the request counter: a route and a status.
type answered struct {
	route  string
	status int
}

type metrics struct {
	running atomic.Int64

	mu       sync.RWMutex
	requests map[answered]*atomic.Uint64
	times    map[string]*histogram // by route
	writes   map[string]*histogram // by collection, until the items are on disk
	items    map[string]*atomic.Uint64
}

func newMetrics() *metrics {
	return &metrics{
		requests: map[answered]*atomic.Uint64{}, times: map[string]*histogram{}, writes: map[string]*histogram{},
		items: map[string]*atomic.Uint64{},
	}
}

// entry returns the value for a key, creating it if needed.
func entry[K comparable, V any](mu *sync.RWMutex, m map[K]*V, key K) *V {
	mu.RLock()
	v := m[key]
	mu.RUnlock()
	if v != nil {
		return v
	}
	mu.Lock()
	defer mu.Unlock()
	if m[key] == nil {
		m[key] = new(V)
	}
	return m[key]
}

func (m *metrics) request(route string, status int, took time.Duration) {
	entry(&m.mu, m.requests, answered{route, status}).Add(1)
	entry(&m.mu, m.times, route).add(took)
}

// written records a write of items.
func (m *metrics) written(collection string, items int, took time.Duration) {
	entry(&m.mu, m.writes, collection).add(took)
	entry(&m.mu, m.items, collection).Add(uint64(items))
}

// forget drops the figures of a collection, so that those created and dropped do not add up.
func (m *metrics) forget(collection string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.writes, collection)
	delete(m.items, collection)
}

// writeMetrics sends all metrics.
func (s *Server) writeMetrics(a *answer, _ *http.Request) (any, error) {
	var b strings.Builder
	s.metrics.write(&b)
	gauges := []struct {
		name, kind, help string
		value            func(x *index.Snapshot, i store.Info) float64
	}{
		{"hashgrove_items", "gauge", "Items of a collection.",
			func(x *index.Snapshot, _ store.Info) float64 { return float64(x.Len()) }},
		{"hashgrove_codes", "gauge", "Distinct codes in a collection.",
			func(x *index.Snapshot, _ store.Info) float64 { return float64(x.Codes()) }},
		{"hashgrove_index_bytes", "gauge", "Memory used by a collection's index.",
			func(_ *index.Snapshot, i store.Info) float64 { return float64(i.Memory.Total()) }},
		{"hashgrove_file_bytes", "gauge", "Size of a collection's file.",
			func(_ *index.Snapshot, i store.Info) float64 { return float64(i.FileBytes) }},
		{"hashgrove_syncs_total", "counter", "Transactions since a collection was opened.",
			func(_ *index.Snapshot, i store.Info) float64 { return float64(i.Syncs) }},
		{"hashgrove_sync_seconds_total", "counter", "Time spent syncing transactions to disk.",
			func(_ *index.Snapshot, i store.Info) float64 { return i.SyncTime.Seconds() }},
		{"hashgrove_healthy", "gauge", "1 unless a collection can no longer be written.",
			func(_ *index.Snapshot, i store.Info) float64 { return float64(number(i.Degraded == "")) }},
	}
	for _, g := range gauges {
		writeHead(&b, g.name, g.kind, g.help)
		for _, c := range s.all() {
			o := c.open()
			fmt.Fprintf(&b, "%s{collection=%q} %g\n", g.name, c.name, g.value(o.snapshot(), o.store.Info()))
		}
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	for _, g := range []struct {
		name, help string
		value      float64
	}{
		{"hashgrove_searches_running", "Searches running.", float64(len(s.gate.slots))},
		{"hashgrove_searches_waiting", "Searches waiting for a slot.", float64(len(s.gate.waiting))},
		{"hashgrove_requests_running", "Requests being answered.", float64(s.metrics.running.Load())},
		{"hashgrove_uptime_seconds", "Time since the start.", time.Since(s.began).Seconds()},
		{"go_goroutines", "Goroutines.", float64(runtime.NumGoroutine())},
		{"go_memstats_heap_inuse_bytes", "Heap in use.", float64(memory.HeapInuse)},
		{"go_memstats_sys_bytes", "Memory from the system.", float64(memory.Sys)},
	} {
		writeHead(&b, g.name, "gauge", g.help)
		fmt.Fprintf(&b, "%s %g\n", g.name, g.value)
	}
	a.body(http.StatusOK, "text/plain; version=0.0.4; charset=utf-8", []byte(b.String()))
	return nil, nil
}

// writeHead writes the HELP and TYPE lines of a metric.
func writeHead(b *strings.Builder, name, kind, help string) {
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// write writes the counters.
func (m *metrics) write(b *strings.Builder) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	writeHead(b, "hashgrove_requests_total", "counter", "Requests by route and status.")
	keys := slices.SortedFunc(maps.Keys(m.requests), func(x, y answered) int {
		if x.route != y.route {
			return strings.Compare(x.route, y.route)
		}
		return x.status - y.status
	})
	for _, k := range keys {
		fmt.Fprintf(b, "hashgrove_requests_total{route=%q,status=\"%d\"} %d\n", k.route, k.status, m.requests[k].Load())
	}
	writeHead(b, "hashgrove_request_seconds", "histogram", "Time to answer, by route.")
	for _, route := range slices.Sorted(maps.Keys(m.times)) {
		m.times[route].write(b, "hashgrove_request_seconds", fmt.Sprintf("route=%q", route))
	}
	writeHead(b, "hashgrove_write_seconds", "histogram", "Time until a write is on disk.")
	for _, name := range slices.Sorted(maps.Keys(m.writes)) {
		m.writes[name].write(b, "hashgrove_write_seconds", fmt.Sprintf("collection=%q", name))
	}
	writeHead(b, "hashgrove_written_items_total", "counter", "Items written or deleted.")
	for _, name := range slices.Sorted(maps.Keys(m.items)) {
		fmt.Fprintf(b, "hashgrove_written_items_total{collection=%q} %d\n", name, m.items[name].Load())
	}
}
