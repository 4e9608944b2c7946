package client_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"hashgrove/internal/testkit/needs"
)

// TestNotebook runs the tests of the Python package with the command, and the examples of its documentation.
func TestNotebook(t *testing.T) {
	needs.Check(t, "runs Python")
	python := pythonWithNumpy()
	if python == "" {
		needs.Skip(t, needs.Python, "the Python package is not tested: apt-get install python3 python3-numpy")
	}
	program := filepath.Join(t.TempDir(), "hashgrove")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/hashgrove").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := func(t *testing.T, args ...string) {
		cmd := exec.Command(python, append([]string{"-B", "-W", "error"}, args...)...)
		cmd.Dir = "python"
		cmd.Env = append(os.Environ(), "HASHGROVE_BINARY="+program, "XDG_CACHE_HOME="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("OK")) {
			t.Fatalf("%v\n%s", err, out)
		}
		t.Logf("%s", out)
	}
	t.Run("package", func(t *testing.T) { run(t, "test_notebook.py") })
	t.Run("faults", func(t *testing.T) { run(t, "test_faults.py") })
	t.Run("examples", func(t *testing.T) { run(t, "test_examples.py") })
	t.Run("sklearn", func(t *testing.T) {
		if exec.Command(python, "-c", "import sklearn, pandas").Run() != nil {
			needs.Skip(t, needs.Sklearn, "FastHash is not tested among the tools of scikit-learn")
		}
		run(t, "test_sklearn.py")
	})
}
