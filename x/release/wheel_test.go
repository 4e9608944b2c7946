package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"hashgrove/internal/testkit/needs"
	"hashgrove/internal/testkit/pgtest"
)

func TestPythonVersion(t *testing.T) {
	for given, want := range map[string]string{
		"0.1.0": "0.1.0", "0.1.0-rc.1": "0.1.0rc1", "0.1.0-alpha2": "0.1.0a2", "1.2.3-beta.4": "1.2.3b4",
		"0.1.0-dev.20261118075357+b16e511abcde.changed": "0.1.0.dev20261118075357+b16e511abcde.changed",
		"0.1.0-test.1": "0.1.0+test.1", "0.1.0+Some-thing": "0.1.0+some.thing",
	} {
		if got := pythonVersion(given); got != want {
			t.Errorf("%s is %s in Python, want %s", given, got, want)
		}
	}
	for _, p := range platforms {
		if wheelTags[p] == "" {
			t.Errorf("%v has no wheel", p)
		}
	}
}

// TestWheel installs the wheel for this machine into an empty virtual environment, without network, and runs from there
// the command, the notebook, scikit-learn's checks and the tests of the package. Two wheels are the same bytes.
func TestWheel(t *testing.T) {
	s := buildSample(t)
	p := platform{runtime.GOOS, runtime.GOARCH}
	packed, err := s.wheel(s.binary, p)
	if err != nil {
		t.Fatal(err)
	}
	checkRecord(t, packed)
	second := *s.release // of another folder, with files of another time
	second.root = t.TempDir()
	from, err := s.pythonPackage()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(from, file{"../../LICENSE", 0o644, read(t, filepath.Join(s.root, "LICENSE"))}) {
		if err := writeFile(filepath.Join(second.root, "client", "python", f.name), f.data); err != nil {
			t.Fatal(err)
		}
	}
	again, err := second.wheel(s.binary, p)
	if err != nil || !bytes.Equal(packed, again) {
		t.Errorf("two folders gave two wheels: %v", err)
	}
	python := "/usr/bin/python3"
	if exec.Command(python, "-c", "import numpy, venv, ensurepip").Run() != nil {
		needs.Skip(t, needs.Venv, "the wheel is not installed: apt-get install python3-venv python3-numpy")
	}
	folder := t.TempDir()
	if err := writeFile(filepath.Join(folder, "wheels", s.wheelName(p)), packed); err != nil {
		t.Fatal(err)
	}
	environment := append(os.Environ(), "PIP_FIND_LINKS=", "PIP_CONFIG_FILE="+os.DevNull, "HOME="+folder, "PYTHONDONTWRITEBYTECODE=1",
		"XDG_CACHE_HOME="+filepath.Join(folder, "cache"), "HASHGROVE_BINARY=", "PYTHONPATH=")
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = folder, environment
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run(python, "-m", "venv", "--system-site-packages", "empty") // numpy is Debian's
	inside := filepath.Join(folder, "empty", "bin")
	own := filepath.Join(inside, "python3")
	run(own, "-m", "pip", "install", "--no-index", "--pre", "--find-links", "wheels", "hashgrove")
	if got := run(filepath.Join(inside, "hashgrove"), "version"); !strings.Contains(got, s.version) {
		t.Errorf("the command of the wheel says %s", got)
	}
	got := run(own, "-c", "import hashgrove; print(hashgrove.__version__, hashgrove.__file__)")
	if !strings.HasPrefix(got, pythonVersion(s.version)+" "+filepath.Join(folder, "empty")) {
		t.Errorf("the package of the wheel is %s", got)
	}
	if exec.Command(python, "-c", "import sklearn, pandas").Run() != nil {
		needs.Missing(t, needs.Sklearn, "the notebook and scikit-learn's checks")
		return
	}
	if pgtest.Available() {
		environment = append(environment, "HASHGROVE_POSTGRES="+pgtest.Start(t).URL, "PGPASSWORD="+pgtest.Password)
	} else {
		needs.Missing(t, needs.Postgres, "the notebook only shows what it would push")
	}
	absolute, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	out := run(own, filepath.Join(absolute, "examples", "run_notebook.py"), filepath.Join(absolute, "examples", "notebook.ipynb"))
	if !strings.Contains(out, "cells: OK") {
		t.Errorf("the notebook: %s", out)
	}
	t.Log(run(own, "-c", "from hashgrove import FastHash; from sklearn.utils.estimator_checks import check_estimator; "+
		"check_estimator(FastHash(bits=8, effort='quick'))"))
	run(own, "-m", "pip", "uninstall", "-y", "hashgrove")
	if left, _ := filepath.Glob(filepath.Join(folder, "empty", "lib", "*", "site-packages", "hashgrove*")); len(left) > 0 {
		t.Errorf("the package leaves %q behind", left)
	}
}

// checkRecord checks the list of a wheel's files against the files.
func checkRecord(t *testing.T, packed []byte) {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		t.Fatal(err)
	}
	listed, programs := "", 0
	var want strings.Builder
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(f.Name, "hashgrove/bin/") && f.Mode()&0o111 != 0 {
			programs++
		}
		if strings.HasSuffix(f.Name, "/RECORD") {
			listed = string(b)
			fmt.Fprintf(&want, "%s,,\n", f.Name)
			continue
		}
		sum := sha256.Sum256(b)
		fmt.Fprintf(&want, "%s,sha256=%s,%d\n", f.Name, base64.RawURLEncoding.EncodeToString(sum[:]), len(b))
		if !f.Modified.Equal(someDate) || strings.Contains(f.Name, "__pycache__") || strings.Contains(f.Name, "/test_") {
			t.Errorf("%s of %v", f.Name, f.Modified)
		}
	}
	if listed != want.String() || programs != 2 || !strings.Contains(listed, "hashgrove/py.typed,") {
		t.Errorf("the record is\n%s\nand not\n%s", listed, want.String())
	}
}
