// Package par runs loops on several cores: For for one long loop, Team for many short loops in a row. It is the only
// worker pool of the project.
//
// Iterations must write to disjoint places, so that the result does not depend on the number of cores or on which
// worker runs which iteration. Sums are taken afterwards, in the order of the iterations.
package par

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// Threads returns the number of workers meant by n: n itself, or all cores when n is not positive. It is never far
// beyond the cores: memory is taken for every worker.
func Threads(n int) int {
	cores := runtime.GOMAXPROCS(0)
	if n <= 0 {
		return cores
	}
	return min(n, max(256, 4*cores))
}

// For calls f(i) once for every i in [0, n) on up to threads workers (all cores when threads <= 0) and
// returns when all are done. It looks at ctx before every turn and returns its cause when it ended early;
// turns that have begun are finished first. A panic in a turn is raised again in the caller.
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
		if l.seats.Load() > 0 { // an idle worker was counted on that did not come
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

// loop is a call of For. The caller takes turns from the start and returns when all turns are done, whether the other
// workers have come or not: a short loop does not wait for a worker to start.
type loop struct {
	ctx  context.Context
	f    func(i int)
	n    int64
	many bool // workers

	next  atomic.Int64  // turn
	left  atomic.Int64  // turns neither done nor given up
	seats atomic.Int64  // workers that may still join
	done  chan struct{} // closed when none is left

	ended    atomic.Bool // turns were given up
	panicked atomic.Pointer[string]
}

// Where many short loops follow each other, to start many workers takes longer than some of them. So a worker that has
// nothing to do looks for the next loop a little while before it ends; those of a Team look longer. With few workers
// that gains little, and with fewer cores than workers it would only take time from others.
const (
	patience = 50 * time.Microsecond
	many     = 4 // workers
)

var (
	idle    atomic.Int64         // workers that look for a loop
	offered atomic.Pointer[loop] // the last loop that began
)

// hire starts up to n workers, as far as there are seats.
func (l *loop) hire(n int64) {
	for ; n > 0 && l.seats.Add(-1) >= 0; n-- {
		go l.work()
	}
}

// work takes turns of the loop, and then of others.
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

// nextLoop waits a while for a loop with a free seat.
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
	// Who counted on this worker has offered a loop before.
	idle.Add(-1)
	if l := offered.Load(); l != nil && l.seats.Add(-1) >= 0 {
		return l
	}
	return nil
}

// rest lets a moment pass.
func rest() {
	for range 32 {
	}
}

// turn takes the next turn, and reports false when there is none.
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

// giveUp leaves out the turns that have not begun, and reports whether there were any.
func (l *loop) giveUp() bool {
	const beyond = 1 << 62
	begun := l.next.Swap(beyond)
	if begun >= l.n {
		return false
	}
	l.finish(l.n - begun)
	return true
}

// finish counts turns that are over.
func (l *loop) finish(turns int64) {
	if l.left.Add(-turns) == 0 {
		close(l.done)
	}
}

// wait returns when all turns are over.
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

// Blocks cuts [0, n) into blocks of the given size (the last may be shorter) and calls f(b, lo, hi) once
// for each, as For does. The cut depends on n and size only, never on the number of workers.
func Blocks(ctx context.Context, threads, n, size int, f func(b, lo, hi int)) error {
	return For(ctx, threads, (n+size-1)/size, func(b int) {
		f(b, b*size, min((b+1)*size, n))
	})
}
