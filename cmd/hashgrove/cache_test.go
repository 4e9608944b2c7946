package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWithoutACacheFolder: a home that cannot be written costs what would have been kept there, and nothing else.
func TestWithoutACacheFolder(t *testing.T) {
	shop(t)
	if err := os.WriteFile("file", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	nowhere, err := filepath.Abs("file/below")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", nowhere)
	t.Setenv("XDG_CACHE_HOME", nowhere)
	t.Setenv("TMPDIR", t.TempDir())
	c := &demoCommand{app: &app{quiet: true}}
	if err := c.prepareFiles(); err != nil || !strings.HasPrefix(c.report, os.TempDir()) {
		t.Errorf("the report of the demo goes to %q: %v", c.report, err)
	}
}
