//go:build (linux || darwin) && (amd64 || arm64)

package gpu

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/gpu/worker"
	"hashgrove/internal/testkit/needs"
)

// Ready builds hashgrove-gpu, or finds it where there is no Go, and skips the test where nothing has OpenCL: a GPU, or a
// processor.
func Ready(t testing.TB) {
	t.Helper()
	needs.Check(t, "looks for OpenCL")
	if _, err := worker.Find(true); err != nil {
		needs.Skip(t, needs.OpenCL, err)
	}
	t.Setenv(AnyDevice, "1")
	if _, err := exec.LookPath("go"); err != nil {
		return
	}
	folder := t.TempDir()
	out, err := exec.Command("go", "build", "-o", folder, "hashgrove/cmd/hashgrove-gpu").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// open opens a device.
func open(t testing.TB) *Device {
	t.Helper()
	Ready(t)
	d := New(t.Context(), GPU, 0, func(note string) { t.Log(note) })
	if err := d.Failed(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// TestMain lets OpenCL find the same devices here as in the child.
func TestMain(m *testing.M) {
	for _, v := range environment() {
		name, value, _ := strings.Cut(v, "=")
		os.Setenv(name, value)
	}
	os.Exit(m.Run())
}

// TestLostDevice ends the child in the middle of a bit, or stops it so that it hangs: the cores go on, and the trees are
// the same.
func TestLostDevice(t *testing.T) {
	for name, signal := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "hangs": syscall.SIGSTOP} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			child, _ := d.open()
			child.wait = 2 * time.Second
			x, z := mixture(3000, 20)
			o := boost.Options{Rounds: 400}
			want, err := boost.New(x, o, 0)
			if err != nil {
				t.Fatal(err)
			}
			got, err := boost.NewOn(t.Context(), d, x, o, 0)
			if err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(50*time.Millisecond, func() { _ = child.cmd.Process.Signal(signal) })
			for bit := range 3 {
				wantE, err := want.Fit(t.Context(), z, nil, 1, bit)
				if err != nil {
					t.Fatal(err)
				}
				e, err := got.Fit(t.Context(), z, nil, 1, bit)
				if err != nil || !reflect.DeepEqual(e, wantE) {
					t.Fatalf("bit %d: other trees, or %v", bit, err)
				}
			}
			if notes := d.notes; len(notes) != 1 || !strings.Contains(notes[0], "the processor goes on") {
				t.Errorf("notes %q", notes)
			}
		})
	}
}

// TestNoMemory asks for more than fits: the cores do it, and the device serves others.
func TestNoMemory(t *testing.T) {
	t.Setenv(worker.ColumnBytes, "1000")
	d := open(t)
	x, z := mixture(3000, 20)
	fit, err := boost.NewOn(t.Context(), d, x, boost.Options{Rounds: 3}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fit.Fit(t.Context(), z, nil, 1, 1); err != nil {
		t.Fatal(err)
	}
	if notes := d.notes; len(notes) != 1 || !strings.Contains(notes[0], "fit the device's memory") {
		t.Errorf("notes %q", notes)
	}
	if child, _ := d.open(); child.failed != nil {
		t.Error("the child has ended")
	}
}

// TestCancel ends a training in the middle of a bit.
func TestCancel(t *testing.T) {
	d := open(t)
	x, z := mixture(3000, 20)
	fit, err := boost.NewOn(t.Context(), d, x, boost.Options{Rounds: 5000}, 0)
	if err != nil {
		t.Fatal(err)
	}
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { cancel(stop) })
	if _, err := fit.Fit(ctx, z, nil, 1, 1); !errors.Is(err, stop) {
		t.Errorf("%v, want %v", err, stop)
	}
	if notes := d.notes; len(notes) > 0 {
		t.Errorf("notes %q", notes)
	}
}
