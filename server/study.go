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

// basis is the state of a collection that something was computed from.
type basis struct {
	fingerprint hamming.Fingerprint
	items       int
	changed     int64 // items that were put, changed or deleted since the service began
}

func (c *collection) basis() basis {
	x := c.open().snapshot()
	return basis{x.Fingerprint(), x.Len(), c.changed.Load()}
}

// stands tells whether what was computed still shows how things are: less than a hundredth of the items has changed.
func (b basis) stands(now basis) bool {
	return b.fingerprint == now.fingerprint && now.changed-b.changed <= int64(now.items)/100
}

// study is something that takes seconds to compute from all items of a collection: its map, its quality. It is computed
// behind the requests, when somebody asks for it, and kept until more than a hundredth of the items has changed. Then
// it is computed anew, but so that it takes no more than a tenth of the time: until then the old one is the answer.
//
// One study of the service is computed at a time, on half of the cores, so that searches are answered meanwhile.
type study[T any] struct {
	mu      sync.Mutex
	running *running // nil when nothing is being computed
	known   bool     // there is a result
	result  T
	of      basis         // of the result
	took    time.Duration // to compute it
	ended   time.Time
}

// running is a computation.
type running struct {
	progress atomic.Uint64 // a float64
	done     chan struct{} // closed at the end
	err      error         // then
}

// patience is the time for which a request waits for a study, so that the small ones are answered at once.
const patience = time.Second

// answer returns the result and true, or what is being computed.
func (t *study[T]) answer(
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

// compute makes the result when no other study is computed.
func (t *study[T]) compute(s *Server, of basis, compute func(context.Context, func(float64)) (T, error)) {
	r := t.running
	var result T
	var err error
	began := time.Now()
	select {
	case s.studies <- struct{}{}:
		began = time.Now()
		result, err = t.guarded(s, r, compute)
		<-s.studies
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

// guarded makes an error of a panic: a study must not end the service.
func (t *study[T]) guarded(
	s *Server, r *running, compute func(context.Context, func(float64)) (T, error),
) (result T, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("panic", "panic", p, "stack", string(debug.Stack()))
			err = problem(http.StatusInternalServerError, "the service met a bug: its log says more")
		}
	}()
	return compute(s.work, func(share float64) { r.progress.Store(math.Float64bits(share)) })
}

// studyThreads is the number of cores for a study.
func studyThreads() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// await returns the result of a study; false says that it will take a while, and that the request was answered so.
func await[T any](
	s *Server, w http.ResponseWriter, r *http.Request, c *collection, t *study[T],
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
