package par

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// Team is workers for many short loops in a row, such as the two dozen for each of thousands of trees. To start a
// worker, or to wake one that sleeps, takes tens of microseconds: with 16 of them longer than some of the loops. So a
// worker that is out of work looks for the next loop for a while, in its own core's cache, before it ends. A loop hands
// over one pointer, and ends when all of its turns are done, whether all workers have come or not.
//
// One goroutine at a time may use a team. The zero value has one worker, the caller.
type Team struct {
	threads int
	calm    int          // loops to come without anybody looking for work
	present atomic.Int64 // workers beside the caller
	offered atomic.Pointer[round]
}

// NewTeam returns a team of this number of workers, the caller among them; all cores when threads <= 0.
func NewTeam(threads int) *Team { return &Team{threads: Threads(threads)} }

// Size is the number of workers, the caller among them.
func (t *Team) Size() int { return max(t.threads, 1) }

// round is a loop of a team. What workers write lies apart from what they only read, and from each other: a cache line
// that two cores write goes to and fro between them.
type round struct {
	f        func(i int)
	n        int64
	patience time.Duration // of who waits for this loop to end, or for the next to begin
	done     chan struct{} // closed when no turn is left
	panicked atomic.Pointer[string]

	_    [128]byte
	next atomic.Int64 // turn
	_    [120]byte
	left atomic.Int64 // turns neither done nor given up
	_    [120]byte
}

// A worker looks for the next loop longer than what the caller does alone between two loops takes, and the last turn of
// a loop that the others wait for. If that is not long enough, turns are so long that starting workers does not matter,
// or others use the cores, who would only lose by it: then nobody looks for work in the next loops. Nor do few workers,
// who gain little.
const (
	teamPatience = 300 * time.Microsecond
	calmLoops    = 200
)

// patience is how long to wait in the next loop.
func (t *Team) patience() time.Duration {
	if t.calm > 0 {
		t.calm--
		return 0
	}
	if t.threads < many || t.threads > runtime.GOMAXPROCS(0) {
		return 0
	}
	return teamPatience
}

// For calls f(i) once for every i in [0, n) and returns when all are done. A panic in a turn is raised again in the
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

// Blocks cuts [0, n) into blocks of the given size (the last may be shorter) and calls f(b, lo, hi) once for each, as
// For does.
func (t *Team) Blocks(n, size int, f func(b, lo, hi int)) {
	t.For((n+size-1)/size, func(b int) { f(b, b*size, min((b+1)*size, n)) })
}

// work takes turns of a loop, and then of those that follow.
func (t *Team) work(r *round) {
	for {
		r.run()
		isNew := func() bool { return t.offered.Load() != r }
		if !lookFor(r.patience, isNew) {
			t.present.Add(-1)
			// Who has counted on this worker has offered a loop before; who has not may have hired another.
			if !isNew() || t.present.Add(1) >= int64(t.threads) && t.present.Add(-1) >= 0 {
				return
			}
		}
		r = t.offered.Load()
	}
}

// run takes turns until there are none.
func (r *round) run() {
	taken := int64(0)
	defer func() {
		if p := recover(); p != nil {
			text := fmt.Sprintf("%v\n\n%s", p, debug.Stack())
			r.panicked.CompareAndSwap(nil, &text)
			taken += max(r.n-r.next.Swap(r.n), 0) // the others are given up
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

// lookFor waits until something has come true, and returns false when patience ends first. Now and then it lets other
// goroutines run.
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

// pause lets a moment pass: divisions that wait for each other, so that a core which shares its units with another
// leaves them to that.
func pause(v int) {
	long := int64(v)
	for i := range int64(4) {
		long = (1<<40 + i) / (long | 1)
	}
	runtime.KeepAlive(long)
}
