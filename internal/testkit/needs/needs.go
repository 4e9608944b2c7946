// Package needs skips tests on machines that lack what they need. Plain "go test ./..." runs what takes two minutes and
// needs nothing but Go; tests that call Check are left for make check, which sets the variable HASHGROVE_REQUIRED. That
// is a comma-separated list of names, "all", or a name with a minus sign to exclude it from "all": a test that needs
// one of these things fails where it is missing.
package needs

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Variable is the environment variable that lists what is required.
const Variable = "HASHGROVE_REQUIRED"

// Thing is something that a machine may lack, named as in the variable.
type Thing string

// Things that tests need.
const (
	AVX2     Thing = "avx2"
	Axe      Thing = "axe"
	Browser  Thing = "browser"
	Compiler Thing = "compiler"
	Engines  Thing = "engines"
	FAISS    Thing = "faiss"
	Input    Thing = "input"
	Links    Thing = "links"
	Mapping  Thing = "mapping"
	Mount    Thing = "mount"
	ONNX     Thing = "onnx"
	OpenCL   Thing = "opencl"
	PgVector Thing = "pgvector"
	Postgres Thing = "postgres"
	Proc     Thing = "proc"
	Ptrace   Thing = "ptrace"
	Python   Thing = "python"
	Qemu     Thing = "qemu"
	Shell    Thing = "shell"
	Sklearn  Thing = "sklearn"
	Spark    Thing = "spark"
	Sparse   Thing = "sparse"
	Systemd  Thing = "systemd"
	Venv     Thing = "venv"
)

// fact describes a thing.
type fact struct {
	about     string
	elsewhere string // why CI does not require it
}

var facts = map[Thing]fact{
	AVX2:     {about: "the processor instructions AVX2 and FMA, which the kernels for amd64 use"},
	Axe:      {about: "axe-core of npm, which looks at pages for people who cannot see them"},
	Browser:  {about: "Chromium or another browser of its kind, which CHROME may name"},
	Compiler: {about: "gcc, for the race detector and for exported C code"},
	Engines:  {about: "Python with DuckDB, ClickHouse and Dask"},
	FAISS:    {about: "Python with faiss"},
	Input: {about: "a variable that names what to work on, such as HASHGROVE_SIZES",
		elsewhere: "scripts and other tests set it when they call what is no test of its own"},
	Links:    {about: "symbolic and hard links"},
	Mapping:  {about: "files and memory that are mapped at wish"},
	Mount:    {about: "the right to mount a file system"},
	ONNX:     {about: "onnxruntime-node of npm"},
	OpenCL:   {about: "OpenCL with a GPU, or with PoCL, which runs the same kernels on the processor"},
	PgVector: {about: "the extension pgvector of PostgreSQL"},
	Postgres: {about: "PostgreSQL, the server and psql"},
	Proc:     {about: "the folders /proc and /dev/fd as Linux has them"},
	Ptrace:   {about: "the right to follow the system calls of a process"},
	Python:   {about: "Python with numpy"},
	Qemu:     {about: "qemu-user-static, for tests on arm64"},
	Shell:    {about: "sh and bash, and the usual programs split, curl and sha256sum"},
	Sklearn:  {about: "scikit-learn and pandas for Python"},
	Spark: {about: "Spark and Java",
		elsewhere: "a cluster and its installation take minutes: make engines has them, and nightly"},
	Sparse:  {about: "a file system for files of 256 GB that are empty"},
	Systemd: {about: "systemd-analyze, which rates the unit of the service"},
	Venv:    {about: "Python that makes virtual environments"},
}

// Required reports whether a test must fail instead of being skipped if a thing is missing. An unknown name in the
// variable is an error.
func Required(thing Thing) (bool, error) {
	if _, ok := facts[thing]; !ok {
		return true, fmt.Errorf("package needs knows nothing named %q", thing)
	}
	required := false
	for word := range strings.SplitSeq(os.Getenv(Variable), ",") {
		name, without := strings.CutPrefix(strings.TrimSpace(word), "-")
		if _, ok := facts[Thing(name)]; !ok && name != "" && name != "all" {
			return true, fmt.Errorf("%s names %q, which is none of %s", Variable, name, strings.Join(Names(), ", "))
		}
		if name == string(thing) || name == "all" && !without {
			required = !without
		}
	}
	return required, nil
}

// Full reports whether all tests run, as in make check, and not only those that are quick and need nothing but Go.
func Full() bool { return os.Getenv(Variable) != "" }

// Check leaves a test to make check: because it is slow, or calls programs that Go does not bring.
func Check(t testing.TB, why string) {
	t.Helper()
	if !Full() {
		t.Skip("SKIPPED, left to make check: " + why)
	}
}

// Names returns the names of all things.
func Names() (names []string) {
	for thing := range facts {
		names = append(names, string(thing))
	}
	slices.Sort(names)
	return names
}

// InCI returns the variable's value in CI: everything without a reason not to, except what could not be installed.
func InCI(missing ...string) string {
	list := "all"
	for _, name := range Names() {
		if facts[Thing(name)].elsewhere != "" || slices.Contains(missing, name) {
			list += ",-" + name
		}
	}
	return list
}

// Skip skips a test because a thing is missing, or fails it if that is required.
func Skip(t testing.TB, thing Thing, why ...any) {
	t.Helper()
	required, err := Required(thing)
	switch {
	case err != nil:
		t.Fatal(err)
	case required:
		t.Fatalf("%s is required here (%s): %s", thing, facts[thing].about, strings.TrimSpace(fmt.Sprintln(why...)))
	}
	t.Skipf("SKIPPED, as %s is missing (%s): %s", thing, facts[thing].about, strings.TrimSpace(fmt.Sprintln(why...)))
}

// Missing logs that part of a test is left out because a thing is missing, or fails the test if that is required.
func Missing(t testing.TB, thing Thing, why ...any) {
	t.Helper()
	if required, err := Required(thing); required || err != nil {
		Skip(t, thing, why...)
	}
	t.Logf("left out, as %s is missing: %s", thing, strings.TrimSpace(fmt.Sprintln(why...)))
}

// Program returns the path of a program. If it is missing, so is the thing it belongs to.
func Program(t testing.TB, thing Thing, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Skip(t, thing, err)
	}
	return path
}

//go:embed npm.txt
var packages string

// FindPackage returns the folder of an npm package, which make setup puts into the user's cache folder.
func FindPackage(thing Thing) (folder string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(packages) {
		if words := strings.Fields(line); Thing(words[0]) == thing {
			name := words[1]
			folder = filepath.Join(cache, "hashgrove-test", name+"-"+words[2], "node_modules", name)
			_, err := os.Stat(filepath.Join(folder, "package.json"))
			return folder, err
		}
	}
	return "", fmt.Errorf("npm.txt has no package for %s", thing)
}

// Package returns the folder of an npm package, or skips the test if it was not fetched.
func Package(t testing.TB, thing Thing) string {
	t.Helper()
	folder, err := FindPackage(thing)
	if err != nil {
		Skip(t, thing, "make setup fetches it:", err)
	}
	return folder
}

// Kernels skips a test of assembly if a package has none: because of the build, or because the processor is of another
// kind or too old.
func Kernels(t testing.TB, has bool) {
	t.Helper()
	if !has && assembly {
		Skip(t, AVX2, "this machine has the plain kernels only")
	} else if !has {
		t.Skip("this build has the plain kernels only")
	}
}
