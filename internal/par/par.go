// Package par is the only worker pool of the project: a loop whose turns run on several cores.
//
// Turns must write to disjoint places, so that the result does not depend on the number of cores or on
// which worker takes which turn. Sums over turns are taken afterwards, in the order of the turns.
package par

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Threads returns the number of workers meant by n: n itself, or all cores when n is not positive.
func Threads(n int) int {
	if n <= 0 {
		return runtime.GOMAXPROCS(0)
	}
	return n
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
	var (
		next     atomic.Int64
		wait     sync.WaitGroup
		panicked atomic.Pointer[string]
	)
	work := func() {
		defer wait.Done()
		defer func() {
			if p := recover(); p != nil {
				text := fmt.Sprintf("%v\n\n%s", p, debug.Stack())
				panicked.CompareAndSwap(nil, &text)
				next.Store(int64(n))
			}
		}()
		for ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			f(i)
		}
	}
	wait.Add(threads)
	for range threads - 1 {
		go work()
	}
	work()
	wait.Wait()
	if text := panicked.Load(); text != nil {
		panic(*text)
	}
	if ctx.Err() != nil && next.Load() < int64(n) {
		return context.Cause(ctx)
	}
	return nil
}

// Blocks cuts [0, n) into blocks of the given size (the last may be shorter) and calls f(b, lo, hi) once
// for each, as For does. The cut depends on n and size only, never on the number of workers.
func Blocks(ctx context.Context, threads, n, size int, f func(b, lo, hi int)) error {
	return For(ctx, threads, (n+size-1)/size, func(b int) {
		f(b, b*size, min((b+1)*size, n))
	})
}
