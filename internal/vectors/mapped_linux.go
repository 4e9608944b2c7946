package vectors

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// reserve allocates disk space for a file.
func reserve(file *os.File, size int64) error {
	for {
		switch err := unix.Fallocate(int(file.Fd()), 0, 0, size); {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EOPNOTSUPP): // some network file systems
			return writeZeros(file, size)
		default:
			return err
		}
	}
}
