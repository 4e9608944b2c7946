package engine

import (
	"net/url"
	"testing"
)

// TestSQLitePath: the letter of a drive is no host and no folder.
func TestSQLitePath(t *testing.T) {
	for text, want := range map[string][2]string{
		"sqlite://file.db":                {"file.db", "file.db"},
		"sqlite:///data/file.db":          {"/data/file.db", "/data/file.db"},
		"sqlite:///C:/data/file.db":       {"/C:/data/file.db", "C:/data/file.db"},
		"sqlite://C:/data/file.db":        {"C:/data/file.db", "C:/data/file.db"},
		"sqlite:///C:/file.db?layout=vec": {"/C:/file.db", "C:/file.db"},
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]string{sqlitePath(u, false), sqlitePath(u, true)}; got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
