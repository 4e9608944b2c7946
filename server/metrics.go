package server

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Metrics in the Prometheus text format. They are few: VictoriaMetrics/metrics would add 100 kB and three modules
// and leave the HELP texts empty.

// latencies are the upper bounds of the histogram buckets, in seconds.
var latencies = [...]float64{
	0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10,
}

// histogram counts durations.
type histogram struct {
	counts  [len(latencies) + 1]int
	seconds float64
	items   int // that were written
}

func (h *histogram) add(seconds float64, items int) {
	at, _ := slices.BinarySearch(latencies[:], seconds)
	h.counts[at]++
	h.seconds += seconds
	h.items += items
}

// answered is the key of the request counter: a route and a status.
type answered struct {
	route  string
	status int
}

type metrics struct {
	running atomic.Int64

	mu       sync.Mutex
	requests map[answered]int
	times    map[string]*histogram // by route
	writes   map[string]*histogram // by collection, until the items are on disk
}

func newMetrics() *metrics {
	return &metrics{requests: map[answered]int{}, times: map[string]*histogram{}, writes: map[string]*histogram{}}
}

func (m *metrics) request(route string, status int, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests[answered{route, status}]++
	if m.times[route] == nil {
		m.times[route] = new(histogram)
	}
	m.times[route].add(took.Seconds(), 0)
}

// written records a write of items.
func (m *metrics) written(collection string, items int, seconds float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.writes[collection] == nil {
		m.writes[collection] = new(histogram)
	}
	m.writes[collection].add(seconds, items)
}

// forget drops the figures of a collection, so that those created and dropped do not add up.
func (m *metrics) forget(collection string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.writes, collection)
}

// page is a page of metrics in the making.
type page struct{ strings.Builder }

// head writes the HELP and TYPE lines of a metric.
func (p *page) head(name, kind, help string) {
	fmt.Fprintf(p, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// histograms writes histograms by the value of a label.
func (p *page) histograms(name, help, label string, all map[string]*histogram) {
	p.head(name, "histogram", help)
	for _, value := range slices.Sorted(maps.Keys(all)) {
		h, total := all[value], 0
		for i, n := range h.counts {
			total += n
			bound := "+Inf"
			if i < len(latencies) {
				bound = fmt.Sprint(latencies[i])
			}
			fmt.Fprintf(p, "%s_bucket{%s=%q,le=%q} %d\n", name, label, value, bound, total)
		}
		fmt.Fprintf(p, "%s_sum{%s=%q} %g\n%s_count{%s=%q} %d\n", name, label, value, h.seconds, name, label, value, total)
	}
}

// writeMetrics sends all metrics.
func (s *Server) writeMetrics(a *answer, _ *http.Request) (any, error) {
	var p page
	s.metrics.write(&p)
	list := s.all()
	of := func(name, kind, help string, value func(o *opened) any) {
		p.head(name, kind, help)
		for _, c := range list {
			fmt.Fprintf(&p, "%s{collection=%q} %v\n", name, c.name, value(c.open()))
		}
	}
	of("hashgrove_items", "gauge", "Items of a collection.", func(o *opened) any { return o.snapshot().Len() })
	of("hashgrove_codes", "gauge", "Distinct codes in a collection.", func(o *opened) any { return o.snapshot().Codes() })
	of("hashgrove_index_bytes", "gauge", "Memory used by a collection's index.",
		func(o *opened) any { return o.store.Info().Memory.Total() })
	of("hashgrove_file_bytes", "gauge", "Size of a collection's file.",
		func(o *opened) any { return o.store.Info().FileBytes })
	of("hashgrove_syncs_total", "counter", "Transactions since a collection was opened.",
		func(o *opened) any { return o.store.Info().Syncs })
	of("hashgrove_sync_seconds_total", "counter", "Time spent syncing transactions to disk.",
		func(o *opened) any { return o.store.Info().SyncTime.Seconds() })
	of("hashgrove_healthy", "gauge", "1 unless a collection can no longer be written.", func(o *opened) any {
		if o.store.Info().Degraded != "" {
			return 0
		}
		return 1
	})
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	gauge := func(name, help string, value any) {
		p.head(name, "gauge", help)
		fmt.Fprintf(&p, "%s %v\n", name, value)
	}
	gauge("hashgrove_searches_running", "Searches running.", len(s.gate.slots))
	gauge("hashgrove_searches_waiting", "Searches waiting for a slot.", len(s.gate.waiting))
	gauge("hashgrove_requests_running", "Requests being answered.", s.metrics.running.Load())
	gauge("hashgrove_uptime_seconds", "Time since the start.", time.Since(s.began).Seconds())
	gauge("go_goroutines", "Goroutines.", runtime.NumGoroutine())
	gauge("go_memstats_heap_inuse_bytes", "Heap in use.", memory.HeapInuse)
	gauge("go_memstats_sys_bytes", "Memory from the system.", memory.Sys)
	a.body(http.StatusOK, "text/plain; version=0.0.4; charset=utf-8", []byte(p.String()))
	return nil, nil
}

// write writes the counters.
func (m *metrics) write(p *page) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p.head("hashgrove_requests_total", "counter", "Requests by route and status.")
	keys := slices.SortedFunc(maps.Keys(m.requests), func(x, y answered) int {
		return cmp.Or(cmp.Compare(x.route, y.route), cmp.Compare(x.status, y.status))
	})
	for _, k := range keys {
		fmt.Fprintf(p, "hashgrove_requests_total{route=%q,status=\"%d\"} %d\n", k.route, k.status, m.requests[k])
	}
	p.histograms("hashgrove_request_seconds", "Time to answer, by route.", "route", m.times)
	p.histograms("hashgrove_write_seconds", "Time until a write is on disk.", "collection", m.writes)
	p.head("hashgrove_written_items_total", "counter", "Items written or deleted.")
	for _, name := range slices.Sorted(maps.Keys(m.writes)) {
		fmt.Fprintf(p, "hashgrove_written_items_total{collection=%q} %d\n", name, m.writes[name].items)
	}
}
