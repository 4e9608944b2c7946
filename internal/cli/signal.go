package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"
)

// signalError is why a context ended that a signal ended.
type signalError struct{ syscall.Signal }

func (e signalError) Error() string { return e.Signal.String() }
func (e signalError) Unwrap() error { return context.Canceled }

// grace is how long work may take to end after the first signal. Work looks at its context often; what does not is
// waiting, for instance for somebody to open the other end of a pipe, and has nothing to clean up.
const grace = 5 * time.Second

// unhurriedKey finds in a context whether its work ends in its own time.
type unhurriedKey struct{}

// Unhurried tells that the work of a context has a deadline of its own for ending after a signal, as a service has that
// finishes requests.
func Unhurried(ctx context.Context) {
	if mark, ok := ctx.Value(unhurriedKey{}).(*atomic.Bool); ok {
		mark.Store(true)
	}
}

// UntilSignal does work in a context that the first interrupt, SIGTERM or hangup ends, and returns its exit status. A
// second signal ends the program at once, and so does work that is still there some seconds after the first.
func UntilSignal(w io.Writer, name string, work func(ctx context.Context) int) int {
	unhurried := new(atomic.Bool)
	ctx, cancel := context.WithCancelCause(context.WithValue(context.Background(), unhurriedKey{}, unhurried))
	defer cancel(nil)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup leaves it
		signal.Notify(signals, syscall.SIGHUP)
	}
	done := make(chan int, 1)
	go func() {
		status := exitFailed
		defer func() {
			if trouble := recover(); trouble != nil { // by itself it would end with 2, the status of wrong usage
				fmt.Fprintf(w, "%s: this is a mistake in the program: %v\n\n%s", name, trouble, debug.Stack())
			}
			done <- status
		}()
		status = work(ctx)
	}()
	var first syscall.Signal
	select {
	case status := <-done:
		return status
	case s := <-signals:
		first = s.(syscall.Signal)
		cancel(signalError{first})
	}
	late := time.NewTimer(grace)
	for {
		select {
		case status := <-done:
			return status
		case s := <-signals:
			return exitSignal + int(s.(syscall.Signal))
		case <-late.C:
			if unhurried.Load() {
				continue
			}
			fmt.Fprintf(w, "%s: interrupted\n", name)
			return exitSignal + int(first)
		}
	}
}

// Results is a writer for results that keeps its first error, which lines printed one by one would lose.
type Results struct {
	W   io.Writer
	Err error
}

// Write makes Results an io.Writer. After an error nothing more is written.
func (r *Results) Write(p []byte) (n int, err error) {
	if r.Err != nil {
		return 0, r.Err
	}
	n, r.Err = r.W.Write(p)
	return n, r.Err
}
