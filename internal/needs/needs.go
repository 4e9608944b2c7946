// Package needs ends tests on machines that lack what they need. Such a test is skipped, and fails instead where the
// variable HASHGROVE_REQUIRED lists the thing: names with commas between them, "all" for all things, and a name with a
// minus sign before it for one that "all" leaves out. CI requires all but those whose reason is in the table below.
//
// Two older ways still hold: CI=true requires what make setup installs, where HASHGROVE_REQUIRED is not set, and
// HASHGROVE_BROWSER=required and HASHGROVE_ONNX=required each require one thing.
package needs

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Variable is the name of the variable of the environment that lists what is required.
const Variable = "HASHGROVE_REQUIRED"

// Thing is something that a machine may lack, by the name that it has in the variable.
type Thing string

// What tests need.
const (
	AVX2      Thing = "avx2"
	Browser   Thing = "browser"
	Compiler  Thing = "compiler"
	Dpkg      Thing = "dpkg"
	FAISS     Thing = "faiss"
	Fashion   Thing = "fashion"
	Files     Thing = "files"
	Fish      Thing = "fish"
	Groff     Thing = "groff"
	HugePages Thing = "hugepages"
	Input     Thing = "input"
	Links     Thing = "links"
	Live      Thing = "live"
	Mapping   Thing = "mapping"
	Mount     Thing = "mount"
	ONNX      Thing = "onnx"
	PgVector  Thing = "pgvector"
	Postgres  Thing = "postgres"
	Proc      Thing = "proc"
	Ptrace    Thing = "ptrace"
	Python    Thing = "python"
	Qemu      Thing = "qemu"
	Redis     Thing = "redis"
	Shell     Thing = "shell"
	Sparse    Thing = "sparse"
	SQLite    Thing = "sqlite"
	SQLiteVec Thing = "sqlite-vec"
	User      Thing = "user"
	Wine      Thing = "wine"
	Zsh       Thing = "zsh"
)

// fact is what there is to know of a thing.
type fact struct {
	about     string
	installed bool   // make setup installs it
	elsewhere string // why CI does not require it
}

var facts = map[Thing]fact{
	AVX2:     {about: "the processor instructions AVX2 and FMA, which the kernels for amd64 use"},
	Browser:  {about: "Chromium, and axe-core of npm", installed: true},
	Compiler: {about: "gcc, for the race detector and for exported C code", installed: true},
	Dpkg:     {about: "dpkg and chroot", installed: true},
	FAISS:    {about: "Python with faiss", installed: true},
	Fashion:  {about: "the files of Fashion-MNIST, which a benchmark learns (CI runs none)"},
	Files:    {about: "leave to open 10,500 files at once (ulimit -n)"},
	Fish:     {about: "the shell fish", installed: true},
	Groff:    {about: "groff, which reads the manual pages", installed: true},
	HugePages: {about: "a kernel that gives large pages to those who ask",
		elsewhere: "a test must not change the kernel, and not every kernel is set so (transparent_hugepage)"},
	Input: {about: "a variable that names what to work on, such as HASHGROVE_SIZES",
		elsewhere: "scripts and other tests set it when they call what is no test of its own"},
	Links: {about: "symbolic and hard links"},
	Live: {about: "a server of Milvus, Vespa or Weaviate, whose address is in a variable",
		elsewhere: "Debian has none of them; the suites run in CI against stand-ins of ours"},
	Mapping:   {about: "files and memory that are mapped at wish"},
	Mount:     {about: "the right to mount a file system"},
	ONNX:      {about: "onnxruntime-node of npm", installed: true},
	PgVector:  {about: "the extension pgvector of PostgreSQL", installed: true},
	Postgres:  {about: "PostgreSQL, the server and psql", installed: true},
	Proc:      {about: "the folders /proc and /dev/fd as Linux has them"},
	Ptrace:    {about: "the right to follow the system calls of a process"},
	Python:    {about: "Python with numpy", installed: true},
	Qemu:      {about: "qemu-user-static, for tests on arm64 and s390x", installed: true},
	Redis:     {about: "Redis 8", installed: true},
	Shell:     {about: "sh and bash, and the usual programs split, curl and sha256sum", installed: true},
	Sparse:    {about: "a file system for files of 256 GB that are empty"},
	SQLite:    {about: "the program sqlite3", installed: true},
	SQLiteVec: {about: "the extension sqlite-vec of npm", installed: true},
	User:      {about: "a folder for temporary files that the user nobody may enter"},
	Wine:      {about: "wine and a C compiler for Windows, which make windows installs"},
	Zsh:       {about: "the shell zsh", installed: true},
}

// Required tells whether a test has to fail where a thing is missing, rather than be skipped. A name in the variable
// that is none is an error.
func Required(thing Thing) (bool, error) {
	if _, ok := facts[thing]; !ok {
		return true, fmt.Errorf("package needs knows nothing named %q", thing)
	}
	list, set := os.LookupEnv(Variable)
	required := !set && facts[thing].installed && os.Getenv("CI") == "true" ||
		thing == Browser && os.Getenv("HASHGROVE_BROWSER") == "required" ||
		thing == ONNX && os.Getenv("HASHGROVE_ONNX") == "required"
	for word := range strings.SplitSeq(list, ",") {
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

// Names lists the things.
func Names() (names []string) {
	for thing := range facts {
		names = append(names, string(thing))
	}
	slices.Sort(names)
	return names
}

// InCI is the value of the variable in CI: all but what says why not.
func InCI() string {
	list := "all"
	for _, name := range Names() {
		if facts[Thing(name)].elsewhere != "" {
			list += ",-" + name
		}
	}
	return list
}

// Skip skips a test because a thing is missing, or fails it where that is required.
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

// Missing says in the log that a part of a test is left out because a thing is missing, or fails where it is required.
func Missing(t testing.TB, thing Thing, why ...any) {
	t.Helper()
	if required, err := Required(thing); required || err != nil {
		Skip(t, thing, why...)
	}
	t.Logf("left out, as %s is missing: %s", thing, strings.TrimSpace(fmt.Sprintln(why...)))
}

// Program is the path of a program. Where it is missing, the thing that it belongs to is.
func Program(t testing.TB, thing Thing, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Skip(t, thing, err)
	}
	return path
}

// Kernels skips a test of assembly where a package has none: in a build or for a processor without it, or because the
// processor is too old.
func Kernels(t testing.TB, has bool) {
	t.Helper()
	if !has && assembly {
		Skip(t, AVX2, "this machine has the plain kernels only")
	} else if !has {
		t.Skip("this build has the plain kernels only")
	}
}
