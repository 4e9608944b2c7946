//go:build unix

package needs

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// machine is a folder for the PATH of setup.sh: the usual tools, and programs that a test has made up.
type machine struct {
	t    *testing.T
	root string // the checkout
	bin  string
	log  string // what was installed
}

// newMachine copies setup.sh into a checkout of its own and gives it only what every system has.
func newMachine(t *testing.T) *machine {
	m := &machine{t: t, root: t.TempDir(), bin: t.TempDir()}
	m.log = filepath.Join(m.root, "installed")
	m.write(m.log, "")
	for _, tool := range []string{
		"sh", "dirname", "mkdir", "grep", "tail", "tr", "sed", "uname", "cat", "ls", "rm", "mv", "mktemp", "chmod", "head", "tar",
	} {
		if path, err := exec.LookPath(tool); err == nil {
			if err := os.Symlink(path, filepath.Join(m.bin, tool)); err != nil {
				Skip(t, Links, err)
			}
		}
	}
	for _, name := range []string{"setup.sh", "npm.txt"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		m.write(filepath.Join(m.root, "internal/testkit/needs", name), string(b))
	}
	for _, name := range []string{"pgtest", "redistest"} {
		m.write(filepath.Join(m.root, "internal/testkit", name, "install.sh"), "echo no network; exit 1\n")
	}
	return m
}

func (m *machine) write(path, text string) {
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o777)); err != nil {
		m.t.Fatal(err)
	}
}

// has adds a program.
func (m *machine) has(name, script string) {
	m.write(filepath.Join(m.bin, name), "#!/bin/sh\n"+script+"\n")
}

// setup runs setup.sh and returns what it printed and what it reports as missing.
func (m *machine) setup(args ...string) (text string, missing []string) {
	m.t.Helper()
	cmd := exec.Command(filepath.Join(m.bin, "sh"), append([]string{filepath.Join(m.root, "internal/testkit/needs/setup.sh")}, args...)...)
	cmd.Env = []string{"PATH=" + m.bin, "HOME=" + m.root, "INSTALLED=" + m.log, "BIN=" + m.bin}
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.t.Fatalf("setup failed: %v: %s", err, out)
	}
	b, err := os.ReadFile(filepath.Join(m.root, "bin/missing"))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(out), strings.Fields(string(b))
}

func (m *machine) installed() []string {
	b, err := os.ReadFile(m.log)
	if err != nil {
		m.t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

// aptGet is an apt-get that installs programs of the packages' names, but for npm, whose place another has.
const aptGet = `case "$*" in
*update*) ;;
*npm*) echo "E: Unable to correct problems, you have held broken packages."; exit 100 ;;
*) for last; do :; done; echo "$last" >>"$INSTALLED"
   case $last in sqlite3 | zsh | fish) printf '#!/bin/sh\n' >"$BIN/$last"; chmod +x "$BIN/$last" ;; esac ;;
esac`

// TestSetupGoesOn: what one package cannot have costs that one alone.
func TestSetupGoesOn(t *testing.T) {
	m := newMachine(t)
	m.has("id", "echo 0")
	m.has("apt-get", aptGet)
	m.has("groff", "")
	text, missing := m.setup()
	for _, there := range []string{"sqlite", "zsh", "fish", "groff"} {
		if slices.Contains(missing, there) {
			t.Errorf("%s is there and was called missing: %s", there, text)
		}
	}
	for _, lost := range []string{"axe", "onnx", "redis", "qemu"} {
		if !slices.Contains(missing, lost) || !strings.Contains(text, "  "+lost+": ") {
			t.Errorf("%s is missing, and nothing says so: %s", lost, text)
		}
	}
	if got := m.installed(); slices.Contains(got, "groff-base") || !slices.Contains(got, "sqlite3") || !slices.Contains(got, "zsh") {
		t.Errorf("it installed %q", got)
	}
	if !strings.Contains(text, "held broken packages") {
		t.Errorf("it does not say why npm is missing: %s", text)
	}
}

// TestSetupTakesForeignPrograms: a browser that CHROME names and an npm of any source are used, and nothing of Debian's.
func TestSetupTakesForeignPrograms(t *testing.T) {
	m := newMachine(t)
	m.has("id", "echo 0")
	m.has("apt-get", aptGet)
	m.has("google-chrome", "")
	m.has("node", "")
	m.has("npm", `prefix= name=
while [ $# -gt 0 ]; do case $1 in --prefix) prefix=$2; shift ;; *@*) name=${1%@*} ;; esac; shift; done
mkdir -p "$prefix/node_modules/$name" && : >"$prefix/node_modules/$name/package.json"`)
	text, missing := m.setup("browser", "axe", "onnx", "sqlite-vec")
	if got := m.installed(); len(missing) > 0 || got[0] != "" {
		t.Errorf("missing %q, installed %q: %s", missing, got, text)
	}
	if text, _ := m.setup("browser", "axe", "onnx", "sqlite-vec"); text != "" {
		t.Errorf("the second time it did something: %s", text)
	}
}

// TestSetupWithoutRights: others than root, and systems without apt-get, are told what to do.
func TestSetupWithoutRights(t *testing.T) {
	m := newMachine(t)
	m.has("id", "echo 1000")
	m.has("apt-get", "exit 1")
	text, missing := m.setup("test")
	if !slices.Contains(missing, "zsh") || slices.Contains(missing, "qemu") || !strings.Contains(text, "apt-get install") {
		t.Errorf("missing %q: %s", missing, text)
	}
	if got := m.installed(); got[0] != "" {
		t.Errorf("it installed %q", got)
	}
	if err := os.Remove(filepath.Join(m.bin, "apt-get")); err != nil {
		t.Fatal(err)
	}
	m.has("id", "echo 0")
	if text, missing := m.setup("zsh"); len(missing) != 1 || !strings.Contains(text, "no apt-get") || !strings.Contains(text, " zsh") {
		t.Errorf("without apt-get: missing %q: %s", missing, text)
	}
}
