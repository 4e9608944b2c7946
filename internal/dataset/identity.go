package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Samples of a file: enough to tell files of different data apart without reading all of them.
const (
	identityBlocks = 64
	identityBytes  = 4 << 10
)

// sample returns a number that identifies the data: a hash of the sizes of the files and of some of their bytes, and
// for a folder of the names and sizes in it. It does not depend on where the files are. It is never 0.
func (s *Set) sample() (uint64, error) {
	h := sha256.New()
	seen := map[string]bool{}
	for _, f := range s.files {
		if seen[f.path] {
			continue
		}
		seen[f.path] = true
		if err := samplePath(h, f.path); err != nil {
			return 0, err
		}
	}
	return max(1, binary.LittleEndian.Uint64(h.Sum(nil))), nil
}

func samplePath(h hash.Hash, path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return sampleFile(h, path, info.Size())
	}
	return filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		below, err := filepath.Rel(path, name)
		fmt.Fprintf(h, "%s %d\n", filepath.ToSlash(below), info.Size())
		return err
	})
}

// sampleFile hashes the size of a file and blocks that are spread evenly over it, the first and the last included.
func sampleFile(h hash.Hash, path string, size int64) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	fmt.Fprintf(h, "%d bytes\n", size)
	if size <= identityBlocks*identityBytes {
		_, err = io.Copy(h, f)
		return err
	}
	for i := range int64(identityBlocks) {
		at := (size - identityBytes) / (identityBlocks - 1) * i
		if i == identityBlocks-1 {
			at = size - identityBytes
		}
		if _, err := io.Copy(h, io.NewSectionReader(f, at, identityBytes)); err != nil {
			return err
		}
	}
	return nil
}
