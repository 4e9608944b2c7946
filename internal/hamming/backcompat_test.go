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
// -update only adds those that are missing.
func TestBackwardCompatibility(t *testing.T) {
	c, ids := random(9, 100, 1), someIDs(9)
	for name, first := range map[string]int{"v1.hgc": -1, "v2.hgc": 10} {
		path := filepath.Join("testdata", "backcompat", name)
		h := Header{Bits: 100, Fingerprint: [32]byte{7, 31: 9}}
		if _, err := os.Stat(path); *update && err != nil {
			if err := os.WriteFile(path, write(t, HGC, h, c, ids, 4), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got.Codes.Bits != 100 || got.Fingerprint != h.Fingerprint || !slices.Equal(got.Codes.Data, c.Data) || !slices.Equal(got.IDs, ids) {
			t.Errorf("%s: other codes came back", name)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := NewReader(bytes.NewReader(b)); err != nil || r.First != first {
			t.Errorf("%s begins with row %d, not %d: %v", name, r.First, first, err)
		}
		if first < 0 && !bytes.Equal(b, write(t, HGC, h, c, ids, 2)) {
			t.Errorf("%s is written in another way now: is it a new version?", name)
		}
	}
}
