package cli

import (
	"context"
	"io"
)

// Interruptible returns a reader that fails once the context ends, so that a program waiting for standard input can
// be stopped.
func Interruptible(ctx context.Context, in io.Reader) io.Reader {
	return &interruptible{ctx: ctx, in: in, done: make(chan error, 1)}
}

type interruptible struct {
	ctx     context.Context
	in      io.Reader
	buf     [1 << 16]byte
	rest    []byte // of buf, not yet returned
	err     error  // to return after rest
	reading bool   // a read is in progress and owns buf
	n       int    // bytes read; valid once the read is done
	done    chan error
}

// Read implements io.Reader.
func (r *interruptible) Read(p []byte) (int, error) {
	if len(r.rest) == 0 && r.err == nil {
		if !r.reading {
			r.reading = true
			go func() {
				n, err := r.in.Read(r.buf[:])
				r.n = n
				r.done <- err
			}()
		}
		select {
		case r.err = <-r.done:
			r.reading, r.rest = false, r.buf[:r.n]
		case <-r.ctx.Done():
			return 0, context.Cause(r.ctx)
		}
	}
	n := copy(p, r.rest)
	if r.rest = r.rest[n:]; n > 0 || len(p) == 0 || r.err == nil {
		return n, nil
	}
	return 0, r.err
}
