package main

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"hashgrove/internal/model"
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

// TestWheel makes the release for this machine and installs its wheel into an empty virtual environment, without network;
// from there it runs the command, the notebook and scikit-learn's checks.
func TestWheel(t *testing.T) {
	needs.Check(t, "builds the command")
	p := platform(runtime.GOOS + "/" + runtime.GOARCH)
	version := model.Version + "-test.1"
	s := &release{root: root, version: version, folder: filepath.Join(t.TempDir(), "hashgrove-"+version)}
	if err := s.write([]platform{p}); err != nil {
		t.Fatal(err)
	}
	sums := exec.Command(needs.Program(t, needs.Shell, "sha256sum"), "-c", "--strict", "SHA256SUMS")
	sums.Dir = s.folder
	if out, err := sums.CombinedOutput(); err != nil || strings.Count(string(out), ": OK") != 2 {
		t.Errorf("%v: %s", err, out)
	}
	packed := filepath.Join(s.folder, "wheels", s.wheelName(p))
	checkRecord(t, packed)
	python := "/usr/bin/python3"
	if exec.Command(python, "-c", "import numpy, venv, ensurepip").Run() != nil {
		needs.Skip(t, needs.Venv, "the wheel is not installed: apt-get install python3-venv python3-numpy")
	}
	folder := t.TempDir()
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
	run(own, "-m", "pip", "install", "--no-index", "--pre", "--find-links", filepath.Dir(packed), "hashgrove")
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
func checkRecord(t *testing.T, wheel string) {
	t.Helper()
	z, err := zip.OpenReader(wheel)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	listed, programs := "", 0
	var want strings.Builder
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		b, err := fs.ReadFile(z, f.Name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(f.Name, "hashgrove/bin/") && f.Mode()&0o111 != 0 {
			programs++
		}
		if strings.HasSuffix(f.Name, "/RECORD") {
			listed = string(b)
			continue
		}
		sum := sha256.Sum256(b)
		fmt.Fprintf(&want, "%s,sha256=%s,%d\n", f.Name, base64.RawURLEncoding.EncodeToString(sum[:]), len(b))
		if strings.Contains(f.Name, "__pycache__") || strings.Contains(f.Name, "/test_") {
			t.Errorf("%s is in the wheel", f.Name)
		}
	}
	files, own, _ := strings.Cut(listed, "hashgrove-0.1.0+test.1.dist-info/RECORD,,\n")
	if files != want.String() || own != "" || programs != 2 || !strings.Contains(listed, "hashgrove/py.typed,") {
		t.Errorf("the record is\n%s\nand not\n%s", listed, want.String())
	}
}

func TestVersionOfARelease(t *testing.T) {
	for given, ok := range map[string]bool{
		model.Version: true, model.Version + "-rc.1": true, model.Version + "+a.b": true,
		"9.9.9": false, model.Version + "1": false, model.Version + ".1": false, model.Version + "-": false,
		model.Version + "-a b": false, model.Version + "-x'": false, model.Version + "-/../x": false,
	} {
		if got, err := releaseVersion(root, given); (err == nil) != ok || ok && got != given {
			t.Errorf("%q: %q, %v", given, got, err)
		}
	}
}
