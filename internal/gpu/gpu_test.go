package gpu

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hashgrove/internal/fasthash/boost/enginetest"
	"hashgrove/internal/gpu/worker"
	"hashgrove/internal/testkit/needs"
)

// open builds hashgrove-gpu and opens a device: a GPU, or a processor with OpenCL.
func open(t testing.TB) *Device {
	t.Helper()
	if _, err := worker.Find(true); err != nil {
		needs.Skip(t, needs.OpenCL, err)
	}
	t.Setenv(AnyDevice, "1")
	t.Setenv("PATH", filepath.Dir(program(t))+string(os.PathListSeparator)+os.Getenv("PATH"))
	d, err := Open(t.Context(), func(note string) { t.Log(note) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// program builds hashgrove-gpu or, where there is no Go, finds it.
func program(t testing.TB) string {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		path, err := find()
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	path := filepath.Join(t.TempDir(), Program)
	if out, err := exec.Command("go", "build", "-o", path, "hashgrove/cmd/hashgrove-gpu").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// TestMain lets OpenCL find the same devices here as in the child.
func TestMain(m *testing.M) {
	for _, v := range environment() {
		name, value, _ := strings.Cut(v, "=")
		os.Setenv(name, value)
	}
	os.Exit(m.Run())
}

// TestEngine compares the trees of the device with those of the cores, and sees that they are the device's own.
func TestEngine(t *testing.T) {
	d := open(t)
	enginetest.Run(t, d)
	for _, note := range d.Notes() {
		if !strings.Contains(note, "rows are drawn to split a node") {
			t.Error(note)
		}
	}
}
