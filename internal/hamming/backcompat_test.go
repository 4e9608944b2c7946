package hamming

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "write golden files that are missing")

// TestBackwardCompatibility opens code files of every version since the first. Existing files are never rewritten:
// -update only adds the one of this version if it is missing.
func TestBackwardCompatibility(t *testing.T) {
	path := filepath.Join("testdata", "backcompat", "v1.hgc")
	c, ids := random(9, 100, 1), someIDs(9)
	mark := [32]byte{7, 31: 9}
	if _, err := os.Stat(path); *update && err != nil {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, write(t, HGC, Header{Bits: 100, Fingerprint: mark}, c, ids, 4), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.Codes.Bits != 100 || got.Fingerprint != mark || !slices.Equal(got.Codes.Data, c.Data) || !slices.Equal(got.IDs, ids) {
		t.Error("other codes came back")
	}
	b, _ := os.ReadFile(path)
	if !bytes.Equal(b, write(t, HGC, Header{Bits: 100, Fingerprint: mark}, c, ids, 2)) {
		t.Error("the file is written in another way now: is it a new version?")
	}
}
