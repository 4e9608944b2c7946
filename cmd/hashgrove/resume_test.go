package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hashgrove/internal/fasthash"
	"hashgrove/internal/hamming"
)

// asCommand lists what the test binary can run instead of tests.
var asCommand = map[string]func(){"1": main}

// TestMain lets the test binary be the command, so that a test can kill a real process.
func TestMain(m *testing.M) {
	if child := asCommand[os.Getenv("HASHGROVE_TEST_AS_COMMAND")]; child != nil {
		os.Unsetenv("HASHGROVE_TEST_AS_COMMAND")
		child()
	}
	code := m.Run()
	if demoFolder != "" {
		os.RemoveAll(demoFolder)
	}
	os.Exit(code)
}

// command returns a command line to run as a separate process.
func command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "HASHGROVE_TEST_AS_COMMAND=1")
	return cmd
}

// TestResumeAfterKill kills trainings with SIGKILL at random moments, damages the newest checkpoint now and then,
// and resumes them: the model must be the one of an undisturbed run, byte for byte.
func TestResumeAfterKill(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes for a few seconds")
	}
	shop(t)
	args := []string{"train", "items.csv", "--label", "category", "--id-column", "sku", "--bits", "40", "--rounds", "60", "--quiet", "-o"}
	succeed(t, append(args, "whole.hgm")...)
	whole := read(t, "whole.hgm")
	t.Setenv("TMPDIR", t.TempDir())
	rng := rand.New(rand.NewPCG(3, 1))
	kills, damaged := 0, 0
	for try := range 60 {
		cmd := command(append(args, "killed.hgm", "--resume")...)
		var errOut bytes.Buffer
		cmd.Stderr = &errOut
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		select {
		case err := <-done:
			if err != nil {
				t.Fatalf("resumed training failed: %v\n%s", err, errOut.String())
			}
			if !bytes.Equal(read(t, "killed.hgm"), whole) {
				t.Fatal("the resumed model differs from the undisturbed one")
			}
			if _, err := os.Stat("killed.hgm.ckpt"); !os.IsNotExist(err) {
				t.Error("the checkpoint was left behind")
			}
			if kills == 0 {
				t.Error("the training was never killed; the test needs more work to do")
			}
			t.Logf("%d kills, %d damaged checkpoints", kills, damaged)
			t.Logf("count: kills %d", kills)
			return
		// A busy machine needs longer to begin at all: the time grows to some minutes.
		case <-time.After(time.Duration(float64(80+rng.IntN(300))*math.Pow(1.15, float64(try))) * time.Millisecond):
			_ = cmd.Process.Kill()
			<-done
			kills++
		}
		if b, err := os.ReadFile("killed.hgm"); err == nil { // killed after its work was done
			if !bytes.Equal(b, whole) {
				t.Fatal("the model of a killed training differs from the undisturbed one")
			}
			if err := os.Remove("killed.hgm"); err != nil {
				t.Fatal(err)
			}
		}
		if files, _ := filepath.Glob("killed.hgm.ckpt/*.bit"); len(files) > 0 && kills%3 == 0 {
			newest := files[len(files)-1]
			b := read(t, newest)
			b[rng.IntN(len(b))] ^= 0x10
			write(t, newest, string(b))
			damaged++
		}
	}
	t.Fatal("the training was killed 60 times and never ended")
}

// plainCodes writes different codes of 64 bits without ids.
func plainCodes(t *testing.T, name string, items int) {
	t.Helper()
	codes := hamming.NewCodes(items, 64)
	for i := range codes.Data {
		codes.Data[i] = uint64(i) * 0x9e3779b97f4a7c15
	}
	w, err := hamming.Create(name, hamming.HGC, hamming.Header{Bits: 64, Rows: items})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(codes, nil), w.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestTwoTrainingsWithOneOutput: the second is refused, and the first ends as if nothing had happened.
func TestTwoTrainingsWithOneOutput(t *testing.T) {
	shop(t)
	args := []string{"train", "items.csv", "--label", "category", "--id-column", "sku", "--bits", "60", "--rounds", "20", "-o"}
	succeed(t, append(args, "alone.hgm")...)
	second := outcome{}
	begin := sync.OnceFunc(func() { second = try(t, append(args, "m.hgm", "--seed", "2", "--restart")...) })
	errOut := &watcher{when: "bit 3/60", then: begin}
	if code := run(t.Context(), strings.NewReader(""), io.Discard, errOut, append(args, "m.hgm")); code != 0 {
		t.Fatalf("the first training: exit %d\n%s", code, errOut.String())
	}
	d := second.unlike("1 - m.hgm.ckpt")
	if d != "" || errors.Is(second.cause, fasthash.ErrCheckpoint) { // that would be one that has ended
		t.Errorf("the second training: %s\n%s", d, second.err)
	}
	if !bytes.Equal(read(t, "m.hgm"), read(t, "alone.hgm")) {
		t.Error("the second training has changed the first")
	}
	if _, err := os.Stat("m.hgm.ckpt"); err == nil {
		t.Error("the checkpoint was left behind")
	}
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
	if d := try(t, args...).unlike("1 - m.hgm.ckpt --resume --restart", fasthash.ErrCheckpoint); d != "" {
		t.Errorf("a second training over the checkpoint: %s", d)
	}
	more := try(t, append(args, "--resume", "--bits", "900")...)
	if d := more.unlike("1 - m.hgm.ckpt --grow --restart", fasthash.ErrOtherBits); d != "" {
		t.Errorf("more bits: %s", d)
	}
	if d := try(t, append(args, "--resume", "--depth", "3")...).unlike("1 - m.hgm.ckpt trees.depth"); d != "" {
		t.Errorf("resuming with another depth: %s", d)
	}
	args[7] = "4"
	if o := try(t, append(args, "--restart")...); o.code != 0 {
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
