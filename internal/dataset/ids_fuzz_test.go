package dataset

import (
	"os"
	"path/filepath"
	"testing"
)

// FuzzIDs: any text is an error, or different ids, none of them empty.
func FuzzIDs(f *testing.F) {
	for _, text := range []string{"a\nb\na\n", "1\n01\r\n\r\n-3", "\xff\x00\n", ""} {
		f.Add([]byte(text))
	}
	path := filepath.Join(f.TempDir(), "ids.txt")
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		ids, err := ReadIDs(nil, []string{path})
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, id := range ids {
			if id.String() == "" || seen[id.String()] {
				t.Fatalf("%q gives the id %q", b, id)
			}
			seen[id.String()] = true
		}
	})
}
