package server

import (
	"context"
	"math"
	"net/http"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"hashgrove/internal/hamming"
)

// basis identifies the state of a collection that a result was computed from.
type basis struct {
	fingerprint hamming.Fingerprint
	items       int
	changed     int64 // items put, changed or deleted since the service started
}

func (c *collection) basis() basis {
	x := c.open().snapshot()
	return basis{x.Fingerprint(), x.Len(), c.changed.Load()}
}

// stands reports whether the result is still current: less than 1 % of the items have changed.
func (b basis) stands(now basis) bool {
	return b.fingerprint == now.fingerprint && now.changed-b.changed <= int64(now.items)/100
}

// background is a result that takes seconds to compute from all items of a collection, such as its map.
// It is computed in the background on first request and kept until more than 1 % of the items have changed.
// Recomputing uses at most a tenth of the time; until it is done the old result is served.
//
// The service runs one of these at a time, on half of the cores, so that searches are still answered.
type background[T any] struct {
	mu      sync.Mutex
	running *running // nil when nothing is being computed
	known   bool     // there is a result
	result  T
	of      basis         // of the result
	took    time.Duration // to compute it
	ended   time.Time
}

// running is a computation in progress.
type running struct {
	progress atomic.Uint64 // a float64
	done     chan struct{} // closed at the end
	err      error         // then
}

// patience is how long a request waits for a background result, so that quick ones are answered at once.
const patience = time.Second

// answer returns the result and true, or the running computation.
func (t *background[T]) answer(
	s *Server, c *collection, compute func(ctx context.Context, report func(share float64)) (T, error),
) (T, bool, *running) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := c.basis()
	if t.known && (t.of.stands(now) || t.of.fingerprint == now.fingerprint && time.Since(t.ended) < 10*t.took) {
		return t.result, true, nil
	}
	if t.running == nil {
		t.running = &running{done: make(chan struct{})}
		s.behind.Go(func() { t.compute(s, now, compute) })
	}
	var none T
	return none, false, t.running
}

// compute computes the result once no other background computation runs.
func (t *background[T]) compute(s *Server, of basis, compute func(context.Context, func(float64)) (T, error)) {
	r := t.running
	var result T
	var err error
	began := time.Now()
	select {
	case s.computing <- struct{}{}:
		began = time.Now()
		result, err = t.guarded(s, r, compute)
		<-s.computing
	case <-s.work.Done():
		err = context.Cause(s.work)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		t.known, t.result, t.of, t.took, t.ended = true, result, of, time.Since(began), time.Now()
	}
	r.err, t.running = err, nil
	close(r.done)
}

// guarded turns a panic into an error: a background computation must not end the service.
func (t *background[T]) guarded(
	s *Server, r *running, compute func(context.Context, func(float64)) (T, error),
) (result T, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("panic", "panic", p, "stack", string(debug.Stack()))
			err = problem(http.StatusInternalServerError, "internal error: see the service's log")
		}
	}()
	return compute(s.work, func(share float64) { r.progress.Store(math.Float64bits(share)) })
}

// backgroundThreads is the number of cores for a background computation.
func backgroundThreads() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// await returns the result. If it takes too long, await answers the request with the progress and returns false.
func await[T any](
	s *Server, w http.ResponseWriter, r *http.Request, c *collection, t *background[T],
	compute func(ctx context.Context, report func(share float64)) (T, error),
) (T, bool, error) {
	result, ok, run := t.answer(s, c, compute)
	if ok {
		return result, true, nil
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-run.done:
		if run.err != nil {
			return result, false, run.err
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.result, true, nil
	case <-r.Context().Done():
		return result, false, context.Cause(r.Context())
	case <-timer.C:
	}
	w.Header().Set("Retry-After", "1")
	writeJSON(w, http.StatusAccepted, map[string]float64{"progress": math.Float64frombits(run.progress.Load())})
	return result, false, nil
}
