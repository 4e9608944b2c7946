package pgtest

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// Debian keeps a version of PostgreSQL in two folders, and the server finds both relative to itself:
//
//	/usr/lib/postgresql/15/bin, lib    programs and modules
//	/usr/share/postgresql/15           extensions, among others
//
// So a copy of the programs elsewhere, with links to everything else, has its own extensions: this gives the tests
// pgvector, which install.sh compiles, without touching system folders.

// debianPrograms matches the folder of the programs.
var debianPrograms = regexp.MustCompile(`^/usr/lib/postgresql/([0-9]+)/bin$`)

// withVector copies the server to a folder, adds pgvector, and returns the folder of its programs, or the original one
// if there is nothing to add.
func withVector(t testing.TB, programs, folder string) string {
	real, err := filepath.EvalSymlinks(filepath.Join(programs, "initdb"))
	found := debianPrograms.FindStringSubmatch(filepath.Dir(real))
	if err != nil || found == nil {
		return programs
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return programs
	}
	built, err := filepath.Glob(filepath.Join(cache, "hashgrove-test", "pgvector-"+found[1], "vector*"))
	if err != nil || len(built) == 0 {
		return programs
	}
	lib, share := "lib/postgresql/"+found[1], "share/postgresql/"+found[1]
	bin := filepath.Join(folder, lib, "bin")
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"postgres", "initdb", "pg_ctl"} {
		must(copyFile(filepath.Join(found[0], name), filepath.Join(bin, name)))
	}
	for _, part := range []string{lib + "/lib", share, share + "/extension"} {
		entries, err := os.ReadDir(filepath.Join("/usr", part))
		must(err)
		must(os.MkdirAll(filepath.Join(folder, part), 0o755))
		for _, e := range entries {
			if e.Name() != "extension" {
				must(os.Symlink(filepath.Join("/usr", part, e.Name()), filepath.Join(folder, part, e.Name())))
			}
		}
	}
	for _, path := range built {
		place := share + "/extension"
		if filepath.Ext(path) == ".so" {
			place = lib + "/lib"
		}
		must(copyFile(path, filepath.Join(folder, place, filepath.Base(path))))
	}
	return bin
}

// copyFile copies a program or a file of an extension.
func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o755)
}
