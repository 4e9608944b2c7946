//go:build unix

package cli

import (
	"bytes"
	"context"
	"syscall"
	"testing"
)

// TestSignals: work ends with its context after a first signal; work that hangs is left after a while, or at once after
// a second signal. The status is the one that a shell gives.
func TestSignals(t *testing.T) {
	var out bytes.Buffer
	send := func(s syscall.Signal) {
		if err := syscall.Kill(syscall.Getpid(), s); err != nil {
			t.Error(err)
		}
	}
	ends := func(ctx context.Context) int {
		send(syscall.SIGTERM)
		<-ctx.Done()
		return Report(ctx, &out, "x", context.Cause(ctx), error.Error)
	}
	hangs := func(ctx context.Context) int {
		send(syscall.SIGINT)
		<-ctx.Done()
		select {}
	}
	impatient := func(ctx context.Context) int {
		send(syscall.SIGINT)
		<-ctx.Done()
		Unhurried(ctx)
		send(syscall.SIGTERM)
		select {}
	}
	for i, c := range []struct {
		work   func(ctx context.Context) int
		status int
	}{{ends, 143}, {hangs, 130}, {impatient, 143}} {
		if got := UntilSignal(&out, "x", c.work); got != c.status {
			t.Errorf("%d: status %d, want %d", i, got, c.status)
		}
	}
	if got := out.String(); got != "x: interrupted\nx: interrupted\n" {
		t.Errorf("it says %q", got)
	}
}
