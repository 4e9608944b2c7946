package gpu

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
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
	w      *bufio.Writer
	r      *bufio.Reader
	errors tail
	limit  time.Duration // longest silence
	hello  frame.About
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
func start(ctx context.Context, program string, env []string, limit time.Duration) (*child, error) {
	c := &child{limit: limit}
	c.cmd = exec.Command(program)
	c.cmd.Env = append(os.Environ(), env...)
	c.cmd.Stderr = &c.errors
	var err error
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
	c.w, c.r = bufio.NewWriterSize(c.in, frame.PipeBytes), bufio.NewReaderSize(out, frame.PipeBytes)
	a, err := c.read(ctx, max(startLimit, limit))
	if err != nil {
		return nil, err
	}
	if a.Hello == nil {
		return nil, c.fail(errors.New("it did not say what device it has"))
	}
	c.hello = *a.Hello
	return c, nil
}

// reply is an answer with its parts.
type reply struct {
	frame.Answer
	parts [][]byte
}

// nextID returns a number for a session.
func (c *child) nextID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ids++
	return c.ids
}

// call sends a request and returns its answer.
func (c *child) call(ctx context.Context, q frame.Request, parts iter.Seq[[]byte]) (*reply, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.send(ctx, q, parts); err != nil {
		return nil, err
	}
	return c.read(ctx, c.limit)
}

// none are the parts of most requests.
func none(func([]byte) bool) {}

// run asks for rounds, which are read by rounds.
func (c *child) run(ctx context.Context, q frame.Request) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.send(ctx, q, none); err != nil {
		return err
	}
	c.coming = q.To - q.From
	return nil
}

// rounds reads the next rounds.
func (c *child) rounds(ctx context.Context) (*some, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.readRounds(ctx)
}

func (c *child) readRounds(ctx context.Context) (*some, error) {
	a, err := c.read(ctx, c.limit)
	if err != nil {
		return nil, err
	}
	r, err := frame.RoundsOf(a.parts)
	if err != nil || a.To <= a.From {
		return nil, c.fail(errors.New("it sent something else than trees"))
	}
	c.coming -= a.To - a.From
	return &some{a.From, a.To, r}, nil
}

// send writes a request, once the rounds that nobody wants any more are read.
func (c *child) send(ctx context.Context, q frame.Request, parts iter.Seq[[]byte]) error {
	for c.failed == nil && c.coming > 0 {
		if _, err := c.readRounds(ctx); err != nil {
			return err
		}
	}
	if c.failed != nil {
		return c.failed
	}
	defer c.watch(ctx, c.limit)()
	err := frame.Write(c.w, q)
	for p := range parts {
		if err == nil {
			_, err = c.w.Write(p)
		}
	}
	if err == nil {
		err = c.w.Flush()
	}
	if err != nil {
		return c.explain(ctx, err)
	}
	return nil
}

// read reads an answer.
func (c *child) read(ctx context.Context, limit time.Duration) (*reply, error) {
	if c.failed != nil {
		return nil, c.failed
	}
	defer c.watch(ctx, limit)()
	var a reply
	if err := frame.ReadHead(c.r, &a.Answer); err != nil {
		return nil, c.explain(ctx, err)
	}
	if a.Error != "" {
		return nil, c.fail(errors.New(a.Error))
	}
	if a.Refused != "" {
		return nil, errors.New(a.Refused)
	}
	for _, n := range a.Parts {
		b, err := frame.ReadAligned(c.r, n)
		if err != nil {
			return nil, c.explain(ctx, err)
		}
		a.parts = append(a.parts, b)
	}
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

// isGone reports whether the child has ended.
func (c *child) isGone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed != nil
}
