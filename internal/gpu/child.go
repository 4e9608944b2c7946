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
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"hashgrove/internal/gpu/frame"
)

// child is the training's side of hashgrove-gpu: a process that holds the device. If the driver crashes, or a kernel
// hangs, the child is what ends, and the training goes on on the cores. Requests are answered in their order.
type child struct {
	cmd  *exec.Cmd
	said bytes.Buffer  // what it printed; complete once it has ended
	name string        // of the device
	ids  atomic.Int64  // sessions so far
	wait time.Duration // longest silence

	mu     sync.Mutex
	to     *gob.Encoder
	from   *gob.Decoder
	coming int   // rounds that were asked for and not read
	failed error // nothing works any more
}

// startLimit is how long a child may take to find the device and compile the kernels, and silence how long for one
// answer, which is a tree or a copy of columns.
const (
	startLimit = 2 * time.Minute
	silence    = time.Minute
)

// start starts a child, which ends with the context.
func start(ctx context.Context) (*child, error) {
	program, err := find()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.CommandContext(ctx, program), wait: startLimit}
	c.cmd.Env = append(os.Environ(), environment()...)
	c.cmd.Stderr = &c.said
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.cmd.Cancel, c.cmd.WaitDelay = in.Close, time.Second
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", program, err)
	}
	c.to, c.from = gob.NewEncoder(in), gob.NewDecoder(out)
	a, err := c.read(ctx)
	if err != nil {
		return nil, err
	}
	c.name, c.wait = a.Hello, silence
	return c, nil
}

// call sends a request, once the rounds that nobody wants any more are read, and returns the first answer.
func (c *child) call(ctx context.Context, q frame.Request) (*frame.Answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.coming > 0 {
		if _, err := c.read(ctx); err != nil {
			return nil, err
		}
	}
	if err := c.do(ctx, func() error { return c.to.Encode(q) }); err != nil {
		return nil, err
	}
	c.coming = q.To - q.From
	return c.read(ctx)
}

// rounds returns the next rounds of those that were asked for.
func (c *child) rounds(ctx context.Context) (*frame.Answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read(ctx)
}

// read reads an answer.
func (c *child) read(ctx context.Context) (*frame.Answer, error) {
	var a frame.Answer
	if err := c.do(ctx, func() error { return c.from.Decode(&a) }); err != nil {
		return nil, err
	}
	switch {
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

// do reads or writes, and ends the child if that fails or takes too long.
func (c *child) do(ctx context.Context, f func() error) error {
	if c.failed != nil {
		return c.failed
	}
	timer := time.AfterFunc(c.wait, func() { c.cmd.Process.Kill() })
	err := f()
	isSilent := !timer.Stop()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case isSilent:
		err = fmt.Errorf("no answer for %v", c.wait)
	}
	return c.fail(err)
}

// fail ends the child and remembers why.
func (c *child) fail(err error) error {
	c.cmd.Process.Kill()
	ended := c.cmd.Wait()
	for _, gone := range []error{io.EOF, io.ErrUnexpectedEOF, os.ErrClosed, syscall.EPIPE} {
		if errors.Is(err, gone) {
			err = fmt.Errorf("it ended (%w)", ended)
			break
		}
	}
	said := bytes.TrimSpace(c.said.Bytes())
	said = said[max(0, len(said)-2000):]
	if len(said) > 0 && !strings.Contains(string(said), err.Error()) {
		err = fmt.Errorf("%w: %s", err, said)
	}
	c.failed = err
	return err
}

// close waits for the end of the child, whose context has ended.
func (c *child) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		_ = c.cmd.Wait()
	}
}

// find returns the path of the program: beside this one, or on the PATH.
func find() (string, error) {
	name := Program
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if self, err := os.Executable(); err == nil {
		if self, err = filepath.EvalSymlinks(self); err == nil {
			beside := filepath.Join(filepath.Dir(self), name)
			if f, err := os.Stat(beside); err == nil && !f.IsDir() {
				return beside, nil
			}
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s is neither beside this program nor on the PATH", name)
	}
	return path, nil
}

// environment adds NVIDIA's library to what OpenCL's loader looks for: some drivers come without the entry that tells
// the loader of it. The loader passes over a library that is not there.
func environment() []string {
	const key = "OCL_ICD_FILENAMES"
	if os.Getenv(key) != "" || runtime.GOOS != "linux" {
		return nil
	}
	return []string{key + "=libnvidia-opencl.so.1"}
}
