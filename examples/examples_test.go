// Package examples_test runs every program in this folder and compares what it prints.
package examples_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the outputs anew")

func TestExamples(t *testing.T) {
	mains, err := filepath.Glob("*/main.go")
	if err != nil || len(mains) < 5 {
		t.Fatalf("%d programs, %v", len(mains), err)
	}
	bin := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", bin, "./...").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, main := range mains {
		name := filepath.Dir(main)
		t.Run(name, func(t *testing.T) {
			out, err := exec.Command(filepath.Join(bin, name)).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			golden := filepath.Join(name, "output.txt")
			if *update {
				if err := os.WriteFile(golden, out, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil || string(out) != string(want) {
				t.Errorf("%v: it printed\n%s\nand not\n%s", err, out, want)
			}
		})
	}
}

// TestOnlyPublicPackages: a program elsewhere can import what the examples import.
func TestOnlyPublicPackages(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{join .Imports \"\\n\"}}", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(out), "hashgrove/internal") {
		t.Errorf("an example imports an internal package:\n%s", out)
	}
}

// TestFromAnotherModule follows the lines of the README in a fresh folder, without a network.
func TestFromAnotherModule(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(readme), "```sh\ngo mod init")
	lines, _, ended := strings.Cut(rest, "```")
	if !found || !ended {
		t.Fatal("the README does not say how to use the module")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	// Where nothing but this test ran before, the cache may lack modules that only the list of versions names.
	if out, err := exec.Command("go", "-C", root, "mod", "download").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program, err := os.ReadFile("lengths/main.go")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "main.go"), program, 0o666); err != nil {
		t.Fatal(err)
	}
	var out []byte
	for line := range strings.Lines("go mod init" + lines) {
		words := strings.Fields(strings.ReplaceAll(line, "../hashgrove", root))
		c := exec.Command(words[0], words[1:]...)
		c.Dir, c.Env = folder, append(os.Environ(), "GOPROXY=off", "GOWORK=", "GOFLAGS=")
		var failed strings.Builder
		c.Stderr = &failed
		if out, err = c.Output(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, failed.String())
		}
	}
	if want, err := os.ReadFile("lengths/output.txt"); err != nil || string(out) != string(want) {
		t.Errorf("%v: it printed\n%s\nand not\n%s", err, out, want)
	}
}
