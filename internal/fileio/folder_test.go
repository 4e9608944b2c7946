package fileio

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"hashgrove/internal/testkit/needs"
)

// TestTempFoldersOfTheDead: a process that is killed leaves its folder until the next one starts, and those of living
// processes, of other programs and links stay.
func TestTempFoldersOfTheDead(t *testing.T) {
	if os.Getenv("SECTION_FOLDER") != "" { // the process that is killed
		path, remove, err := TempFolder("section-try-")
		defer func() { _ = remove() }() // the lock lasts as long as somebody can remove the folder
		if err == nil {
			err = os.WriteFile(filepath.Join(path, "private"), []byte("data"), 0o600)
		}
		os.Stdout.WriteString("folder " + path + "\n")
		if err == nil {
			time.Sleep(time.Hour) // until it is killed
		}
		t.Fatal(err)
	}
	needs.Check(t, "starts itself, which a processor under emulation cannot")
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir)
	start := func() (*exec.Cmd, string) {
		c := exec.Command(os.Args[0], "-test.run=^TestTempFoldersOfTheDead$")
		c.Env = append(os.Environ(), "SECTION_FOLDER=1")
		out, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil || len(line) < 9 {
			t.Fatalf("%q, %v", line, err)
		}
		return c, line[len("folder ") : len(line)-1]
	}
	dead, left := start()
	alive, kept := start()
	defer func() { _ = alive.Process.Kill(); _ = alive.Wait() }()
	if err := dead.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = dead.Wait()
	other := filepath.Join(dir, "section-try-other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); err != nil {
		t.Fatal("the folder of the dead process is not there to be swept: ", err)
	}
	own, remove, err := TempFolder("section-try-")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{left: false, kept: true, other: true, own: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", path, err == nil, want)
		}
	}
	if err := remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(own); err == nil {
		t.Error("the folder is still there")
	}
}
