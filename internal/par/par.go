// Package par is what the program knows of its computer, and how it uses the cores: For runs one loop on several of
// them, Team many short loops in a row. It is the only worker pool of the project.
//
// Iterations must write to disjoint memory, so the result does not depend on the number of cores or on which worker
// runs which iteration. Sums are added up afterwards, in iteration order.
package par

import (
	"context"
	"runtime"
	"sync/atomic"
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
	t := Team{threads: min(Threads(threads), n), calm: 1} // no worker waits for another loop
	var ended atomic.Bool
	t.For(n, func(i int) {
		switch {
		case ended.Load():
		case ctx.Err() != nil:
			ended.Store(true)
		default:
			f(i)
		}
	})
	if ended.Load() {
		return context.Cause(ctx)
	}
	return nil
}

// Blocks splits [0, n) into blocks of the given size (the last may be shorter) and calls f(b, lo, hi) once for each,
// like For. The split depends on n and size only, never on the number of workers.
func Blocks(ctx context.Context, threads, n, size int, f func(b, lo, hi int)) error {
	return For(ctx, threads, (n+size-1)/size, func(b int) {
		f(b, b*size, min((b+1)*size, n))
	})
}
