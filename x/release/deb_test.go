package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/testkit/needs"
)

// TestDebianPackage installs the package below a folder of its own, runs the command with that folder as its root, and
// removes the package: nothing of it is left.
func TestDebianPackage(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("Debian runs Linux")
	}
	s := buildSample(t)
	needs.Program(t, needs.Dpkg, "dpkg")
	arch, err := exec.Command("dpkg", "--print-architecture").Output()
	if err != nil {
		t.Fatal(err)
	}
	packed, err := s.debianPackage(strings.TrimSpace(string(arch)), s.content)
	if err != nil {
		t.Fatal(err)
	}
	top := t.TempDir()
	deb, system := filepath.Join(top, "hashgrove.deb"), filepath.Join(top, "system")
	for _, name := range []string{"status", "available", "info/format", "updates/.keep", "triggers/Lock"} {
		if err := writeFile(filepath.Join(system, "var/lib/dpkg", name), nil); err != nil {
			t.Fatal(err)
		}
	}
	os.WriteFile(filepath.Join(system, "var/lib/dpkg/info/format"), []byte("1\n"), 0o666)
	os.Remove(filepath.Join(system, "var/lib/dpkg/updates/.keep")) // dpkg reads all files in there
	if err := os.WriteFile(deb, packed, 0o666); err != nil {
		t.Fatal(err)
	}
	asRoot := func(words ...string) string {
		t.Helper()
		if os.Getuid() != 0 {
			needs.Program(t, needs.Dpkg, "unshare")
			words = append([]string{"unshare", "--map-root-user"}, words...)
		}
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin", "LC_ALL=C")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(words, " "), err, out)
		}
		return string(out)
	}
	log := "--log=" + filepath.Join(top, "log")
	asRoot("dpkg", "--root="+system, log, "--install", deb)
	for _, name := range []string{
		"usr/bin/hashgrove", "usr/share/man/man1/hashgrove.1.gz", "usr/share/man/man1/hashgrove-index-build.1.gz",
		"usr/share/bash-completion/completions/hashgrove", "usr/share/zsh/vendor-completions/_hashgrove",
		"usr/share/fish/vendor_completions.d/hashgrove.fish", "usr/share/doc/hashgrove/copyright",
		"usr/share/doc/hashgrove/changelog.gz", "usr/share/doc/hashgrove/THIRD-PARTY.txt.gz",
		"usr/share/doc/hashgrove/examples/hashgrove.service",
	} {
		if info, err := os.Stat(filepath.Join(system, name)); err != nil || info.Size() == 0 {
			t.Errorf("after installing: %v", err)
		}
	}
	if out := asRoot("dpkg", "--root="+system, log, "--verify", "hashgrove"); out != "" {
		t.Errorf("dpkg finds files that are not as they were packed:\n%s", out)
	}
	if out := asRoot("chroot", system, "/usr/bin/hashgrove", "version"); !strings.Contains(out, s.version) {
		t.Errorf("the installed command says %s", out)
	}
	unit := read(t, filepath.Join(system, "usr/share/doc/hashgrove/examples/hashgrove.service"))
	if !bytes.Contains(unit, []byte("ExecStart=/usr/bin/hashgrove ")) {
		t.Errorf("the unit starts another binary:\n%s", unit)
	}
	checkCopyright(t, string(read(t, filepath.Join(system, "usr/share/doc/hashgrove/copyright"))), s.parts)
	asRoot("dpkg", "--root="+system, log, "--purge", "hashgrove")
	left := slices.DeleteFunc(filesBelow(t, system), func(name string) bool {
		return name == "" || name == "/var" || name == "/var/lib" || strings.HasPrefix(name, "/var/lib/dpkg") &&
			!strings.Contains(name, "hashgrove")
	})
	if len(left) > 0 {
		t.Errorf("after removing there are %v", left)
	}
}

// TestPackagesAreTheSame packs everything but the large binary twice.
func TestPackagesAreTheSame(t *testing.T) {
	s := buildSample(t)
	small := slices.DeleteFunc(slices.Clone(s.content), func(f file) bool { return f.name == "hashgrove" })
	first, err := s.debianPackage("amd64", small)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(small)
	second, err := s.debianPackage("amd64", small)
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("the package is another one the second time: %v", err)
	}
	if _, err := s.debianPackage("amd64", append(small, file{"surprise", 0o644, nil})); err == nil {
		t.Error("a file without a place was packed")
	}
}

// checkCopyright looks at the form of the file: paragraphs of fields, and every part with a licence.
func checkCopyright(t *testing.T, text string, parts []part) {
	t.Helper()
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		field, _, ok := strings.Cut(line, ":")
		if line != "" && line[0] != ' ' && (!ok || strings.Contains(field, " ")) {
			t.Errorf("copyright has the line %q", line)
		}
	}
	paragraphs := strings.Split(text, "\n\n")
	if len(paragraphs) != len(parts)+2 {
		t.Errorf("copyright has %d paragraphs for %d parts", len(paragraphs), len(parts))
	}
	for _, p := range paragraphs[1:] {
		for _, field := range []string{"Files: ", "\nCopyright: ", "\nLicense: "} {
			if !strings.Contains(p, field) {
				t.Errorf("the paragraph %.80q has no %s", p, field)
			}
		}
	}
}

// TestDebianVersions: what comes before a release sorts before it.
func TestDebianVersions(t *testing.T) {
	needs.Program(t, needs.Dpkg, "dpkg")
	for _, c := range [][2]string{{"0.1.0-rc.1", "0.1.0"}, {"0.1.0-dev.20261116+abc", "0.1.0-dev.20261117+abc"}, {"0.1.0", "0.2.0-rc.1"}} {
		a, b := debianVersion(c[0]), debianVersion(c[1])
		if err := exec.Command("dpkg", "--compare-versions", a, "lt", b).Run(); err != nil {
			t.Errorf("%s is not before %s: %v", a, b, err)
		}
	}
}

// TestCompletions has shells check the scripts, and bash complete words with the command that was built.
func TestCompletions(t *testing.T) {
	s := buildSample(t)
	folder := t.TempDir()
	for _, f := range s.content {
		if err := writeFile(filepath.Join(folder, f.name), f.data); err != nil {
			t.Fatal(err)
		}
	}
	thing := map[string]needs.Thing{"bash": needs.Shell, "zsh": needs.Zsh, "fish": needs.Fish}
	for shell, script := range map[string]string{"bash": "hashgrove.bash", "zsh": "_hashgrove", "fish": "hashgrove.fish"} {
		if _, err := exec.LookPath(shell); err != nil {
			needs.Missing(t, thing[shell], err)
			continue
		}
		if out, err := exec.Command(shell, "-n", filepath.Join(folder, "completions", script)).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
	}
	needs.Program(t, needs.Shell, "bash")
	// What bash-completion does before it calls a script.
	const program = `_get_comp_words_by_ref() { words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=${words[cword]}; prev=${words[cword-1]}; }
compopt() { :; }
. "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; COMP_TYPE=9
__start_hashgrove
printf '%s\n' "${COMPREPLY[@]}"`
	for typed, want := range map[string]string{"tra": "train", "verif": "verify"} {
		words := append([]string{"-c", program, "bash", filepath.Join(folder, "completions", "hashgrove.bash"), s.binary},
			strings.Split(typed, "|")...)
		out, err := exec.Command("bash", words...).CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("completing %s gave %q, want %s: %v", typed, out, want, err)
		}
	}
}
