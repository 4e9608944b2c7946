package server_test

import (
	"fmt"
	"net/http"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// watch samples the memory of the process, which holds both the service and those who abuse it.
type watch struct {
	stop       chan bool
	ended      sync.WaitGroup
	heap       uint64 // in use at the start
	goroutines int
	peak       uint64
	most       int
}

func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// startWatch begins to watch after everything has calmed down.
func startWatch(s *service) *watch {
	s.client.CloseIdleConnections()
	time.Sleep(50 * time.Millisecond)
	runtime.GC()
	w := &watch{stop: make(chan bool), heap: liveHeap(), goroutines: runtime.NumGoroutine()}
	w.ended.Go(func() {
		for {
			w.peak, w.most = max(w.peak, liveHeap()), max(w.most, runtime.NumGoroutine())
			select {
			case <-w.stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	})
	return w
}

// end checks that no more than so many bytes were in use beyond those at the start, and that memory and goroutines are as
// before after a while.
func (w *watch) end(t *testing.T, s *service, bytes uint64) {
	t.Helper()
	close(w.stop)
	w.ended.Wait()
	more := w.peak - min(w.peak, w.heap)
	t.Logf("at most %.1f MB and %d goroutines more than before", float64(more)/1e6, w.most-w.goroutines)
	if more > bytes {
		t.Errorf("%d bytes of memory more than before, want at most %d", more, bytes)
	}
	left := 0
	for began := time.Now(); time.Since(began) < patience; time.Sleep(50 * time.Millisecond) {
		s.client.CloseIdleConnections()
		if left = runtime.NumGoroutine() - w.goroutines; left <= 2 {
			break
		}
	}
	if left > 2 {
		stacks := make([]byte, 1<<16)
		t.Errorf("%d goroutines are left:\n%s", left, stacks[:runtime.Stack(stacks, true)])
	}
	after := uint64(0)
	// Pools give back what they hold after the second collection, and the last answers are being made.
	for began := time.Now(); time.Since(began) < patience; time.Sleep(100 * time.Millisecond) {
		runtime.GC()
		if after = liveHeap(); after <= w.heap+20<<20 {
			return
		}
	}
	t.Errorf("%d bytes in use afterwards, and %d before", after, w.heap)
}

// healthy is a client that behaves, and searches while others do not. How long its searches take says more about the
// machine than about the service, so answers are counted: those that it gets while the others still hold what they can.
type healthy struct {
	stop    chan bool
	ended   chan bool // closed when it has stopped, or met an error
	n       atomic.Int64
	again   atomic.Int64 // times that it had to come again
	slowest time.Duration
	err     error // what no client should meet
	status  int   // of the answer, where that was the error
}

func startHealthy(s *service) *healthy { return startClient(s, false) }

// startClient starts a healthy client. One of a hasty service may itself be found too slow on a busy machine, and comes
// again.
func startClient(s *service, hasty bool) *healthy {
	h := &healthy{stop: make(chan bool), ended: make(chan bool)}
	go func() {
		defer close(h.ended)
		for i := 1; ; {
			select {
			case <-h.stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
			began := time.Now()
			a, err := s.call("POST", shop+"/search", fmt.Sprintf(`{"id":%d,"k":3}`, i))
			switch {
			case err == nil && a.StatusCode == http.StatusOK:
				h.slowest = max(h.slowest, time.Since(began))
				h.n.Add(1)
				i = i%shopItems + 1
			case err == nil && a.StatusCode == http.StatusTooManyRequests,
				hasty && (err != nil || a.StatusCode == http.StatusRequestTimeout):
				h.again.Add(1)
			case err == nil:
				h.err, h.status = fmt.Errorf("status %d: %s", a.StatusCode, a.body), a.StatusCode
				return
			default:
				h.err = err
				return
			}
		}
	}()
	return h
}

// served waits until the client had a number of answers more, as it must while others hold what they can.
func (h *healthy) served(t *testing.T, more int64) {
	t.Helper()
	from := h.n.Load()
	until(t, fmt.Sprintf("%d more answers for a healthy client", more), func() bool {
		select {
		case <-h.ended:
			return true
		default:
			return h.n.Load() >= from+more
		}
	})
}

// end checks that the client was served all the time, and still is.
func (h *healthy) end(t *testing.T) {
	t.Helper()
	h.served(t, 3)
	close(h.stop)
	<-h.ended
	t.Logf("a healthy client had %d searches, the slowest in %v, and had to come again %d times",
		h.n.Load(), h.slowest.Round(time.Millisecond/10), h.again.Load())
	if h.err != nil {
		t.Errorf("a healthy client had %d searches, and then %v", h.n.Load(), h.err)
	}
}
