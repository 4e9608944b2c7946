package par

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// Team is a set of workers for many short loops in a row, such as the two dozen loops of each of thousands of trees.
// Starting or waking a worker takes tens of microseconds: with 16 of them, longer than some of the loops. So an idle
// worker spins for a while, in its own core's cache, before it exits. Starting a loop publishes one pointer, and the
// loop ends when all its iterations are done, whether or not all workers have joined.
//
// Only one goroutine at a time may use a team. The zero value has one worker, the caller.
type Team struct {
	threads int
	calm    int          // number of coming loops in which nobody spins
	present atomic.Int64 // workers besides the caller
	offered atomic.Pointer[round]
}

// NewTeam returns a team of the given number of workers, including the caller; all cores if threads <= 0.
func NewTeam(threads int) *Team { return &Team{threads: Threads(threads)} }

// Size returns the number of workers, including the caller.
func (t *Team) Size() int { return max(t.threads, 1) }

// round is one loop of a team. Fields that workers write are kept on separate cache lines, apart from those they only
// read: a line written by two cores bounces between them.
type round struct {
	f        func(i int)
	n        int64
	patience time.Duration // how long to spin until this loop ends or the next begins
	done     chan struct{} // closed when no iteration is left
	panicked atomic.Pointer[string]

	_    [128]byte
	next atomic.Int64 // next iteration
	_    [120]byte
	left atomic.Int64 // iterations neither done nor given up
	_    [120]byte
}

// A worker spins longer than the caller's own work between two loops usually takes, and longer than the last iteration
// of a loop. If that is not enough, either iterations are so long that starting workers does not matter, or other
// programs need the cores; then nobody spins during the next loops. Few workers wait for each other less long, and
// other programs miss their cores more: two that spin for 50 microseconds train a model of 50,000 rows in 0.85 of the
// time.
const (
	teamPatience   = 300 * time.Microsecond
	littlePatience = 50 * time.Microsecond // of fewer than many
	many           = 4                     // workers
	calmLoops      = 200
)

// patience returns how long to spin in the next loop.
func (t *Team) patience() time.Duration {
	if t.calm > 0 {
		t.calm--
		return 0
	}
	switch {
	case t.threads > runtime.GOMAXPROCS(0):
		return 0
	case t.threads < many:
		return littlePatience
	}
	return teamPatience
}

// For calls f(i) once for every i in [0, n) and returns when all calls are done. A panic in f is raised again in the
// caller.
func (t *Team) For(n int, f func(i int)) {
	if t.threads <= 1 || n <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	r := &round{f: f, n: int64(n), patience: t.patience(), done: make(chan struct{})}
	r.left.Store(int64(n))
	t.offered.Store(r)
	for missing := int64(t.threads) - 1 - t.present.Load(); missing > 0; missing-- {
		t.present.Add(1)
		go t.work(r)
	}
	r.run()
	if !lookFor(r.patience, func() bool { return r.left.Load() == 0 }) && r.patience > 0 {
		t.calm = calmLoops
	}
	<-r.done
	if text := r.panicked.Load(); text != nil {
		panic(*text)
	}
}

// Blocks splits [0, n) into blocks of the given size (the last may be shorter) and calls f(b, lo, hi) once for each,
// like For.
func (t *Team) Blocks(n, size int, f func(b, lo, hi int)) {
	t.For((n+size-1)/size, func(b int) { f(b, b*size, min((b+1)*size, n)) })
}

// work runs iterations of a loop, then of the loops that follow.
func (t *Team) work(r *round) {
	for {
		r.run()
		isNew := func() bool { return t.offered.Load() != r }
		if !lookFor(r.patience, isNew) {
			t.present.Add(-1)
			// A caller that counted on this worker has already published a loop; one that did not may have hired
			// another.
			if !isNew() || t.present.Add(1) >= int64(t.threads) && t.present.Add(-1) >= 0 {
				return
			}
		}
		r = t.offered.Load()
	}
}

// run runs iterations until none are left.
func (r *round) run() {
	taken := int64(0)
	defer func() {
		if p := recover(); p != nil {
			text := fmt.Sprintf("%v\n\n%s", p, debug.Stack())
			r.panicked.CompareAndSwap(nil, &text)
			taken += max(r.n-r.next.Swap(r.n), 0) // give up the others
		}
		if taken > 0 && r.left.Add(-taken) == 0 {
			close(r.done)
		}
	}()
	for {
		i := r.next.Add(1) - 1
		if i >= r.n {
			return
		}
		taken++
		r.f(int(i))
	}
}

// lookFor spins until isTrue returns true, and returns false if patience ends first. Now and then it yields to other
// goroutines.
func lookFor(patience time.Duration, isTrue func() bool) bool {
	if patience == 0 {
		return isTrue()
	}
	const breath = 64 // pauses
	began := time.Time{}
	for pauses := 1; !isTrue(); pauses++ {
		if pauses%breath != 0 {
			pause(pauses)
			continue
		}
		switch now := time.Now(); {
		case pauses == breath:
			began = now
		case now.Sub(began) >= patience:
			return false
		}
		if pauses%(8*breath) == 0 {
			runtime.Gosched()
		}
	}
	return true
}

// pause waits a moment with a chain of dependent divisions, which leaves the units of a shared core to its other
// thread.
func pause(v int) {
	long := int64(v)
	for i := range int64(4) {
		long = (1<<40 + i) / (long | 1)
	}
	runtime.KeepAlive(long)
}
