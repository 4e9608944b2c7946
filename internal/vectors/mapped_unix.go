//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package vectors

import (
	"os"

	"golang.org/x/sys/unix"
)

const canMap = true

func mapBytes(file *os.File, size int) ([]byte, error) {
	return unix.Mmap(int(file.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

func unmapBytes(b []byte) error { return unix.Munmap(b) }
