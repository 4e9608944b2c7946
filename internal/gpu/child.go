package gpu

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"hashgrove/internal/gpu/frame"
)

// child is the training's side of hashgrove-gpu: a process that holds the device. If the driver crashes, or a kernel
// hangs, the child is what ends, and the training goes on on the cores. Requests are answered in their order.
type child struct {
	mu     sync.Mutex
	cmd    *exec.Cmd
	in     io.WriteCloser
	to     *gob.Encoder
	from   *gob.Decoder
	errors tail
	limit  time.Duration // longest silence
	name   string        // of the device
	ids    int
	coming int   // rounds that were asked for and not read
	failed error // nothing works any more
}

// tail keeps the end of what the child prints.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	t.text = t.text[max(0, len(t.text)-2000):]
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.text))
}

// startLimit is how long a child may take to find the device and compile the kernels.
const startLimit = 2 * time.Minute

// start starts a child.
func start(ctx context.Context) (*child, error) {
	program, err := find()
	if err != nil {
		return nil, err
	}
	c := &child{limit: silence, cmd: exec.Command(program)}
	c.cmd.Env = append(os.Environ(), environment()...)
	c.cmd.Stderr = &c.errors
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", program, err)
	}
	c.to, c.from = gob.NewEncoder(c.in), gob.NewDecoder(out)
	a, err := c.read(ctx, startLimit)
	if err != nil {
		return nil, err
	}
	c.name = a.Hello
	return c, nil
}

// nextID returns a number for a session.
func (c *child) nextID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ids++
	return c.ids
}

// call sends a request, once the rounds that nobody wants any more are read, and returns the first answer.
func (c *child) call(ctx context.Context, q frame.Request) (*frame.Answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.coming > 0 {
		if _, err := c.read(ctx, c.limit); err != nil {
			return nil, err
		}
	}
	if c.failed != nil {
		return nil, c.failed
	}
	stop := c.watch(ctx, c.limit)
	err := c.to.Encode(q)
	if stop(); err != nil {
		return nil, c.explain(ctx, err)
	}
	c.coming = q.To - q.From
	return c.read(ctx, c.limit)
}

// rounds returns the next rounds of those that were asked for.
func (c *child) rounds(ctx context.Context) (*frame.Answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read(ctx, c.limit)
}

// read reads an answer.
func (c *child) read(ctx context.Context, limit time.Duration) (*frame.Answer, error) {
	if c.failed != nil {
		return nil, c.failed
	}
	defer c.watch(ctx, limit)()
	var a frame.Answer
	switch err := c.from.Decode(&a); {
	case err != nil:
		return nil, c.explain(ctx, err)
	case a.Error != "":
		return nil, c.fail(errors.New(a.Error))
	case a.Refused != "":
		return nil, errors.New(a.Refused)
	case c.coming > 0 && (a.Rounds == nil || a.To <= a.From):
		return nil, c.fail(errors.New("it sent something else than trees"))
	}
	c.coming -= a.To - a.From
	return &a, nil
}

// watch ends the child if it is silent for too long, or the training ends. The function it returns ends the watch.
func (c *child) watch(ctx context.Context, limit time.Duration) func() {
	timer := time.AfterFunc(limit, func() {
		fmt.Fprintf(&c.errors, "no answer for %v", limit)
		c.cmd.Process.Kill()
	})
	stop := context.AfterFunc(ctx, func() { c.cmd.Process.Kill() })
	return func() {
		timer.Stop()
		stop()
	}
}

// explain says why the child is gone.
func (c *child) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		c.fail(context.Cause(ctx))
		return context.Cause(ctx)
	}
	return c.fail(err)
}

// fail ends the child and remembers why.
func (c *child) fail(err error) error {
	if c.failed != nil {
		return c.failed
	}
	c.cmd.Process.Kill()
	ended := c.cmd.Wait()
	for _, gone := range []error{io.EOF, io.ErrUnexpectedEOF, os.ErrClosed, syscall.EPIPE} {
		if errors.Is(err, gone) {
			err = fmt.Errorf("it ended (%w)", ended)
			break
		}
	}
	if said := c.errors.String(); said != "" && !strings.Contains(said, err.Error()) {
		err = fmt.Errorf("%w: %s", err, said)
	}
	c.failed = err
	return c.failed
}

// close ends the child.
func (c *child) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed != nil {
		return
	}
	c.in.Close()
	timer := time.AfterFunc(time.Second, func() { c.cmd.Process.Kill() })
	c.cmd.Wait()
	timer.Stop()
	c.failed = errors.New("the device is closed")
}
