// Package par runs loops on several cores: For runs one long loop, Team many short ones in a row. It is the only worker
// pool of the project.
//
// Iterations must write to disjoint memory, so the result does not depend on the number of cores or on which worker
// runs which iteration. Sums are added up afterwards, in iteration order.
package par

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// Threads returns n, or the number of cores if n is not positive. It caps n not far above the number of cores, because
// every worker takes memory.
func Threads(n int) int {
	cores := runtime.GOMAXPROCS(0)
	if n <= 0 {
		return cores
	}
	return min(n, max(256, 4*cores))
}

// For calls f(i) once for every i in [0, n) on up to threads workers (all cores if threads <= 0) and returns when all
// calls are done. It checks ctx before every call and returns its cause if it ended early, after calls in progress have
// finished. A panic in f is raised again in the caller.
func For(ctx context.Context, threads, n int, f func(i int)) error {
	threads = min(Threads(threads), n)
	if threads <= 1 {
		for i := range n {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			f(i)
		}
		return nil
	}
	l := &loop{ctx: ctx, f: f, n: int64(n), done: make(chan struct{})}
	l.many = threads >= many && threads <= runtime.GOMAXPROCS(0)
	l.left.Store(int64(n))
	l.seats.Store(int64(threads - 1))
	offered.Store(l)
	l.hire(int64(threads-1) - idle.Load())
	for l.turn() {
		if l.seats.Load() > 0 { // an idle worker that we counted on did not come
			l.hire(int64(threads))
		}
	}
	l.wait()
	offered.CompareAndSwap(l, nil)
	if text := l.panicked.Load(); text != nil {
		panic(*text)
	}
	if l.ended.Load() {
		return context.Cause(ctx)
	}
	return nil
}

// loop is one call of For. The caller runs iterations from the start and returns when all are done, whether or not the
// other workers have joined: a short loop does not wait for a worker to start.
type loop struct {
	ctx  context.Context
	f    func(i int)
	n    int64
	many bool // workers

	next  atomic.Int64  // next iteration
	left  atomic.Int64  // iterations neither done nor given up
	seats atomic.Int64  // workers that may still join
	done  chan struct{} // closed when none are left

	ended    atomic.Bool // iterations were given up
	panicked atomic.Pointer[string]
}

// When many short loops follow each other, starting workers can take longer than a loop. So an idle worker looks for
// the next loop for a short time before it exits; those of a Team look longer. With few workers this gains little, and
// with more workers than cores it would only steal time from others.
const (
	patience = 50 * time.Microsecond
	many     = 4 // workers
)

var (
	idle    atomic.Int64         // workers looking for a loop
	offered atomic.Pointer[loop] // the latest loop
)

// hire starts up to n workers while seats are free.
func (l *loop) hire(n int64) {
	for ; n > 0 && l.seats.Add(-1) >= 0; n-- {
		go l.work()
	}
}

// work runs iterations of the loop, then of other loops.
func (l *loop) work() {
	for l != nil {
		for l.turn() {
		}
		if !l.many {
			return
		}
		l = nextLoop()
	}
}

// nextLoop waits briefly for a loop with a free seat.
func nextLoop() *loop {
	idle.Add(1)
	began := time.Now()
	for pause := 0; ; pause++ {
		if l := offered.Load(); l != nil && l.seats.Load() > 0 && l.seats.Add(-1) >= 0 {
			idle.Add(-1)
			return l
		}
		if pause%16 == 15 && time.Since(began) > patience {
			break
		}
		rest()
	}
	// A caller that counted on this worker has already offered its loop.
	idle.Add(-1)
	if l := offered.Load(); l != nil && l.seats.Add(-1) >= 0 {
		return l
	}
	return nil
}

// rest waits a moment.
func rest() {
	for range 32 {
	}
}

// turn runs the next iteration. It returns false if there is none.
func (l *loop) turn() bool {
	if l.ctx.Err() != nil {
		if l.giveUp() {
			l.ended.Store(true)
		}
		return false
	}
	i := l.next.Add(1) - 1
	if i >= l.n {
		return false
	}
	defer func() {
		if p := recover(); p != nil {
			text := fmt.Sprintf("%v\n\n%s", p, debug.Stack())
			l.panicked.CompareAndSwap(nil, &text)
			l.giveUp()
		}
		l.finish(1)
	}()
	l.f(int(i))
	return true
}

// giveUp drops the iterations that have not begun and reports whether there were any.
func (l *loop) giveUp() bool {
	const beyond = 1 << 62
	begun := l.next.Swap(beyond)
	if begun >= l.n {
		return false
	}
	l.finish(l.n - begun)
	return true
}

// finish counts iterations as done.
func (l *loop) finish(turns int64) {
	if l.left.Add(-turns) == 0 {
		close(l.done)
	}
}

// wait blocks until all iterations are done.
func (l *loop) wait() {
	began := time.Now()
	for pause := 0; l.many && l.left.Load() > 0; pause++ {
		if pause%16 == 15 && time.Since(began) > patience {
			break
		}
		rest()
	}
	<-l.done
}

// Blocks splits [0, n) into blocks of the given size (the last may be shorter) and calls f(b, lo, hi) once for each,
// like For. The split depends on n and size only, never on the number of workers.
func Blocks(ctx context.Context, threads, n, size int, f func(b, lo, hi int)) error {
	return For(ctx, threads, (n+size-1)/size, func(b int) {
		f(b, b*size, min((b+1)*size, n))
	})
}
