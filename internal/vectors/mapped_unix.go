//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package vectors

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"hashgrove/internal/message"
)

// newFile maps a temporary file of zeros in the folder, or in the system's default if that is "". The file is unlinked
// at once, so nothing is left behind however the program ends. Its disk space is reserved before the first use, so a
// full disk is an error here instead of a crash later.
func newFile(folder string, size int) ([]byte, error) {
	file, err := os.CreateTemp(folder, "hashgrove-*.rows")
	if err != nil {
		return nil, fmt.Errorf("create a file for rows: %w", err)
	}
	defer file.Close() // the mapping stays valid
	if err := os.Remove(file.Name()); err != nil {
		return nil, fmt.Errorf("create a file for rows: %w", err)
	}
	if err := reserve(file, int64(size)); err != nil {
		return nil, message.New("no-room", "not enough space for %d MB of rows in %s: %w", size/1e6,
			filepath.Dir(file.Name()), err)
	}
	b, err := unix.Mmap(int(file.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %d MB of rows into memory: %w", size/1e6, err)
	}
	return b, nil
}

func unmapBytes(b []byte) error { return unix.Munmap(b) }

// writeZeros reserves disk space by writing the whole file.
func writeZeros(file *os.File, size int64) error {
	zeros := make([]byte, min(size, 1<<20))
	for at := int64(0); at < size; at += int64(len(zeros)) {
		if _, err := file.WriteAt(zeros[:min(size-at, int64(len(zeros)))], at); err != nil {
			return err
		}
	}
	return nil
}
