package fileio

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// TestRights: a replacement has the old file's mode from the start, whatever the umask, and a copy that of the
// original.
func TestRights(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no modes")
	}
	dir := t.TempDir()
	for _, mode := range []fs.FileMode{0o600, 0o640, 0o644, 0o400} {
		path := filepath.Join(dir, "a file")
		_ = os.Remove(path)
		if err := errors.Join(os.WriteFile(path, []byte("old"), 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		old, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		replacement, err := NewTemporary(path)
		copied, err2 := NewCopy(filepath.Join(dir, "copy"), old)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		for _, f := range []*os.File{replacement, copied} {
			has, err := f.Stat()
			if err != nil || has.Mode().Perm()&^mode&0o077 != 0 || f == replacement && has.Mode().Perm() != mode {
				t.Errorf("%s of a file of mode %v has %v, %v", f.Name(), mode, has.Mode(), err)
			}
			f.Close()
			os.Remove(f.Name())
		}
	}
	if got := withoutGroup(0o664); got != 0o644 {
		t.Errorf("a strange group may %o", got)
	}
	if got := withoutGroup(0o660); got != 0o600 {
		t.Errorf("a strange group may %o", got)
	}
}

// TestSweep: temporary files of a killed process are removed when the file is written again, but not those of a live
// process or with other names.
func TestSweep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "codes.hgc")
	old := time.Now().Add(-time.Hour)
	left := map[string]bool{ // and whether it stays
		path + ".0123abcd.tmp": false, path + ".0123abcg.tmp": true, path + ".0123abcd.tmp2": true,
		filepath.Join(filepath.Dir(path), "other.hgc.0123abcd.tmp"): true,
	}
	for name := range left {
		if err := errors.Join(os.WriteFile(name, []byte("half"), 0o600), os.Chtimes(name, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	living, err := NewTemporary(path)
	if err != nil {
		t.Fatal(err)
	}
	defer living.Close()
	if err := os.Chtimes(living.Name(), old, old); err != nil {
		t.Fatal(err)
	}
	left[living.Name()] = true
	if err := put(path, "new", nil); err != nil {
		t.Fatal(err)
	}
	for name, stays := range left {
		if _, err := os.Stat(name); (err == nil) != stays {
			t.Errorf("%s: %v, want it to stay: %v", filepath.Base(name), err, stays)
		}
	}
}

// TestLock: a lock has one holder at a time.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	release, err := Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(path); !errors.Is(err, ErrLocked) {
		t.Errorf("a second holder: %v", err)
	}
	release()
	release, err = Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	release()
}
