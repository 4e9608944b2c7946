package message

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
)

func TestError(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("file", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir("folder", 0o777); err != nil {
		t.Fatal(err)
	}
	_, missing := os.Open("missing")
	_, status := os.Stat("missing")
	_, below := os.Open(filepath.Join("file", "x"))
	_, folder := os.ReadFile("folder")
	_, whole := strconv.Atoi("x")
	_, count := strconv.ParseUint("-1", 10, 64)
	_, large := strconv.ParseInt("99999999999999999999", 10, 64)
	_, decimal := strconv.ParseFloat("x", 64)
	_, truth := strconv.ParseBool("x")
	notFolder := "part of the path is a file, not a folder"
	if runtime.GOOS == "windows" { // which does not tell
		notFolder = "no such file"
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{missing, "missing: no such file"},
		{status, "missing: no such file"},
		{fmt.Errorf("missing: %w", missing), "missing: no such file"},
		{fmt.Errorf("cannot read the model: %w; retry", missing), "cannot read the model: missing: no such file; retry"},
		{below, filepath.Join("file", "x") + ": " + notFolder},
		{folder, "folder: is a folder, not a file"},
		{os.Mkdir("folder", 0o777), "folder: exists already"},
		{os.Rename("missing", "other"), "missing: cannot become other: no such file"},
		{whole, `"x" is not a whole number`},
		{count, `"-1" is not a whole number from 0 up`},
		{large, `"99999999999999999999" is out of range`},
		{decimal, `"x" is not a number`},
		{fmt.Errorf("line 3: %w", truth), `line 3: "x" is neither true nor false`},
		{errors.New("another"), "another"},
	} {
		got := Error(c.err)
		if got.Error() != c.want {
			t.Errorf("%v: got %q, want %q", c.err, got, c.want)
		}
		if !errors.Is(got, c.err) {
			t.Errorf("%v is no longer the same error", c.err)
		}
	}
	if Error(nil) != nil {
		t.Error("no error became one")
	}
	if _, err := Open("missing"); !errors.Is(err, fs.ErrNotExist) || err.Error() != "missing: no such file" {
		t.Error(err)
	}
	if _, err := Stat("missing"); !errors.Is(err, fs.ErrNotExist) || err.Error() != "missing: no such file" {
		t.Error(err)
	}
	if f, err := Open("file"); err != nil || f.Close() != nil {
		t.Error(err)
	}
}

func TestRuns(t *testing.T) {
	for want, names := range map[string][]string{
		"":                    nil,
		"a":                   {"a"},
		"price, e0..e3, name": {"price", "e0", "e1", "e2", "e3", "name"},
		"e0, e1, x":           {"e0", "e1", "x"},
		"1..4":                {"1", "2", "3", "4"},
		"e8..e10, e12":        {"e8", "e9", "e10", "e12"},
		"a, b, c, d, e, f, g, h, i, j and 2 more": {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k1", "k2"},
	} {
		if got := Runs(names); got != want {
			t.Errorf("%v is %q, want %q", names, got, want)
		}
	}
}

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "abd", 1}, {"abc", "ab", 1},
		{"lables", "labels", 1}, {"trian", "train", 1}, {"kitten", "sitting", 3},
	} {
		if got := EditDistance(c.a, c.b); got != c.want {
			t.Errorf("%q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
