//go:build !linux

package pages

import "os"

// reserve takes the room of a file on the disk.
func reserve(file *os.File, size int64) error { return writeZeros(file, size) }
