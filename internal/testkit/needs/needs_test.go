package needs

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// witness records the outcome of a test.
type witness struct {
	testing.TB
	end, text string
}

func (w *witness) Helper()                         {}
func (w *witness) Logf(format string, args ...any) { w.text = fmt.Sprintf(format, args...) }
func (w *witness) Skip(args ...any)                { w.finish("skip", fmt.Sprint(args...)) }
func (w *witness) Skipf(f string, args ...any)     { w.finish("skip", fmt.Sprintf(f, args...)) }
func (w *witness) Fatal(args ...any)               { w.finish("fail", fmt.Sprint(args...)) }
func (w *witness) Fatalf(f string, args ...any)    { w.finish("fail", fmt.Sprintf(f, args...)) }

// finish ends the test as the real ones do, which never return.
func (w *witness) finish(end, text string) {
	w.end, w.text = end, text
	panic(w)
}

// watch returns the outcome of a test.
func watch(test func(t testing.TB)) (w *witness) {
	w = &witness{end: "pass"}
	defer func() {
		if r := recover(); r != nil && r != any(w) {
			panic(r)
		}
	}()
	test(w)
	return w
}

// setOnly sets variables, and takes away the others that matter.
func setOnly(t *testing.T, variables ...string) {
	t.Helper()
	t.Setenv(Variable, "") // so that it is as before after the test
	os.Unsetenv(Variable)
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		os.Setenv(name, value)
	}
}

func TestSkip(t *testing.T) {
	for _, c := range []struct {
		thing     Thing
		end       string
		variables []string
	}{
		{Ptrace, "skip", nil},
		{Ptrace, "fail", []string{Variable + "=ptrace"}},
		{Ptrace, "fail", []string{Variable + "=mount, ptrace"}},
		{Ptrace, "skip", []string{Variable + "=mount"}},
		{Ptrace, "fail", []string{Variable + "=all"}},
		{Ptrace, "skip", []string{Variable + "=all,-ptrace"}},
		{Mount, "fail", []string{Variable + "=all,-ptrace"}},
		{Ptrace, "fail", []string{Variable + "=mont"}}, // a typo must not silence tests
		{Ptrace, "fail", []string{Variable + "=all,-ptrace,-mont"}},
		{"ptrase", "fail", nil},
	} {
		setOnly(t, c.variables...)
		if w := watch(func(t testing.TB) { Skip(t, c.thing, "no", "luck") }); w.end != c.end {
			t.Errorf("%v: a test without %s ends with %s, want %s: %s", c.variables, c.thing, w.end, c.end, w.text)
		}
		part := watch(func(t testing.TB) { Missing(t, c.thing, "no", "luck") })
		if want := strings.Replace(c.end, "skip", "pass", 1); part.end != want {
			t.Errorf("%v: a part of a test without %s ends with %s, want %s", c.variables, c.thing, part.end, want)
		}
	}
	setOnly(t)
	w := watch(func(t testing.TB) { Skip(t, Mount, "no luck:", os.ErrPermission) })
	if !strings.HasSuffix(w.text, ": no luck: permission denied") {
		t.Errorf("the reason is %q", w.text)
	}
}

func TestProgram(t *testing.T) {
	setOnly(t, Variable+"=all")
	t.Setenv("PATH", t.TempDir())
	if w := watch(func(t testing.TB) { Program(t, SQLite, "sqlite3") }); w.end != "fail" || !strings.Contains(w.text, "sqlite3") {
		t.Errorf("%s: %s", w.end, w.text)
	}
}

func TestKernels(t *testing.T) {
	setOnly(t, Variable+"=all")
	want := map[bool]string{true: "fail", false: "skip"}[assembly]
	if w := watch(func(t testing.TB) { Kernels(t, false) }); w.end != want {
		t.Errorf("without kernels a test ends with %s, want %s", w.end, want)
	}
	if w := watch(func(t testing.TB) { Kernels(t, true) }); w.end != "pass" {
		t.Errorf("with kernels a test ends with %s", w.end)
	}
}

// TestCIRequiresAll: CI leaves out only things that say why, or that could not be installed.
func TestCIRequiresAll(t *testing.T) {
	for _, missing := range [][]string{nil, {"browser", "qemu"}} {
		setOnly(t, Variable+"="+InCI(missing...))
		for _, name := range Names() {
			required, err := Required(Thing(name))
			if want := facts[Thing(name)].elsewhere == "" && !slices.Contains(missing, name); err != nil || required != want {
				t.Errorf("CI requires %s: %v %v, want %v", name, required, err, want)
			}
		}
	}
}

// TestEveryThingIsKnown: what the sources, the Makefile and the script of setup name has a line in the table.
func TestEveryThingIsKnown(t *testing.T) {
	read := func(name, pattern string) (found [][]byte) {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(b, -1) {
			found = append(found, m[1])
		}
		if len(found) < 2 {
			t.Errorf("%s names %d things: is the pattern still right?", name, len(found))
		}
		return found
	}
	declared := read("needs.go", `Thing += "([^"]+)"`)
	if len(declared) != len(facts) {
		t.Errorf("%d things have names and %d have lines", len(declared), len(facts))
	}
	named := slices.Concat(declared, read("../../../Makefile", `\$\(REQUIRED\) ([a-z0-9-]+)`),
		read("setup.sh", `(?m)^need ([a-z0-9-]+)`), read("npm.txt", `(?m)^([a-z0-9-]+) `))
	for _, name := range named {
		if facts[Thing(name)].about == "" {
			t.Errorf("nothing is known of %s", name)
		}
	}
}
