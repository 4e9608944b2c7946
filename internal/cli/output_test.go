package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hashgrove/internal/testkit/needs"
)

// TestOutputCheck: what may be written, what needs force, and what may never be.
func TestOutputCheck(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"a.csv", "b.csv", "old.hgm"} {
		if err := os.WriteFile(name, []byte(name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir("folder", 0o777), os.Symlink("a.csv", "link")); err != nil {
		needs.Skip(t, needs.Links, err)
	}
	for _, c := range []struct {
		outputs, inputs string // between spaces
		status          int    // without force
		forced          int
	}{
		{"new.hgm", "a.csv", 0, 0},
		{"- new.hgm", "- a.csv", 0, 0},
		{"old.hgm", "a.csv", 1, 0},
		{"a.csv", "a.csv", 2, 2},
		{"link", "a.csv", 2, 2},
		{"folder/../a.csv", "a.csv", 2, 2},
		{"b.csv", "*.csv", 2, 2},
		{"old.hgm a.csv", "a.csv", 2, 2},
		{"new.hgm ./new.hgm", "a.csv", 2, 2},
		{"folder", "a.csv", 1, 1},
		{"nowhere/new.hgm", "a.csv", 1, 1},
		{"old.hgm/new.hgm", "a.csv", 1, 1},
		{os.DevNull, "a.csv", 0, 0},
	} {
		for _, force := range []bool{false, true} {
			o, want := Output{Force: force}, c.status
			if force {
				want = c.forced
			}
			err := o.Check(strings.Fields(c.outputs), strings.Fields(c.inputs))
			got := 0
			if _, usage := errors.AsType[usageError](err); usage {
				got = 2
			} else if err != nil {
				got = 1
			}
			if got != want {
				t.Errorf("%s of %s, force %v: %d, %v, want %d", c.outputs, c.inputs, force, got, err, want)
			}
		}
	}
	err := (&Output{Force: true, FileOnly: true}).Check([]string{"new.hgm", "-"}, nil)
	if _, usage := errors.AsType[usageError](err); !usage {
		t.Errorf("- where only files are written: %v", err)
	}
	if err := (&Output{}).Check([]string{"old.hgm"}, nil); !errors.Is(err, fs.ErrExist) || !errors.Is(err, ErrExists) {
		t.Error(err)
	}
	if left, err := filepath.Glob("*.tmp"); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}
