package client_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"hashgrove/internal/testkit/needs"
	"hashgrove/internal/testkit/pgtest"
)

// pythonWithNumpy returns a Python that has numpy, or nothing.
func pythonWithNumpy() string {
	for _, name := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(name, "-c", "import numpy").Run() == nil {
			return name
		}
	}
	return ""
}

// TestNotebook runs the tests of the Python package with the command, and the examples of its documentation.
func TestNotebook(t *testing.T) {
	needs.Check(t, "runs Python")
	python := pythonWithNumpy()
	if python == "" {
		needs.Skip(t, needs.Python, "the Python package is not tested: apt-get install python3 python3-numpy")
	}
	program := buildProgram(t)
	run := func(t *testing.T, args ...string) {
		runPython(t, python, append([]string{"-W", "error"}, args...), "HASHGROVE_BINARY="+program)
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

// TestEngines compares searches of our codes in other engines with those of our index. What is on docs/sql.md is run.
func TestEngines(t *testing.T) {
	needs.Check(t, "runs engines")
	cache, _ := os.UserCacheDir()
	python := filepath.Join(cache, "hashgrove-test", "engines", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		needs.Skip(t, needs.Engines, "make setup installs them:", err)
	}
	env := []string{"HASHGROVE_BINARY=" + buildProgram(t)}
	t.Run("sql", func(t *testing.T) {
		some := env
		if pgtest.Available() { // where it is required, package postgres says so
			some = append(some, "HASHGROVE_POSTGRES="+pgtest.Start(t).URL, "PGPASSWORD="+pgtest.Password)
		}
		runPython(t, python, []string{"../../x/bench/engines.py", "SQL", "Dask"}, some...)
	})
	t.Run("spark", func(t *testing.T) {
		if required, err := needs.Required(needs.Spark); err != nil || !required {
			t.Skip("SKIPPED, left to make engines: a cluster takes minutes")
		}
		runPython(t, python, []string{"../../x/bench/engines.py", "Spark"}, env...)
	})
}

// buildProgram builds the command.
func buildProgram(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "hashgrove")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/hashgrove").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// runPython runs tests in the folder of the package.
func runPython(t *testing.T, python string, args []string, env ...string) {
	t.Helper()
	cmd := exec.Command(python, append([]string{"-B"}, args...)...)
	cmd.Dir = "python"
	cmd.Env = append(append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir()), env...)
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("OK")) {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
