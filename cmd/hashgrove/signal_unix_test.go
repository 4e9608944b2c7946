//go:build unix

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"
)

// The command that says on file 3 when it waits for the other end of a pipe, and when it has caught an interrupt.
func init() {
	asCommand["waiting"] = func() {
		go func() {
			said := os.NewFile(3, "said")
			defer said.Close()
			for seen := 0; seen < 40; time.Sleep(5 * time.Millisecond) { // other files are opened in less than that
				if seen++; !opening() {
					seen = 0
				}
			}
			caught := make(chan os.Signal, 1)
			signal.Notify(caught, syscall.SIGINT) // the command catches it, too
			_, _ = said.Write([]byte{1})
			<-caught
			_, _ = said.Write([]byte{2})
		}()
		main()
	}
}

// opening reports whether this process is in the middle of opening a file.
func opening() bool {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for _, g := range bytes.Split(stacks, []byte("\n\n")) {
		head, _, _ := bytes.Cut(g, []byte("\n"))
		if bytes.Contains(head, []byte("[syscall")) && bytes.Contains(g, []byte("\nos.OpenFile(")) {
			return true
		}
	}
	return false
}

// startWaiting starts a command that will wait for the other end of a pipe, and returns what it says when it does.
func startWaiting(t *testing.T, cmd *exec.Cmd) io.Reader {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	cmd.Env = append(os.Environ(), "HASHGROVE_TEST_AS_COMMAND=waiting")
	cmd.ExtraFiles = []*os.File{w}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	hangs := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
	t.Cleanup(func() { hangs.Stop() })
	return r
}

// TestSignalsWhileWaiting: a command that waits for somebody to open the other end of a pipe ends after the first signal,
// whatever it reads from there, and at once after the second. Both are caught: it does not die of them.
func TestSignalsWhileWaiting(t *testing.T) {
	indexed(t)
	if err := syscall.Mkfifo("pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	type waiting struct {
		line    string
		signals []syscall.Signal
		status  int
		cmd     *exec.Cmd
		err     bytes.Buffer
		said    io.Reader
	}
	const hup, interrupt, term = syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM
	commands := []*waiting{
		{line: "verify pipe", signals: []syscall.Signal{interrupt}, status: 130},
		{line: "info pipe", signals: []syscall.Signal{term}, status: 143},
		{line: "search items.hgi pipe", signals: []syscall.Signal{hup}, status: 129},
		{line: "encode items.csv -m pipe -o x.hgc", signals: []syscall.Signal{interrupt}, status: 130},
		{line: "index delete items.hgi --ids pipe", signals: []syscall.Signal{term}, status: 143},
		{line: "verify pipe", signals: []syscall.Signal{interrupt, term}, status: 143},
	}
	if signal.Ignored(hup) { // the tests run under nohup, and so do their children
		commands = slices.DeleteFunc(commands, func(c *waiting) bool { return c.signals[0] == hup })
	}
	for _, c := range commands {
		c.cmd = command(shellWords(c.line)...)
		c.cmd.Stderr = &c.err
		c.said = startWaiting(t, c.cmd)
	}
	for _, c := range commands {
		for _, s := range c.signals {
			if _, err := io.ReadFull(c.said, make([]byte, 1)); err != nil {
				t.Errorf("%s does not wait, or has not caught the signal before %v: %v", c.line, s, err)
			}
			if err := c.cmd.Process.Signal(s); err != nil {
				t.Errorf("%s: %v", c.line, err)
			}
		}
	}
	for _, c := range commands {
		c.cmd.Wait()
		if got := c.cmd.ProcessState.ExitCode(); got != c.status {
			t.Errorf("%s: %v, want status %d: %s", c.line, c.cmd.ProcessState, c.status, c.err.String())
		}
	}
	succeed(t, "verify", "items.hgi")
}
