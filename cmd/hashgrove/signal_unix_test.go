//go:build unix

package main

import (
	"bytes"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"testing"
	"time"
)

// TestSignalsWhileWaiting: a command that waits for somebody to open the other end of a pipe ends after the first signal,
// whatever it reads from there, and at once after the second.
func TestSignalsWhileWaiting(t *testing.T) {
	indexed(t)
	if err := syscall.Mkfifo("pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	type waiting struct {
		line   string
		first  syscall.Signal
		second syscall.Signal // 0 for none
		status int
		cmd    *exec.Cmd
		err    bytes.Buffer
	}
	commands := []*waiting{
		{line: "verify pipe", first: syscall.SIGINT, status: 130},
		{line: "info pipe", first: syscall.SIGTERM, status: 143},
		{line: "search items.hgi pipe", first: syscall.SIGHUP, status: 129},
		{line: "encode items.csv -m pipe -o x.hgc", first: syscall.SIGINT, status: 130},
		{line: "index delete items.hgi --ids-file pipe", first: syscall.SIGTERM, status: 143},
		{line: "verify pipe", first: syscall.SIGINT, second: syscall.SIGTERM, status: 143},
	}
	if signal.Ignored(syscall.SIGHUP) { // the tests run under nohup, and so do their children
		commands = slices.DeleteFunc(commands, func(c *waiting) bool { return c.first == syscall.SIGHUP })
	}
	for _, c := range commands {
		c.cmd = command(shellWords(c.line)...)
		c.cmd.Stderr = &c.err
		if err := c.cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(time.Second) // until they wait; one that does not yet would die of the signal, which is seen below
	for _, c := range commands {
		for _, s := range []syscall.Signal{c.first, c.second} {
			if s != 0 {
				if err := c.cmd.Process.Signal(s); err != nil {
					t.Fatal(err)
				}
				time.Sleep(100 * time.Millisecond)
			}
		}
	}
	for _, c := range commands {
		c.cmd.Wait()
		state := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
		if state.ExitStatus() != c.status && !(state.Signaled() && 128+int(state.Signal()) == c.status) {
			t.Errorf("%s: status %d, want %d: %s", c.line, state.ExitStatus(), c.status, c.err.String())
		}
	}
	succeed(t, "verify", "items.hgi")
}
