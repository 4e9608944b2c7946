package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// signalError is the cause of a context ended by a signal.
type signalError struct{ syscall.Signal }

func (e signalError) Error() string { return e.Signal.String() }
func (e signalError) Unwrap() error { return context.Canceled }

// grace is how long work may take to end after the first signal. Work checks its context often; code that does not
// is blocked, for instance on reading a terminal or opening a pipe, and has nothing to clean up.
const grace = 2 * time.Second

// unhurriedKey is the context key set by Unhurried.
type unhurriedKey struct{}

// Unhurried exempts the work of a context from the grace period, for a service that finishes requests under its own
// deadline.
func Unhurried(ctx context.Context) {
	if mark, ok := ctx.Value(unhurriedKey{}).(*atomic.Bool); ok {
		mark.Store(true)
	}
}

// UntilSignal runs work in a context that ends on the first interrupt, SIGTERM or hangup, and returns the exit
// status. A second signal ends the program at once, as does work that continues beyond the grace period.
func UntilSignal(w io.Writer, name string, work func(ctx context.Context) int) int {
	unhurried := new(atomic.Bool)
	ctx, cancel := context.WithCancelCause(context.WithValue(context.Background(), unhurriedKey{}, unhurried))
	defer cancel(nil)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signal.Notify(signals, syscall.SIGHUP)
	}
	done := make(chan int, 1)
	go func() { done <- work(ctx) }()
	var late <-chan time.Time
	var first syscall.Signal
	for {
		select {
		case status := <-done:
			return status
		case s := <-signals:
			if late != nil {
				return exitSignal + int(s.(syscall.Signal))
			}
			first, late = s.(syscall.Signal), time.After(grace)
			cancel(signalError{first})
		case <-late:
			if !unhurried.Load() {
				fmt.Fprintf(w, "%s: interrupted\n", name)
				return exitSignal + int(first)
			}
		}
	}
}

// Results is a writer that keeps its first error, which printing line by line would lose.
type Results struct {
	W   io.Writer
	Err error
}

// Write implements io.Writer. After an error it writes nothing more.
func (r *Results) Write(p []byte) (n int, err error) {
	if r.Err != nil {
		return 0, r.Err
	}
	n, r.Err = r.W.Write(p)
	return n, r.Err
}
