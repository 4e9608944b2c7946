package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCollectionArgument: what stands before an equals sign is a name, unless all of it is a file. The letter of a drive
// makes no difference.
func TestCollectionArgument(t *testing.T) {
	t.Chdir(t.TempDir())
	there := filepath.Join("run=3", "flowers.hgi")
	if err := os.Mkdir("run=3", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(there, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	whole, err := filepath.Abs(there)
	if err != nil {
		t.Fatal(err)
	}
	for arg, want := range map[string][2]string{
		"shop=x.hgi":         {"shop", "x.hgi"},
		"x.hgi":              {"x", "x.hgi"},
		`shop=C:\data\x.hgi`: {"shop", `C:\data\x.hgi`},
		"shop=C:/a=b/x.hgi":  {"shop", "C:/a=b/x.hgi"},
		"../shop=x.hgi":      {"../shop", "x.hgi"}, // which is no name, and refused later
		"./" + there:         {"flowers", "./" + there},
		whole:                {"flowers", whole},
	} {
		if name, path := collectionArgument(arg); name != want[0] || path != want[1] {
			t.Errorf("%s: %q at %q", arg, name, path)
		}
	}
}
