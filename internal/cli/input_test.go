package cli

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestInterruptible reads what there is, and stops waiting when the context ends.
func TestInterruptible(t *testing.T) {
	text := strings.Repeat("one line of many\n", 20_000)
	for _, in := range []io.Reader{strings.NewReader(text), iotest.DataErrReader(strings.NewReader(text)), iotest.HalfReader(strings.NewReader(text))} {
		if got, err := io.ReadAll(Interruptible(context.Background(), in)); err != nil || string(got) != text {
			t.Errorf("%d bytes of %d, %v", len(got), len(text), err)
		}
	}
	bad := errors.New("broken")
	if _, err := io.ReadAll(Interruptible(context.Background(), iotest.ErrReader(bad))); !errors.Is(err, bad) {
		t.Error(err)
	}
	waiting, send := io.Pipe()
	defer send.Close()
	ctx, cancel := context.WithCancelCause(context.Background())
	r := Interruptible(ctx, waiting)
	stop := errors.New("stop")
	go cancel(stop)
	if _, err := r.Read(make([]byte, 4)); !errors.Is(err, stop) {
		t.Errorf("%v instead of the cause", err)
	}
}
