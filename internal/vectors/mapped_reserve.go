//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package vectors

import "os"

// reserve allocates disk space for a file.
func reserve(file *os.File, size int64) error { return writeZeros(file, size) }
