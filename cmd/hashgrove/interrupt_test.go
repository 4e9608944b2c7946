package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"hashgrove/internal/fasthash"
)

// asCommand lists what the test binary can run instead of tests.
var asCommand = map[string]func(){"1": main}

// TestMain lets the test binary be the command, so that a test can kill a real process.
func TestMain(m *testing.M) {
	if child := asCommand[os.Getenv("HASHGROVE_TEST_AS_COMMAND")]; child != nil {
		os.Unsetenv("HASHGROVE_TEST_AS_COMMAND")
		child()
	}
	os.Exit(m.Run())
}

// command returns a command line to run as a separate process.
func command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "HASHGROVE_TEST_AS_COMMAND=1")
	return cmd
}

// TestInterruptLeavesACheckpoint cancels as Ctrl-C does, and checks what stands in the way afterwards.
func TestInterruptLeavesACheckpoint(t *testing.T) {
	shop(t)
	args := []string{"train", "items.csv", "--label", "category", "--id-column", "sku", "--bits", "300", "--rounds", "20", "-o", "m.hgm"}
	ctx, cancel := context.WithCancel(context.Background())
	var out bytes.Buffer
	errOut := &watcher{when: "bit 3/300", then: cancel}
	if code := run(ctx, strings.NewReader(""), &out, errOut, args); code != 1 {
		t.Fatalf("exit %d\n%s", code, errOut.String())
	}
	if !strings.Contains(errOut.String(), "--resume") {
		t.Errorf("nothing says how to go on:\n%s", errOut.String())
	}
	if d := try(t, args...).unlike("1 - m.hgm.ckpt --resume --set restart=true", fasthash.ErrCheckpoint); d != "" {
		t.Errorf("a second training over the checkpoint: %s", d)
	}
	more := try(t, append(args, "--resume", "--bits", "900")...)
	if d := more.unlike("1 - m.hgm.ckpt --grow --set restart=true", fasthash.ErrOtherBits); d != "" {
		t.Errorf("more bits: %s", d)
	}
	if d := try(t, append(args, "--resume", "--depth", "3")...).unlike("1 - m.hgm.ckpt trees.depth"); d != "" {
		t.Errorf("resuming with another depth: %s", d)
	}
	args[7] = "4"
	if o := try(t, append(args, "--set", "restart=true")...); o.code != 0 {
		t.Errorf("restart: exit %d\n%s", o.code, o.err)
	}
}

// watcher calls then when a text has been written.
type watcher struct {
	bytes.Buffer
	when string
	then func()
}

func (w *watcher) Write(b []byte) (int, error) {
	n, err := w.Buffer.Write(b)
	if strings.Contains(w.String(), w.when) {
		w.then()
	}
	return n, err
}
